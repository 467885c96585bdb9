import { isUtf8 } from "node:buffer";
import { firstInvalidUtf8 } from "../utf8.js";
import { asBuffer } from "../as-buffer.js";
import { readDeltas, readFrontStrings, readLengthStrings } from "./delta.js";
import { encodingNames, type SchemaElement } from "./format.js";
import { levelArray, readRuns } from "./levels.js";

/** Values as they are stored; text is decoded. */
export type StoredValues = Int32Array | BigInt64Array | Float32Array | Float64Array | boolean[] | bigint[] | string[] | Uint8Array[];

/** The values of a page, in order. Text and bytes are made when they are asked for: what was used may be gone by then. */
export interface ValueRun {
  readonly length: number;
  /** The next values. @throws Error where the page does not hold them */
  take(count: number): StoredValues;
}

/** How the values of a column are read. */
export interface ValueLayout {
  readonly element: SchemaElement;
  /** Whether its bytes are text. */
  readonly text: boolean;
}

/** An encoding that is not read. */
export class UnknownEncoding extends Error {
  /** @param encoding - its number in the file */
  constructor(encoding: number) {
    super(`the encoding ${encodingNames[encoding] ?? `number ${String(encoding)}`} is not read`);
  }
}

/**
 * The values of a page.
 *
 * @param encoding - its number in the file
 * @param bytes - the unpacked page from its values on
 * @param count - how many values there are, nulls not counted
 * @throws Error where the bytes do not hold them; UnknownEncoding
 */
export function readValues(encoding: number, bytes: Buffer, count: number, layout: ValueLayout, dictionary: StoredValues | undefined): ValueRun {
  const { physical } = layout.element;
  switch (encodingNames[encoding]) {
    case "PLAIN":
      if (physical !== "BYTE_ARRAY") return inMemory(readPlain(bytes, count, layout));
      requireBits(bytes, count, 32);
      return new PlainBytes(bytes, count, layout.text);
    case "PLAIN_DICTIONARY":
    case "RLE_DICTIONARY":
      if (dictionary === undefined) throw new Error("a page's values stand in a dictionary that is not there");
      return fromDictionary(bytes, count, dictionary);
    case "RLE":
      if (physical === "BOOLEAN") return inMemory(readBooleanRuns(bytes, count));
      break;
    case "DELTA_BINARY_PACKED":
      if (physical !== "INT32" && physical !== "INT64") break;
      requireBits(bytes, count, 0);
      return inMemory(readInto(bytes, physical === "INT32" ? new Int32Array(count) : new BigInt64Array(count)));
    case "DELTA_LENGTH_BYTE_ARRAY":
      return inMemory(textOr(readLengthStrings(bytes, 0, count), layout));
    case "DELTA_BYTE_ARRAY":
      return inMemory(textOr(readFrontStrings(bytes, 0, count), layout));
    case "BYTE_STREAM_SPLIT":
      return inMemory(readStreams(bytes, count, layout));
    default:
      break;
  }
  throw new UnknownEncoding(encoding);
}

function inMemory(values: StoredValues): ValueRun {
  return run(values.length, (start, end) => (start === 0 && end === values.length ? values : Array.isArray(values) ? (values.slice(start, end) as StoredValues) : values.subarray(start, end)));
}

function run(length: number, between: (start: number, end: number) => StoredValues): ValueRun {
  let at = 0;
  return {
    length,
    take: (count) => {
      at += count;
      return between(at - count, at);
    },
  };
}

/** Values one after the other. */
export function readPlain(bytes: Buffer, count: number, layout: ValueLayout): StoredValues {
  const { physical, length = 0 } = layout.element;
  switch (physical) {
    case "BOOLEAN":
      requireBits(bytes, count, 1);
      return Array.from({ length: count }, (_, index) => (((bytes[index >> 3] ?? 0) >> (index & 7)) & 1) === 1);
    case "INT32":
      return copied(bytes, Int32Array, count);
    case "INT64":
      return copied(bytes, BigInt64Array, count);
    case "FLOAT":
      return copied(bytes, Float32Array, count);
    case "DOUBLE":
      return copied(bytes, Float64Array, count);
    case "INT96":
      requireBits(bytes, count, 96);
      return Array.from({ length: count }, (_, index) => nanoseconds(bytes, 12 * index));
    case "FIXED_LEN_BYTE_ARRAY":
      requireBits(bytes, count, 8 * length);
      return Array.from({ length: count }, (_, index) => bytes.subarray(index * length, (index + 1) * length));
    default:
      requireBits(bytes, count, 32);
      return new PlainBytes(bytes, count, layout.text).take(count);
  }
}

