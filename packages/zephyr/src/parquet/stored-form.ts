import { asBuffer } from "../as-buffer.js";
import { compareText } from "../utf8.js";
import type { SchemaElement } from "./format.js";
import type { ParquetType } from "./types.js";

/** How the values of a leaf, as its encoder gives them, are stored and ordered. */
export interface StoredForm {
  /** Stores values one after the other; about `values.length * width` bytes where the width is fixed. */
  plain(values: readonly unknown[], start: number, end: number, out: PageBuffer): void;
  /** Bytes of a value on the page. */
  size(value: unknown): number;
  /** What is equal for equal values; undefined where no dictionary is made. */
  readonly key: ((value: unknown) => unknown) | undefined;
  /** Below 0 where a comes before b, in the order that the format gives the type; undefined where it gives none. */
  readonly compare: ((a: unknown, b: unknown) => number) | undefined;
  /** A bound as statistics hold it: not above a least value, not below a greatest; undefined where that cannot be said shortly. */
  bound(value: unknown, greatest: boolean): { readonly bytes: Uint8Array; readonly exact: boolean } | undefined;
}

/** A buffer that grows and is used again. */
export class PageBuffer {
  bytes = Buffer.allocUnsafe(1 << 16);
  at = 0;

  /** Makes room for more bytes. */
  room(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.at + more));
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }

  put(part: Uint8Array): void {
    this.room(part.length);
    this.bytes.set(part, this.at);
    this.at += part.length;
  }

  /** What was written; a view until it is cleared. */
  written(): Buffer {
    return this.bytes.subarray(0, this.at);
  }
}

/** Longer bounds of text and bytes are shortened. */
const boundBytes = 64;

const byNumber = (a: unknown, b: unknown): number => (a as number) - (b as number);
const byMagnitude = (a: unknown, b: unknown): number => ((a as bigint) < (b as bigint) ? -1 : (a as bigint) > (b as bigint) ? 1 : 0);
const byBytes = (a: unknown, b: unknown): number => Buffer.compare(a as Uint8Array, b as Uint8Array);
const same = (value: unknown): unknown => value;

/**
 * The form of a leaf.
 *
 * @param element - the leaf in the file's schema
 * @param type - its type in ours, without nullable
 */
export function storedFormOf(element: SchemaElement, type: ParquetType): StoredForm {
  switch (element.physical) {
    case "BOOLEAN":
      return booleans;
    case "INT32":
      return whole(4, (value) => Number(value), (a, b) => Number(a) - Number(b));
    case "INT64":
      return whole(8, (value) => BigInt.asIntN(64, value as bigint), byMagnitude);
    case "FLOAT":
      return fractions(4, Float32Array);
    case "DOUBLE":
      return fractions(8, Float64Array);
    case "FIXED_LEN_BYTE_ARRAY":
      if (type === "float16") return { ...fixed(2, (value) => halfBytes(value as number)), key: undefined, compare: byNumber, bound: (value, greatest) => ({ bytes: halfBytes(signedZero(value as number, greatest)), exact: true }) };
      if (type === "uuid") return fixed(16, uuidBytes, (a, b) => Buffer.compare(uuidBytes(a), uuidBytes(b)));
      if (typeof type === "object" && "decimal" in type) return fixed(element.length ?? 0, (value) => bigEndian(value as bigint, element.length ?? 0), byMagnitude);
      return { ...fixed(element.length ?? 0, (value) => value as Uint8Array, byBytes), key: latin1, bound: bytesBound };
    default:
      return type === "bytes" ? bytes : text;
  }
}

const booleans: StoredForm = {
  plain: (values, start, end, out) => {
    const size = Math.ceil((end - start) / 8);
    out.room(size);
    out.bytes.fill(0, out.at, out.at + size);
    for (let index = start; index < end; index += 1) if (values[index] === true) out.bytes[out.at + ((index - start) >> 3)] = (out.bytes[out.at + ((index - start) >> 3)] ?? 0) | (1 << ((index - start) & 7));
    out.at += size;
  },
  size: () => 1 / 8,
  key: undefined,
  compare: (a, b) => Number(a) - Number(b),
  bound: (value) => ({ bytes: Uint8Array.of(Number(value)), exact: true }),
};

function whole(width: 4 | 8, integer: (value: unknown) => number | bigint, compare: (a: unknown, b: unknown) => number): StoredForm {
  const Form = width === 4 ? Int32Array : BigInt64Array;
  const plain: StoredForm["plain"] = (values, start, end, out) => {
    const numbers = new Form(end - start) as unknown as Record<number, number | bigint> & { readonly buffer: ArrayBuffer };
    for (let index = start; index < end; index += 1) numbers[index - start] = integer(values[index]);
    out.put(new Uint8Array(numbers.buffer));
  };
  return { plain, size: () => width, key: same, compare, bound: (value) => ({ bytes: written(plain, value), exact: true }) };
}

function fractions(width: number, Form: typeof Float32Array | typeof Float64Array): StoredForm {
  const plain: StoredForm["plain"] = (values, start, end, out) => {
    const numbers = new Form(end - start);
    for (let index = start; index < end; index += 1) {
      const value = values[index] as number;
      // One NaN, whatever its bits were: equal records give equal bytes.
      numbers[index - start] = Number.isNaN(value) ? NaN : value;
    }
    out.put(new Uint8Array(numbers.buffer));
  };
  return { plain, size: () => width, key: undefined, compare: byNumber, bound: (value, greatest) => ({ bytes: written(plain, signedZero(value as number, greatest)), exact: true }) };
}

