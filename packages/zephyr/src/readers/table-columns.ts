import { MarinError } from "@marin/iris";
import type { ParquetType } from "../parquet/types.js";
import type { FormatInput } from "./format.js";

/**
 * Which columns to read of a file that says which it has: those that somebody looks at, in the file's order.
 *
 * @param input - what the format's reader is given
 * @param present - the file's columns, with their types where the file knows them
 * @throws MarinError ZEPHYR_NO_COLUMN naming the file when it lacks a column, or a field in one, that is asked for or that the filter looks at, and that
 * no schema makes null; ZEPHYR_BAD_OPTION when the column that is to get the path is there already
 */
export function columnsToRead(input: FormatInput, present: ReadonlyMap<string, ParquetType | undefined>): readonly string[] {
  const { path, columns, required, pathColumn } = input;
  if (pathColumn !== undefined && present.has(pathColumn)) throw pathColumnTaken(path, pathColumn);
  for (const looked of required) requirePath(path, looked, present);
  const names = [...present.keys()];
  return columns === undefined ? names : names.filter((name) => columns.includes(name));
}

/** Columns of formats whose records have the same fields always. */
export function fixedColumns(...names: readonly string[]): ReadonlyMap<string, undefined> {
  return new Map(names.map((name) => [name, undefined]));
}

/** The refusal of a path's column that would replace another one. */
export function pathColumnTaken(place: string, pathColumn: string): MarinError {
  return new MarinError("ZEPHYR_BAD_OPTION", `${place} has a column "${pathColumn}" already, which pathColumn would replace by the file's path: give pathColumn another name.`, { data: { option: "pathColumn", value: pathColumn } });
}

/** @throws MarinError ZEPHYR_NO_COLUMN */
function requirePath(path: string, looked: readonly [column: string, ...fields: string[]], present: ReadonlyMap<string, ParquetType | undefined>): void {
  const [column, ...fields] = looked;
  if (!present.has(column)) throw noColumn(path, "column", column, [...present.keys()]);
  let type = present.get(column);
  for (const [depth, field] of fields.entries()) {
    const inner = typeof type === "object" && "nullable" in type ? type.nullable : type;
    if (typeof inner !== "object") return;
    if ("map" in inner) type = inner.map.value;
    else if (!("struct" in inner)) return;
    else if (Object.hasOwn(inner.struct, field)) type = inner.struct[field];
    else throw noColumn(path, "field", looked.slice(0, depth + 2).join("."), Object.keys(inner.struct));
  }
}

function noColumn(path: string, what: "column" | "field", column: string, present: readonly string[]): MarinError {
  const there = what === "column" ? `its columns are ${present.join(", ")}` : `what is around it has ${present.join(", ")}`;
  return new MarinError("ZEPHYR_NO_COLUMN", `${path} has no ${what} "${column}"; ${there}. Where some files may lack it, give a schema in which it is nullable: it is null there then.`, { data: { path, column, columns: present } });
}