function copied<T extends Int32Array | BigInt64Array | Float32Array | Float64Array>(bytes: Buffer, Form: { new (length: number): T; readonly BYTES_PER_ELEMENT: number }, count: number): T {
  requireBits(bytes, count, 8 * Form.BYTES_PER_ELEMENT);
  const values = new Form(count);
  // A copy: the page's values may begin at any byte.
  new Uint8Array(values.buffer).set(bytes.subarray(0, count * Form.BYTES_PER_ELEMENT));
  return values;
}

/** A page cannot hold more values than its bytes have room for: checked before anything is made for them. */
function requireBits(bytes: Uint8Array, count: number, bits: number): void {
  if (count * bits > 8 * bytes.length) throw new Error(`${String(count)} values stand where ${String(bytes.length)} bytes are left`);
}

/** The old form of timestamps: nanoseconds of a day, and the Julian day. */
function nanoseconds(bytes: Buffer, at: number): bigint {
  return BigInt(bytes.readInt32LE(at + 8) - 2_440_588) * 86_400_000_000_000n + bytes.readBigInt64LE(at);
}

/** Byte strings, each behind its length. */
class PlainBytes implements ValueRun {
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #text: boolean;
  #at = 0;

  constructor(bytes: Buffer, length: number, text: boolean) {
    this.#bytes = bytes;
    this.length = length;
    this.#text = text;
  }

  take(count: number): string[] | Uint8Array[] {
    const bytes = this.#bytes;
    const texts = new Array<string>(this.#text ? count : 0);
    const pieces = new Array<Uint8Array>(this.#text ? 0 : count);
    let at = this.#at;
    for (let index = 0; index < count; index += 1) {
      const length = lengthAt(bytes, at);
      if (this.#text) texts[index] = textBetween(bytes, at + 4, at + 4 + length);
      else pieces[index] = bytes.subarray(at + 4, at + 4 + length);
      at += 4 + length;
    }
    this.#at = at;
    return this.#text ? texts : pieces;
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = at + 4 > bytes.length ? -1 : (bytes[at] as number) + (bytes[at + 1] as number) * 0x100 + (bytes[at + 2] as number) * 0x1_0000 + (bytes[at + 3] as number) * 0x100_0000;
  if (length < 0 || length > bytes.length - at - 4) throw new Error(`a value of ${String(length)} bytes stands where ${String(Math.max(0, bytes.length - at - 4))} are left`);
  return length;
}

/** Strict: what is no UTF-8 is an error. */
function textBetween(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  // The decoder puts this character where bytes are wrong; it may also stand in the text itself.
  if (text.includes("\uFFFD")) requireUtf8(bytes.subarray(start, end));
  return text;
}

function requireUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new Error(`a text value is not UTF-8: its byte ${String(firstInvalidUtf8(bytes))} is wrong`);
}

function textOr(values: Uint8Array[], { text }: ValueLayout): string[] | Uint8Array[] {
  return text ? values.map((value) => textBetween(asBuffer(value), 0, value.length)) : values;
}

function readInto(bytes: Uint8Array, values: Int32Array | BigInt64Array): Int32Array | BigInt64Array {
  readDeltas(bytes, 0, values);
  return values;
}

function readBooleanRuns(bytes: Buffer, count: number): boolean[] {
  const places = levelArray(1, count);
  if (count > 0) readRuns(bytes, 4, Math.min(bytes.length, 4 + (bytes.length < 4 ? 0 : bytes.readUInt32LE(0))), 1, places);
  return Array.from(places, (bit) => bit === 1);
}

function fromDictionary(bytes: Buffer, count: number, dictionary: StoredValues): ValueRun {
  const width = count === 0 ? 0 : (bytes[0] ?? 0);
  if (width > 32) throw new Error(`the places of values in the dictionary have ${String(width)} bits`);
  const places = levelArray(width, count);
  if (width > 0 || dictionary.length === 0) readRuns(bytes, 1, bytes.length, width, places);
  const { length } = dictionary;
  return run(count, (start, end) => {
    const values = Array.isArray(dictionary) ? new Array<unknown>(end - start) : new (dictionary.constructor as new (length: number) => Record<number, unknown>)(end - start);
    for (let index = start; index < end; index += 1) {
      const place = places[index] as number;
      if (place >= length) throw new Error(`a value stands at place ${String(place)} of a dictionary of ${String(length)}`);
      values[index - start] = dictionary[place];
    }
    return values as StoredValues;
  });
}

/** The first bytes of all values, then the second bytes, and so on. */
function readStreams(bytes: Buffer, count: number, layout: ValueLayout): StoredValues {
  const { physical, length = 0 } = layout.element;
  const width = physical === "INT32" || physical === "FLOAT" ? 4 : physical === "INT64" || physical === "DOUBLE" ? 8 : length;
  requireBits(bytes, count, 8 * width);
  const joined = Buffer.allocUnsafe(count * width);
  for (let part = 0; part < width; part += 1) {
    for (let index = 0; index < count; index += 1) joined[index * width + part] = bytes[part * count + index] ?? 0;
  }
  return readPlain(joined, count, layout);
}
