import { MarinError } from "@marin/iris";
import type { LogicalType, Repetition, SchemaElement, SchemaNode } from "./format.js";
import type { ParquetScalar, ParquetSchema, ParquetType } from "./types.js";

type Physical = Pick<SchemaElement, "physical" | "length" | "converted" | "logical">;

const time = (unit: "MILLIS" | "MICROS" | "NANOS"): LogicalType => ({ kind: "TIME", utc: true, unit });
const timestamp = (unit: "MILLIS" | "MICROS" | "NANOS"): LogicalType => ({ kind: "TIMESTAMP", utc: true, unit });
const integer = (bits: number, signed: boolean): LogicalType => ({ kind: "INTEGER", bits, signed });

/** How each simple type is stored (Apache Parquet format, LogicalTypes.md). */
const physical: Readonly<Record<ParquetScalar, Physical>> = {
  boolean: { physical: "BOOLEAN" },
  int8: { physical: "INT32", converted: "INT_8", logical: integer(8, true) },
  int16: { physical: "INT32", converted: "INT_16", logical: integer(16, true) },
  int32: { physical: "INT32" },
  int64: { physical: "INT64" },
  uint8: { physical: "INT32", converted: "UINT_8", logical: integer(8, false) },
  uint16: { physical: "INT32", converted: "UINT_16", logical: integer(16, false) },
  uint32: { physical: "INT32", converted: "UINT_32", logical: integer(32, false) },
  uint64: { physical: "INT64", converted: "UINT_64", logical: integer(64, false) },
  float16: { physical: "FIXED_LEN_BYTE_ARRAY", length: 2, logical: { kind: "FLOAT16" } },
  float32: { physical: "FLOAT" },
  float64: { physical: "DOUBLE" },
  string: { physical: "BYTE_ARRAY", converted: "UTF8", logical: { kind: "STRING" } },
  enum: { physical: "BYTE_ARRAY", converted: "ENUM", logical: { kind: "ENUM" } },
  json: { physical: "BYTE_ARRAY", converted: "JSON", logical: { kind: "JSON" } },
  bytes: { physical: "BYTE_ARRAY" },
  uuid: { physical: "FIXED_LEN_BYTE_ARRAY", length: 16, logical: { kind: "UUID" } },
  date: { physical: "INT32", converted: "DATE", logical: { kind: "DATE" } },
  "time-millis": { physical: "INT32", converted: "TIME_MILLIS", logical: time("MILLIS") },
  "time-micros": { physical: "INT64", converted: "TIME_MICROS", logical: time("MICROS") },
  "time-nanos": { physical: "INT64", logical: time("NANOS") },
  "timestamp-millis": { physical: "INT64", converted: "TIMESTAMP_MILLIS", logical: timestamp("MILLIS") },
  "timestamp-micros": { physical: "INT64", converted: "TIMESTAMP_MICROS", logical: timestamp("MICROS") },
  "timestamp-nanos": { physical: "INT64", logical: timestamp("NANOS") },
  interval: { physical: "FIXED_LEN_BYTE_ARRAY", length: 12, converted: "INTERVAL" },
};

/** Whether a value names a type without others inside it. */
export function isScalarType(type: unknown): type is ParquetScalar {
  return typeof type === "string" && Object.hasOwn(physical, type);
}

/**
 * The file's form of a schema.
 *
 * @throws MarinError ZEPHYR_BAD_SCHEMA naming the column
 */
export function schemaElements(schema: ParquetSchema): SchemaElement[] {
  return [{ name: "schema", repetition: "REQUIRED", children: Object.keys(schema).length }, ...Object.entries(schema).flatMap(([name, type]) => elementsOf(name, type, name))];
}

function elementsOf(name: string, type: ParquetType, at: string, repetition: Repetition = "REQUIRED"): SchemaElement[] {
  if (name === "") throw badSchema(at, "a column's name is empty");
  const head = { name, repetition };
  if (typeof type === "string") {
    if (!Object.hasOwn(physical, type)) throw badSchema(at, `"${type}" is no type`);
    if (type === "interval") throw badSchema(at, "intervals can be read but not written: store months, days and milliseconds as a struct");
    return [{ ...head, ...physical[type] }];
  }
  if ("nullable" in type) {
    if (typeof type.nullable === "object" && "nullable" in type.nullable) throw badSchema(at, "nullable stands twice");
    return elementsOf(name, type.nullable, at, "OPTIONAL");
  }
  if ("decimal" in type) return [{ ...head, ...decimalElement(type.decimal, at) }];
  if ("fixedBytes" in type) {
    if (!Number.isInteger(type.fixedBytes) || type.fixedBytes < 1) throw badSchema(at, `fixedBytes is ${String(type.fixedBytes)}, and must be a whole number of at least 1`);
    return [{ ...head, physical: "FIXED_LEN_BYTE_ARRAY", length: type.fixedBytes }];
  }
  if ("list" in type) {
    return [
      { ...head, children: 1, converted: "LIST", logical: { kind: "LIST" } },
      { name: "list", repetition: "REPEATED", children: 1 },
      ...elementsOf("element", type.list, `${at}[]`),
    ];
  }
  if ("map" in type) {
    if (typeof type.map.key === "object" && "nullable" in type.map.key) throw badSchema(at, "the keys of a map cannot be nullable");
    return [
      { ...head, children: 1, converted: "MAP", logical: { kind: "MAP" } },
      { name: "key_value", repetition: "REPEATED", children: 2 },
      ...elementsOf("key", type.map.key, `${at}.key`),
      ...elementsOf("value", type.map.value, `${at}.value`),
    ];
  }
  const fields = Object.entries(type.struct);
  if (fields.length === 0) throw badSchema(at, "a struct without fields cannot be stored");
  return [{ ...head, children: fields.length }, ...fields.flatMap(([field, inner]) => elementsOf(field, inner, `${at}.${field}`))];
}

