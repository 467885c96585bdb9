import { isUtf8 } from "node:buffer";
import { MarinError } from "@marin/iris";
import type { FileMetaData, ParquetParsers, SchemaElement, SchemaTree } from "hyparquet";
import { firstInvalidUtf8 } from "../utf8.js";
import { listElementOf, mapEntryOf, typeOf } from "./schema.js";
import type { ParquetType, ParquetValue } from "./types.js";

type Decoder = (stored: unknown) => ParquetValue;

/**
 * The metadata with each annotation removed that the Parquet library would read inexactly: a decimal as a float, a
 * microsecond timestamp as milliseconds, a map as an object with text keys. {@link columnDecoder} interprets what is stored.
 */
export function storedForm(metadata: FileMetaData): FileMetaData {
  return { ...metadata, schema: metadata.schema.map(storedElement) };
}

function storedElement(element: SchemaElement): SchemaElement {
  const { converted_type: converted, logical_type: logical, ...plain } = element;
  if (element.num_children !== undefined) return converted === "LIST" || logical?.type === "LIST" ? { ...plain, converted_type: "LIST" } : plain;
  if (logical?.type === "UUID" || logical?.type === "FLOAT16") return { ...plain, logical_type: logical };
  const isText = ["UTF8", "ENUM", "JSON"].includes(converted ?? "") || ["STRING", "ENUM", "JSON"].includes(logical?.type ?? "");
  return isText ? { ...plain, converted_type: "UTF8" } : plain;
}

/** Parsers that keep what is stored: text strictly, times as the integers they are. */
export const storedParsers: Partial<ParquetParsers> = {
  stringFromBytes: strictText,
  timestampFromMilliseconds: same,
  timestampFromMicroseconds: same,
  timestampFromNanoseconds: same,
};

function same(value: bigint): bigint {
  return value;
}

function strictText(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString("utf8");
  throw new Error(`a text value is not UTF-8: its byte ${String(firstInvalidUtf8(buffer))} is wrong`);
}

/** Makes a column's values out of what the Parquet library gives for its {@link storedForm}; undefined where they are the same. */
export function columnDecoder(node: SchemaTree): Decoder | undefined {
  const decode = requiredDecoder(node);
  if (node.element.repetition_type === "REPEATED") return listOf(decode);
  return decode === undefined || node.element.repetition_type === "REQUIRED" ? decode : (stored) => (stored === null ? null : decode(stored));
}

function requiredDecoder(node: SchemaTree): Decoder | undefined {
  const element = listElementOf(node);
  if (element !== undefined) return listOf(element === node.children[0] ? requiredDecoder(element) : columnDecoder(element));
  const map = mapEntryOf(node);
  if (map !== undefined) return mapDecoder(map);
  if (node.children.length > 0) return structDecoder(node);
  return leafDecoder(typeOf({ ...node, element: { ...node.element, repetition_type: "REQUIRED" } }));
}

function listOf(decode: Decoder | undefined): Decoder {
  return (stored) => {
    const items = stored as ParquetValue[];
    return items.map((item) => (decode === undefined ? (item ?? null) : decode(item ?? null)));
  };
}

function mapDecoder({ entry, key, value }: { entry: SchemaTree; key: SchemaTree; value: SchemaTree }): Decoder {
  const decodeKey = requiredDecoder(key);
  const decodeValue = columnDecoder(value);
  return (stored) => {
    const entries = (stored as Record<string, Record<string, ParquetValue>[]>)[entry.element.name] ?? [];
    return new Map(
      entries.map((pair) => {
        const storedKey = pair[key.element.name] ?? null;
        const storedValue = pair[value.element.name] ?? null;
        return [decodeKey === undefined ? storedKey : decodeKey(storedKey), decodeValue === undefined ? storedValue : decodeValue(storedValue)];
      }),
    );
  };
}

function structDecoder(node: SchemaTree): Decoder {
  const fields = node.children.map((child) => ({ name: child.element.name, decode: columnDecoder(child) }));
  return (stored) => {
    const values = stored as Record<string, ParquetValue>;
    return Object.fromEntries(fields.map(({ name, decode }) => [name, decode === undefined ? (values[name] ?? null) : decode(values[name] ?? null)]));
  };
}

function leafDecoder(type: ParquetType): Decoder | undefined {
  if (typeof type === "object") {
    if ("decimal" in type) return (stored) => decimalText(unscaled(stored), type.decimal.scale);
    return copyOfBytes;
  }
  switch (type) {
    case "bytes":
      return copyOfBytes;
    case "int64":
    case "time-micros":
    case "time-nanos":
      return undefined;
    case "uint64":
      return (stored) => BigInt.asUintN(64, stored as bigint);
    case "uint8":
    case "uint16":
    case "uint32":
      return (stored) => (stored as number) >>> 0;
    case "date":
      return (stored) => dateOf((stored as number) * 86_400_000);
    case "timestamp-millis":
      return (stored) => dateOf(Number(stored as bigint));
    case "interval":
      return intervalOf;
    default:
      return undefined;
  }
}

/** A copy: what the library gives is a view into a whole page. */
function copyOfBytes(stored: unknown): Uint8Array {
  return Uint8Array.from(stored as Uint8Array);
}

function dateOf(milliseconds: number): Date {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) throw new Error(`a date lies ${String(milliseconds)} ms from 1970, further than a Date reaches`);
  return date;
}

function intervalOf(stored: unknown): ParquetValue {
  const bytes = stored as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { months: view.getUint32(0, true), days: view.getUint32(4, true), milliseconds: view.getUint32(8, true) };
}

/** A decimal's whole number; bytes are two's complement, the highest first. */
function unscaled(stored: unknown): bigint {
  if (!(stored instanceof Uint8Array)) return BigInt(stored as bigint | number);
  const hex = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString("hex");
  return hex === "" ? 0n : BigInt.asIntN(stored.length * 8, BigInt(`0x${hex}`));
}

/** A decimal's digits, exactly `scale` of them after the point. */
export function decimalText(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}${scale === 0 ? "" : `.${digits.slice(point)}`}`;
}

/** @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED for columns that this reader cannot interpret */
export function refuseUnsupported(path: string, tree: SchemaTree): void {
  for (const child of tree.children) {
    const { logical_type: logical, converted_type: converted } = child.element;
    if (logical?.type === "VARIANT" || converted === "BSON" || logical?.type === "BSON") {
      const kind = logical?.type ?? "BSON";
      throw new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path}: column ${child.path.join(".")} is of type ${kind}, which is not read; name the columns you need.`, {
        data: { path, column: child.path.join("."), type: kind },
      });
    }
    refuseUnsupported(path, child);
  }
}
