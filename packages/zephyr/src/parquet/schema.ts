import { MarinError } from "@marin/iris";
import type { FieldRepetitionType, SchemaElement, SchemaTree } from "hyparquet";
import type { SchemaElement as WrittenElement } from "hyparquet-writer";
import type { ParquetScalar, ParquetSchema, ParquetType } from "./types.js";

type Physical = Pick<WrittenElement, "type" | "type_length" | "converted_type" | "logical_type">;
type Annotation = NonNullable<WrittenElement["logical_type"]>;

const time = (unit: "MILLIS" | "MICROS" | "NANOS"): Annotation => ({ type: "TIME", isAdjustedToUTC: true, unit });
const timestamp = (unit: "MILLIS" | "MICROS" | "NANOS"): Annotation => ({ type: "TIMESTAMP", isAdjustedToUTC: true, unit });

/**
 * How each simple type is stored (Apache Parquet format, LogicalTypes.md). Integers have their old annotation only: the
 * library writes the width in the new one with the wrong Thrift type, and strict readers refuse the file.
 */
const physical: Readonly<Record<ParquetScalar, Physical>> = {
  boolean: { type: "BOOLEAN" },
  int8: { type: "INT32", converted_type: "INT_8" },
  int16: { type: "INT32", converted_type: "INT_16" },
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  uint8: { type: "INT32", converted_type: "UINT_8" },
  uint16: { type: "INT32", converted_type: "UINT_16" },
  uint32: { type: "INT32", converted_type: "UINT_32" },
  uint64: { type: "INT64", converted_type: "UINT_64" },
  float16: { type: "FIXED_LEN_BYTE_ARRAY", type_length: 2, logical_type: { type: "FLOAT16" } },
  float32: { type: "FLOAT" },
  float64: { type: "DOUBLE" },
  string: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  enum: { type: "BYTE_ARRAY", converted_type: "ENUM", logical_type: { type: "ENUM" } },
  // Its old annotation comes last, see completeSchema.
  json: { type: "BYTE_ARRAY", logical_type: { type: "JSON" } },
  bytes: { type: "BYTE_ARRAY" },
  uuid: { type: "FIXED_LEN_BYTE_ARRAY", type_length: 16, logical_type: { type: "UUID" } },
  date: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } },
  "time-millis": { type: "INT32", converted_type: "TIME_MILLIS", logical_type: time("MILLIS") },
  "time-micros": { type: "INT64", converted_type: "TIME_MICROS", logical_type: time("MICROS") },
  "time-nanos": { type: "INT64", logical_type: time("NANOS") },
  "timestamp-millis": { type: "INT64", converted_type: "TIMESTAMP_MILLIS", logical_type: timestamp("MILLIS") },
  "timestamp-micros": { type: "INT64", converted_type: "TIMESTAMP_MICROS", logical_type: timestamp("MICROS") },
  "timestamp-nanos": { type: "INT64", logical_type: timestamp("NANOS") },
  interval: { type: "FIXED_LEN_BYTE_ARRAY", type_length: 12, converted_type: "INTERVAL" },
};

/**
 * The file's form of a schema.
 *
 * @throws MarinError ZEPHYR_BAD_SCHEMA naming the column
 */
export function schemaElements(schema: ParquetSchema): WrittenElement[] {
  const columns = Object.keys(schema);
  if (columns.length === 0) throw badSchema("schema", "it names no column");
  return [{ name: "schema", num_children: columns.length }, ...Object.entries(schema).flatMap(([name, type]) => elementsOf(name, type, name))];
}

/**
 * Adds the annotations that must not be there while values are encoded: for JSON's old one the library would encode the
 * text as JSON once more, and without it some readers see bytes.
 */
export function completeSchema(elements: readonly WrittenElement[]): void {
  for (const element of elements) if (element.logical_type?.type === "JSON") element.converted_type = "JSON";
}

function elementsOf(name: string, type: ParquetType, at: string, repetition: FieldRepetitionType = "REQUIRED"): WrittenElement[] {
  if (name === "") throw badSchema(at, "a column's name is empty");
  const head = { name, repetition_type: repetition };
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
    return [{ ...head, type: "FIXED_LEN_BYTE_ARRAY", type_length: type.fixedBytes }];
  }
  if ("list" in type) {
    return [
      { ...head, num_children: 1, converted_type: "LIST", logical_type: { type: "LIST" } },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      ...elementsOf("element", type.list, `${at}[]`),
    ];
  }
  if ("map" in type) {
    if (typeof type.map.key === "object" && "nullable" in type.map.key) throw badSchema(at, "the keys of a map cannot be nullable");
    return [
      { ...head, num_children: 1, converted_type: "MAP", logical_type: { type: "MAP" } },
      { name: "key_value", repetition_type: "REPEATED", num_children: 2 },
      ...elementsOf("key", type.map.key, `${at}.key`),
      ...elementsOf("value", type.map.value, `${at}.value`),
    ];
  }
  const fields = Object.entries(type.struct);
  if (fields.length === 0) throw badSchema(at, "a struct without fields cannot be stored");
  return [{ ...head, num_children: fields.length }, ...fields.flatMap(([field, inner]) => elementsOf(field, inner, `${at}.${field}`))];
}