function decimalElement({ precision, scale }: { precision: number; scale: number }, at: string): Physical & { precision: number; scale: number } {
  if (!Number.isInteger(precision) || !Number.isInteger(scale) || precision < 1 || precision > 38 || scale < 0 || scale > precision) {
    throw badSchema(at, `decimal(${String(precision)}, ${String(scale)}): precision is 1 to 38 and scale 0 to precision`);
  }
  const annotation = { converted: "DECIMAL", logical: { kind: "DECIMAL", precision, scale }, precision, scale } as const;
  if (precision <= 9) return { physical: "INT32", ...annotation };
  if (precision <= 18) return { physical: "INT64", ...annotation };
  // The fewest bytes that hold the largest number of so many digits, and its sign.
  const bits = (10n ** BigInt(precision) - 1n).toString(2).length + 1;
  return { physical: "FIXED_LEN_BYTE_ARRAY", length: Math.ceil(bits / 8), ...annotation };
}

/** The type that an element of a file's schema, and what stands below it, has. */
export function typeOf(node: SchemaNode): ParquetType {
  const { repetition } = node.element;
  const type = requiredTypeOf(node);
  if (repetition === "OPTIONAL") return { nullable: type };
  // A repeated field that no list is wrapped around is a list by itself.
  return repetition === "REPEATED" ? { list: type } : type;
}

function requiredTypeOf(node: SchemaNode): ParquetType {
  const element = listElementOf(node);
  if (element !== undefined) return { list: element === node.children[0] ? requiredTypeOf(element) : typeOf(element) };
  const entry = mapEntryOf(node);
  if (entry !== undefined) return { map: { key: requiredTypeOf(entry.key), value: typeOf(entry.value) } };
  if (node.children.length > 0) return { struct: Object.fromEntries(node.children.map((child) => [child.element.name, typeOf(child)])) };
  return leafType(node.element);
}

/**
 * What a list holds: the field inside its repeated group, or in the older forms the repeated field itself (Apache Parquet
 * format, LogicalTypes.md, backward-compatibility rules).
 */
export function listElementOf(node: SchemaNode): SchemaNode | undefined {
  const repeated = node.children[0];
  const { name, converted, logical } = node.element;
  if ((converted !== "LIST" && logical?.kind !== "LIST") || node.children.length !== 1 || repeated?.element.repetition !== "REPEATED") return undefined;
  const [only, second] = repeated.children;
  return only === undefined || second !== undefined || repeated.element.name === "array" || repeated.element.name === `${name}_tuple` ? repeated : only;
}

/** The key and the value of a map. */
export function mapEntryOf(node: SchemaNode): { entry: SchemaNode; key: SchemaNode; value: SchemaNode } | undefined {
  const entry = node.children[0];
  const { converted, logical } = node.element;
  const isMap = converted === "MAP" || converted === "MAP_KEY_VALUE" || logical?.kind === "MAP";
  if (!isMap || node.children.length !== 1 || entry?.element.repetition !== "REPEATED") return undefined;
  const [key, value] = entry.children;
  return key === undefined || value === undefined || entry.children.length !== 2 ? undefined : { entry, key, value };
}

function leafType(element: SchemaElement): ParquetType {
  const { physical: stored, converted, logical } = element;
  if (converted === "DECIMAL" || logical?.kind === "DECIMAL") {
    const annotated = logical?.kind === "DECIMAL" ? logical : undefined;
    return { decimal: { precision: element.precision ?? annotated?.precision ?? 0, scale: element.scale ?? annotated?.scale ?? 0 } };
  }
  switch (stored) {
    case "BOOLEAN":
      return "boolean";
    case "FLOAT":
      return "float32";
    case "DOUBLE":
      return "float64";
    case "INT96":
      return "timestamp-nanos";
    case "INT32":
    case "INT64":
      return integerType(element);
    case "FIXED_LEN_BYTE_ARRAY":
      if (logical?.kind === "UUID") return "uuid";
      if (logical?.kind === "FLOAT16") return "float16";
      return converted === "INTERVAL" ? "interval" : { fixedBytes: element.length ?? 0 };
    default:
      if (converted === "UTF8" || logical?.kind === "STRING") return "string";
      if (converted === "ENUM" || logical?.kind === "ENUM") return "enum";
      return converted === "JSON" || logical?.kind === "JSON" ? "json" : "bytes";
  }
}

function integerType({ physical: stored, converted, logical }: SchemaElement): ParquetType {
  if (logical?.kind === "TIME" || logical?.kind === "TIMESTAMP") {
    return `${logical.kind === "TIME" ? "time" : "timestamp"}-${unitNames[logical.unit]}`;
  }
  const found = (Object.keys(physical) as ParquetScalar[]).find((name) => converted !== undefined && physical[name].converted === converted);
  if (found !== undefined) return found;
  if (logical?.kind === "DATE") return "date";
  if (logical?.kind === "INTEGER") return `${logical.signed ? "int" : "uint"}${String(logical.bits)}` as ParquetScalar;
  return stored === "INT32" ? "int32" : "int64";
}

const unitNames = { MILLIS: "millis", MICROS: "micros", NANOS: "nanos" } as const;

function badSchema(at: string, reason: string): MarinError {
  return new MarinError("ZEPHYR_BAD_SCHEMA", `The Parquet schema cannot be written, at ${at}: ${reason}.`, { data: { column: at, reason } });
}
