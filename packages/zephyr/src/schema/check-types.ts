import { MarinError } from "@marin/iris";
import { isScalarType } from "../parquet/schema.js";
import type { ParquetSchema } from "../parquet/types.js";

/**
 * Checks a schema that records are to be read by: it may come from a file of settings, where no compiler has seen it.
 *
 * @throws MarinError ZEPHYR_BAD_SCHEMA naming the column and what is no type there
 */
export function checkTypes(schema: ParquetSchema): void {
  for (const [name, type] of Object.entries(schema)) check(type, name);
}

function check(type: unknown, at: string): void {
  if (isScalarType(type)) return;
  const [[kind, inner] = [], ...more] = typeof type === "object" && type !== null ? Object.entries(type) : [];
  if (kind === undefined || more.length > 0) throw noType(type, at);
  if (kind === "nullable") check(inner, at);
  else if (kind === "list") check(inner, `${at}[]`);
  else if (kind === "map" && isObject(inner)) for (const part of ["key", "value"]) check(inner[part], `${at}.${part}`);
  else if (kind === "struct" && isObject(inner)) for (const [name, field] of Object.entries(inner)) check(field, `${at}.${name}`);
  else if (kind !== "decimal" && kind !== "fixedBytes") throw noType(type, at);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function noType(type: unknown, at: string): MarinError {
  return new MarinError("ZEPHYR_BAD_SCHEMA", `The schema cannot be read by, at ${at}: ${JSON.stringify(type) ?? String(type)} is no type. Types are "string", "int32", "int64", "float64", "boolean", "timestamp-millis" and the like, or { nullable: ... } and { list: ... } of one.`, { data: { column: at } });
}
