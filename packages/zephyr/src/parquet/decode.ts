import { MarinError } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import type { SchemaNode } from "./format.js";
import type { ParquetType, ParquetValue } from "./types.js";
import type { StoredValues } from "./values.js";

/** Whether the values of a column are text. */
export function isText(type: ParquetType): boolean {
  return type === "string" || type === "enum" || type === "json";
}

/**
 * A column's values as a reader gives them, out of those that are stored. Nothing is rounded.
 *
 * @param type - the column's type, without nullable
 * @throws Error for a date that a Date does not reach
 */
export function valuesOf(stored: StoredValues, type: ParquetType): ArrayLike<ParquetValue> {
  if (typeof type === "object") {
    if ("decimal" in type) return mapped(stored, (value: Uint8Array | bigint | number) => decimalText(unscaled(value), type.decimal.scale));
    return mapped(stored, copyOfBytes);
  }
  switch (type) {
    case "bytes":
      return mapped(stored, copyOfBytes);
    case "uint64":
      return stored instanceof BigInt64Array ? new BigUint64Array(stored.buffer, stored.byteOffset, stored.length) : stored;
    case "uint8":
    case "uint16":
    case "uint32":
      return stored instanceof Int32Array ? new Uint32Array(stored.buffer, stored.byteOffset, stored.length) : stored;
    case "date":
      return mapped(stored, (days: number) => dateOf(days * 86_400_000));
    case "timestamp-millis":
      return mapped(stored, (milliseconds: bigint) => dateOf(Number(milliseconds)));
    case "float16":
      return mapped(stored, halfOf);
    case "uuid":
      return mapped(stored, uuidText);
    case "interval":
      return mapped(stored, intervalOf);
    default:
      return stored;
  }
}

function mapped<T>(stored: StoredValues, decode: (value: T) => ParquetValue): ParquetValue[] {
  const values = new Array<ParquetValue>(stored.length);
  for (let index = 0; index < stored.length; index += 1) values[index] = decode(stored[index] as T);
  return values;
}

/** A copy: what is stored is a view into a whole page. */
function copyOfBytes(stored: Uint8Array): Uint8Array {
  return Uint8Array.from(stored);
}

function dateOf(milliseconds: number): Date {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) throw new Error(`a date lies ${String(milliseconds)} ms from 1970, further than a Date reaches`);
  return date;
}

function intervalOf(bytes: Uint8Array): ParquetValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { months: view.getUint32(0, true), days: view.getUint32(4, true), milliseconds: view.getUint32(8, true) };
}

function uuidText(bytes: Uint8Array): string {
  const hex = asBuffer(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** IEEE 754 binary16. */
function halfOf(bytes: Uint8Array): number {
  const bits = (bytes[0] ?? 0) | ((bytes[1] ?? 0) << 8);
  const [exponent, fraction, sign] = [(bits >> 10) & 31, bits & 1023, bits >> 15 === 0 ? 1 : -1];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** A decimal's whole number; bytes are two's complement, the highest first. */
function unscaled(stored: Uint8Array | bigint | number): bigint {
  if (!(stored instanceof Uint8Array)) return BigInt(stored);
  const hex = asBuffer(stored).toString("hex");
  return hex === "" ? 0n : BigInt.asIntN(stored.length * 8, BigInt(`0x${hex}`));
}

/** A decimal's digits, exactly `scale` of them after the point. */
export function decimalText(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}${scale === 0 ? "" : `.${digits.slice(point)}`}`;
}

/** @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED for columns that this reader cannot interpret */
export function refuseUnsupported(path: string, node: SchemaNode): void {
  const { logical, converted } = node.element;
  const kind = logical?.kind === "VARIANT" || logical?.kind === "BSON" ? logical.kind : converted === "BSON" ? converted : undefined;
  if (kind !== undefined) {
    const column = node.path.join(".");
    throw new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path}: column ${column} is of type ${kind}, which is not read; name the columns you need.`, { data: { path, column, type: kind } });
  }
  for (const child of node.children) refuseUnsupported(path, child);
}