function decimalElement({ precision, scale }: { precision: number; scale: number }, at: string): Physical & { precision: number; scale: number } {
  if (!Number.isInteger(precision) || !Number.isInteger(scale) || precision < 1 || precision > 38 || scale < 0 || scale > precision) {
    throw badSchema(at, `decimal(${String(precision)}, ${String(scale)}): precision is 1 to 38 and scale 0 to precision`);
  }
  const annotation = { converted_type: "DECIMAL", logical_type: { type: "DECIMAL", precision, scale }, precision, scale } as const;
  if (precision <= 9) return { type: "INT32", ...annotation };
  if (precision <= 18) return { type: "INT64", ...annotation };
  // The fewest bytes that hold the largest number of so many digits, and its sign.
  const bits = (10n ** BigInt(precision) - 1n).toString(2).length + 1;
  return { type: "FIXED_LEN_BYTE_ARRAY", type_length: Math.ceil(bits / 8), ...annotation };
}

/** The type that an element of a file's schema, and what stands below it, has. */
export function typeOf(node: SchemaTree): ParquetType {
  const { repetition_type: repetition } = node.element;
  const type = requiredTypeOf(node);
  if (repetition === "OPTIONAL") return { nullable: type };
  // A repeated field that no list is wrapped around is a list by itself.
  return repetition === "REPEATED" ? { list: type } : type;
}

function requiredTypeOf(node: SchemaTree): ParquetType {
  const element = listElementOf(node);
  if (element !== undefined) return { list: element === node.children[0] ? requiredTypeOf(element) : typeOf(element) };
  const entry = mapEntryOf(node);
  if (entry !== undefined) return { map: { key: requiredTypeOf(entry.key), value: typeOf(entry.value) } };
  if (node.children.length > 0) return { struct: Object.fromEntries(node.children.map((child) => [child.element.name, typeOf(child)])) };
  return leafType(node.element);
}

/** What a list holds: the field inside its repeated group, or in old two-level files the repeated field itself. */
export function listElementOf(node: SchemaTree): SchemaTree | undefined {
  const repeated = node.children[0];
  const { converted_type: converted, logical_type: logical } = node.element;
  if ((converted !== "LIST" && logical?.type !== "LIST") || node.children.length !== 1 || repeated?.element.repetition_type !== "REPEATED" || repeated.children.length > 1) {
    return undefined;
  }
  return repeated.children[0] ?? repeated;
}

/** The key and the value of a map. */
export function mapEntryOf(node: SchemaTree): { entry: SchemaTree; key: SchemaTree; value: SchemaTree } | undefined {
  const entry = node.children[0];
  const { converted_type: converted, logical_type: logical } = node.element;
  const isMap = converted === "MAP" || converted === "MAP_KEY_VALUE" || logical?.type === "MAP";
  if (!isMap || node.children.length !== 1 || entry?.element.repetition_type !== "REPEATED") return undefined;
  const [key, value] = entry.children;
  return key === undefined || value === undefined || entry.children.length !== 2 ? undefined : { entry, key, value };
}

function leafType(element: SchemaElement): ParquetType {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === "DECIMAL" || logical?.type === "DECIMAL") {
    const annotated = logical?.type === "DECIMAL" ? logical : undefined;
    return { decimal: { precision: element.precision ?? annotated?.precision ?? 0, scale: element.scale ?? annotated?.scale ?? 0 } };
  }
  switch (type) {
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
      if (logical?.type === "UUID") return "uuid";
      if (logical?.type === "FLOAT16") return "float16";
      return converted === "INTERVAL" || logical?.type === "INTERVAL" ? "interval" : { fixedBytes: element.type_length ?? 0 };
    default:
      if (converted === "UTF8" || logical?.type === "STRING") return "string";
      if (converted === "ENUM" || logical?.type === "ENUM") return "enum";
      return converted === "JSON" || logical?.type === "JSON" ? "json" : "bytes";
  }
}

function integerType({ type, converted_type: converted, logical_type: logical }: SchemaElement): ParquetType {
  if (logical?.type === "TIME" || logical?.type === "TIMESTAMP") {
    return `${logical.type === "TIME" ? "time" : "timestamp"}-${unitNames[logical.unit]}`;
  }
  const found = (Object.keys(physical) as ParquetScalar[]).find((name) => converted !== undefined && physical[name].converted_type === converted);
  if (found !== undefined) return found;
  if (logical?.type === "DATE") return "date";
  if (logical?.type === "INTEGER") return `${logical.isSigned ? "int" : "uint"}${String(logical.bitWidth)}` as ParquetScalar;
  return type === "INT32" ? "int32" : "int64";
}

const unitNames = { MILLIS: "millis", MICROS: "micros", NANOS: "nanos" } as const;

function badSchema(at: string, reason: string): MarinError {
  return new MarinError("ZEPHYR_BAD_SCHEMA", `The Parquet schema cannot be written, at ${at}: ${reason}.`, { data: { column: at, reason } });
}