/** Zeros of both signs are equal: a least zero stands for -0 and a greatest one for +0 (Apache Parquet format, parquet.thrift, ColumnOrder). */
function signedZero(value: number, greatest: boolean): number {
  return value === 0 ? (greatest ? 0 : -0) : value;
}

function fixed(width: number, encode: (value: unknown) => Uint8Array, compare?: (a: unknown, b: unknown) => number): StoredForm {
  return {
    plain: (values, start, end, out) => {
      for (let index = start; index < end; index += 1) out.put(encode(values[index]));
    },
    size: () => width,
    key: same,
    compare,
    bound: (value) => ({ bytes: Uint8Array.from(encode(value)), exact: true }),
  };
}

const bytes: StoredForm = {
  plain: (values, start, end, out) => {
    for (let index = start; index < end; index += 1) {
      const value = values[index] as Uint8Array;
      out.room(4 + value.length);
      out.bytes.writeUInt32LE(value.length, out.at);
      out.bytes.set(value, out.at + 4);
      out.at += 4 + value.length;
    }
  },
  size: (value) => 4 + (value as Uint8Array).length,
  key: latin1,
  compare: byBytes,
  bound: bytesBound,
};

const text: StoredForm = {
  plain: (values, start, end, out) => {
    for (let index = start; index < end; index += 1) {
      const value = values[index] as string;
      // A UTF-16 unit takes three bytes of UTF-8 at most.
      out.room(4 + 3 * value.length);
      const length = out.bytes.write(value, out.at + 4, "utf8");
      out.bytes.writeUInt32LE(length, out.at);
      out.at += 4 + length;
    }
  },
  size: (value) => 4 + (value as string).length,
  key: same,
  compare: (a, b) => compareText(a as string, b as string),
  bound: textBound,
};

function latin1(value: unknown): string {
  return asBuffer(value as Uint8Array).toString("latin1");
}

function bytesBound(value: unknown, greatest: boolean): { readonly bytes: Uint8Array; readonly exact: boolean } | undefined {
  const whole = value as Uint8Array;
  if (whole.length <= boundBytes) return { bytes: Uint8Array.from(whole), exact: true };
  const start = Uint8Array.from(whole.subarray(0, boundBytes));
  if (!greatest) return { bytes: start, exact: false };
  for (let at = start.length - 1; at >= 0; at -= 1) {
    if (start[at] === 255) continue;
    start[at] = (start[at] as number) + 1;
    return { bytes: start.slice(0, at + 1), exact: false };
  }
  return undefined;
}

function textBound(value: unknown, greatest: boolean): { readonly bytes: Uint8Array; readonly exact: boolean } | undefined {
  const whole = value as string;
  // As many UTF-16 units surely hold the first bytes.
  const points = Array.from(whole.slice(0, boundBytes + 1));
  let [kept, length] = [0, 0];
  for (; kept < points.length; kept += 1) {
    length += Buffer.byteLength(points[kept] as string);
    if (length > boundBytes) break;
  }
  const start = points.slice(0, kept).join("");
  if (start.length === whole.length) return { bytes: Uint8Array.from(Buffer.from(whole)), exact: true };
  if (!greatest) return { bytes: Uint8Array.from(Buffer.from(start)), exact: false };
  for (let at = kept - 1; at >= 0; at -= 1) {
    const point = (points[at] as string).codePointAt(0) as number;
    if (point === 0x10ffff) continue;
    const next = String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
    return { bytes: Uint8Array.from(Buffer.from(points.slice(0, at).join("") + next)), exact: false };
  }
  return undefined;
}

function written(plain: StoredForm["plain"], value: unknown): Uint8Array {
  const out = new PageBuffer();
  plain([value], 0, 1, out);
  return Uint8Array.from(out.written());
}

function uuidBytes(value: unknown): Buffer {
  return Buffer.from((value as string).replaceAll("-", ""), "hex");
}

/** Two's complement, the highest byte first. */
function bigEndian(value: bigint, length: number): Uint8Array {
  return Buffer.from(BigInt.asUintN(8 * length, value).toString(16).padStart(2 * length, "0"), "hex");
}

/** IEEE 754 binary16, rounded to the nearest, ties to even. */
function halfBytes(value: number): Uint8Array {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  let bits: number;
  if (Number.isNaN(value)) return Uint8Array.of(0x00, 0x7e);
  if (size >= 65_520) bits = 0x7c00;
  else if (size < 2 ** -14) bits = toEven(size * 2 ** 24);
  else {
    const exponent = exponentOf(size);
    // A carry out of the fraction moves the exponent up.
    bits = ((exponent + 15) << 10) + toEven(size * 2 ** (10 - exponent)) - 1024;
  }
  return Uint8Array.of((sign | bits) & 255, (sign | bits) >> 8);
}

function exponentOf(size: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, size);
  return ((view.getUint32(0) >>> 20) & 0x7ff) - 1023;
}

function toEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return below + Number(rest > 0.5 || (rest === 0.5 && below % 2 === 1));
}
