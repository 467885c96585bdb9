import type * as Arrow from "apache-arrow";
import { MarinError } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import { decimalText } from "../parquet/decode.js";
import type { ParquetScalar, ParquetType, ParquetValue } from "../parquet/types.js";
import { type ArrowLibrary, typeNote } from "./build.js";

/**
 * The type of a field.
 *
 * @throws MarinError ZEPHYR_ARROW_UNSUPPORTED naming the column
 */
export function typeOfField(library: ArrowLibrary, field: Arrow.Field, at: string): ParquetType {
  const note = field.metadata.get(typeNote);
  const inner = note === "enum" || note === "json" || note === "uuid" ? note : typeOfArrow(library, field.type as Arrow.DataType, at);
  return field.nullable ? { nullable: inner } : inner;
}

function typeOfArrow(library: ArrowLibrary, type: Arrow.DataType, at: string): ParquetType {
  const { DataType } = library;
  if (DataType.isDictionary(type)) return typeOfArrow(library, type.dictionary as Arrow.DataType, at);
  if (DataType.isInt(type)) return `${type.isSigned ? "int" : "uint"}${String(type.bitWidth)}` as ParquetScalar;
  if (DataType.isFloat(type) && type.precision !== library.Precision.HALF) return type.precision === library.Precision.SINGLE ? "float32" : "float64";
  if (DataType.isBool(type)) return "boolean";
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return "string";
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return "bytes";
  if (DataType.isFixedSizeBinary(type)) return { fixedBytes: type.byteWidth };
  if (DataType.isDate(type)) return type.unit === library.DateUnit.DAY ? "date" : "timestamp-millis";
  if (DataType.isDecimal(type) && type.bitWidth === 128) return { decimal: { precision: type.precision, scale: type.scale } };
  if (DataType.isTimestamp(type) || DataType.isTime(type)) {
    const unit = { [library.TimeUnit.MILLISECOND]: "millis", [library.TimeUnit.MICROSECOND]: "micros", [library.TimeUnit.NANOSECOND]: "nanos" }[type.unit as number];
    if (unit !== undefined) return `${DataType.isTime(type) ? "time" : "timestamp"}-${unit}` as ParquetScalar;
  }
  if (DataType.isList(type)) return { list: typeOfField(library, type.children[0] as Arrow.Field, `${at}[]`) };
  if (DataType.isMap(type)) {
    const [key, value] = (type.children[0] as Arrow.Field<Arrow.Struct>).type.children as [Arrow.Field, Arrow.Field];
    const keyType = typeOfField(library, key, `${at}.key`);
    return { map: { key: typeof keyType === "object" && "nullable" in keyType ? keyType.nullable : keyType, value: typeOfField(library, value, `${at}.value`) } };
  }
  if (DataType.isStruct(type)) return { struct: Object.fromEntries(type.children.map((child) => [child.name, typeOfField(library, child, `${at}.${child.name}`)])) };
  const shown = (type as { toString(): string }).toString();
  throw new MarinError("ZEPHYR_ARROW_UNSUPPORTED", `The Arrow column ${at} is of type ${shown}, which is not read: cast it before.`, { data: { column: at, type: shown } });
}

/** A value of a column, from its memory: the library itself gives timestamps and decimals inexactly. */
export function valueAt(library: ArrowLibrary, data: Arrow.Data, index: number): ParquetValue {
  if (!data.getValid(index)) return null;
  const { DataType } = library;
  const { type } = data;
  if (DataType.isDictionary(type)) return vectorValue(library, data.dictionary as Arrow.Vector, Number((data.values as ArrayLike<number | bigint>)[index] ?? 0));
  if (DataType.isStruct(type)) return Object.fromEntries(type.children.map((child, place) => [child.name, valueAt(library, data.children[place] as Arrow.Data, index)]));
  if (DataType.isList(type) || DataType.isMap(type)) {
    const [start, end] = range(data, index);
    const items = Array.from({ length: end - start }, (_, place) => valueAt(library, data.children[0] as Arrow.Data, start + place));
    return DataType.isList(type) ? items : new Map(items.map((entry) => Object.values(entry as Record<string, ParquetValue>) as [ParquetValue, ParquetValue]));
  }
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isBinary(type) || DataType.isLargeBinary(type)) {
    const bytes = (data.values as Uint8Array).subarray(...range(data, index));
    return DataType.isUtf8(type) || DataType.isLargeUtf8(type) ? asBuffer(bytes).toString("utf8") : Uint8Array.from(bytes);
  }
  if (DataType.isFixedSizeBinary(type)) return Uint8Array.from((data.values as Uint8Array).subarray(index * type.byteWidth, (index + 1) * type.byteWidth));
  if (DataType.isBool(type)) {
    const bit = data.offset + index;
    return (((data.values as Uint8Array)[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  }
  if (DataType.isDecimal(type)) {
    const words = (data.values as Uint32Array).subarray(4 * index, 4 * index + 4);
    return decimalText(BigInt.asIntN(128, words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n)), type.scale);
  }
  const value = (data.values as ArrayLike<number | bigint>)[index] ?? 0;
  if (DataType.isDate(type)) return new Date(type.unit === library.DateUnit.DAY ? Number(value) * 86_400_000 : Number(value));
  return DataType.isTimestamp(type) && type.unit === library.TimeUnit.MILLISECOND ? new Date(Number(value)) : value;
}

/** A value of a vector, which may lie in several pieces. */
export function vectorValue(library: ArrowLibrary, vector: Arrow.Vector, index: number): ParquetValue {
  let at = index;
  for (const piece of vector.data as readonly Arrow.Data[]) {
    if (at < piece.length) return valueAt(library, piece, at);
    at -= piece.length;
  }
  throw new RangeError(`there is no value ${String(index)}`);
}

function range(data: Arrow.Data, index: number): [number, number] {
  const ends = data.valueOffsets as unknown as ArrayLike<number | bigint>;
  return [Number(ends[index] ?? 0), Number(ends[index + 1] ?? 0)];
}
