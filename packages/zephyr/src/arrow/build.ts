import type * as Arrow from "apache-arrow";
import { MarinError } from "@marin/iris";
import type { ParquetType } from "../parquet/types.js";

/** Loaded on first use. */
export type ArrowLibrary = typeof Arrow;

/** The note of a field whose type Arrow has no word for. */
export const typeNote = "zephyr.type";

/** The field of a column. */
export function fieldOf(library: ArrowLibrary, name: string, type: ParquetType): Arrow.Field {
  const nullable = typeof type === "object" && "nullable" in type;
  const inner = nullable ? type.nullable : type;
  const notes = inner === "enum" || inner === "json" || inner === "uuid" ? new Map([[typeNote, inner]]) : undefined;
  return new library.Field(name, arrowType(library, inner), nullable, notes);
}

function arrowType(library: ArrowLibrary, type: ParquetType): Arrow.DataType {
  if (typeof type === "object") {
    if ("nullable" in type) return arrowType(library, type.nullable);
    if ("decimal" in type) return new library.Decimal(type.decimal.scale, type.decimal.precision, 128);
    if ("fixedBytes" in type) return new library.FixedSizeBinary(type.fixedBytes);
    if ("list" in type) return new library.List(fieldOf(library, "item", type.list));
    if ("map" in type) {
      const fields = [fieldOf(library, "key", type.map.key), fieldOf(library, "value", type.map.value)];
      return new library.Map_(new library.Field("entries", new library.Struct(fields), false) as never);
    }
    return new library.Struct(Object.entries(type.struct).map(([name, inner]) => fieldOf(library, name, inner)));
  }
  switch (type) {
    case "boolean":
      return new library.Bool();
    case "int8":
      return new library.Int8();
    case "int16":
      return new library.Int16();
    case "int32":
      return new library.Int32();
    case "int64":
      return new library.Int64();
    case "uint8":
      return new library.Uint8();
    case "uint16":
      return new library.Uint16();
    case "uint32":
      return new library.Uint32();
    case "uint64":
      return new library.Uint64();
    case "float32":
      return new library.Float32();
    case "float64":
      return new library.Float64();
    case "bytes":
      return new library.Binary();
    case "date":
      return new library.DateDay();
    case "time-millis":
      return new library.TimeMillisecond();
    case "time-micros":
      return new library.TimeMicrosecond();
    case "time-nanos":
      return new library.TimeNanosecond();
    case "timestamp-millis":
      return new library.TimestampMillisecond("UTC");
    case "timestamp-micros":
      return new library.TimestampMicrosecond("UTC");
    case "timestamp-nanos":
      return new library.TimestampNanosecond("UTC");
    case "string":
    case "enum":
    case "json":
    case "uuid":
      return new library.Utf8();
    case "float16":
    case "interval":
      throw new MarinError("ZEPHYR_ARROW_UNSUPPORTED", `The type ${type} cannot be put into an Arrow table here; use ${type === "float16" ? "float32" : "a struct of months, days and milliseconds"}.`, { data: { type } });
  }
}

/** The memory of a column: values as the Parquet encoders give them, null where there is none. */
export function dataOf(library: ArrowLibrary, field: Arrow.Field, values: readonly unknown[]): Arrow.Data {
  const type = field.type as Arrow.DataType;
  const length = values.length;
  const missing = values.filter((value) => value === null).length;
  const common = { type, length, nullCount: missing, ...(missing === 0 ? {} : { nullBitmap: bits(values.map((value) => value !== null)) }) };
  const make = (parts: Readonly<Record<string, unknown>>): Arrow.Data => library.makeData({ ...common, ...parts } as never);
  if (library.DataType.isBool(type)) return make({ data: bits(values.map(Boolean)) });
  if (library.DataType.isStruct(type)) {
    return make({ children: type.children.map((child) => dataOf(library, child, values.map((value) => (value === null ? emptyOf(library, child) : (value as Record<string, unknown>)[child.name])))) });
  }
  if (library.DataType.isList(type) || library.DataType.isMap(type)) {
    const [child] = type.children;
    const items = values.map((value) => (value === null ? [] : (value as readonly unknown[])));
    return make({ valueOffsets: offsets(items.map((item) => item.length)), child: dataOf(library, child as Arrow.Field, items.flat()) });
  }
  if (library.DataType.isUtf8(type) || library.DataType.isBinary(type)) {
    const items = values.map((value) => (value === null ? new Uint8Array() : typeof value === "string" ? Buffer.from(value, "utf8") : (value as Uint8Array)));
    return make({ valueOffsets: offsets(items.map((item) => item.length)), data: new Uint8Array(Buffer.concat(items)) });
  }
  if (library.DataType.isFixedSizeBinary(type)) {
    const data = new Uint8Array(length * type.byteWidth);
    for (const [index, value] of values.entries()) if (value !== null) data.set(value as Uint8Array, index * type.byteWidth);
    return make({ data });
  }
  if (library.DataType.isDecimal(type)) {
    const words = new BigUint64Array(2 * length);
    for (const [index, value] of values.entries()) {
      words[2 * index] = BigInt.asUintN(64, (value as bigint | null) ?? 0n);
      words[2 * index + 1] = BigInt.asUintN(64, ((value as bigint | null) ?? 0n) >> 64n);
    }
    return make({ data: new Uint32Array(words.buffer) });
  }
  const data = new ((type as { readonly ArrayType?: unknown }).ArrayType as new (length: number) => Record<number, unknown>)(length);
  const zero = data instanceof BigInt64Array || data instanceof BigUint64Array ? 0n : 0;
  for (const [index, value] of values.entries()) data[index] = value ?? zero;
  return make({ data });
}

/** What stands below a missing struct; nobody reads it. */
function emptyOf(library: ArrowLibrary, field: Arrow.Field): unknown {
  if (field.nullable) return null;
  const type = field.type as Arrow.DataType;
  if (library.DataType.isStruct(type)) return Object.fromEntries(type.children.map((child) => [child.name, emptyOf(library, child)]));
  if (library.DataType.isList(type) || library.DataType.isMap(type)) return [];
  if (library.DataType.isUtf8(type)) return "";
  if (library.DataType.isBinary(type)) return new Uint8Array();
  if (library.DataType.isFixedSizeBinary(type)) return new Uint8Array(type.byteWidth);
  return library.DataType.isDecimal(type) ? 0n : undefined;
}

function bits(flags: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(flags.length / 8));
  for (const [index, flag] of flags.entries()) if (flag) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7));
  return bytes;
}

function offsets(lengths: readonly number[]): Int32Array {
  const ends = new Int32Array(lengths.length + 1);
  let end = 0;
  for (const [index, length] of lengths.entries()) {
    end += length;
    if (end > 2 ** 31 - 1) throw new MarinError("ZEPHYR_ARROW_UNSUPPORTED", "A column of an Arrow table holds at most 2 GiB of text, bytes or list items: make several tables.", { data: { limit: 2 ** 31 - 1 } });
    ends[index + 1] = end;
  }
  return ends;
}
