import { isMarinError, MarinError } from "@marin/iris";
import type { ByteWriter } from "./byte-writer.js";
import type { ShuffleKey } from "./types.js";

// Canonical bytes sort as their keys do (the way of FoundationDB's tuples): comparing keys is comparing bytes, in any process.
const END = 0x00;
const NULL = 0x01;
const FALSE = 0x02;
const TRUE = 0x03;
const NUMBER = 0x10;
const DATE = 0x18;
const TEXT = 0x20;
const BYTES = 0x28;
const ARRAY = 0x30;
const OBJECT = 0x38;
/** Behind a zero that is part of text or bytes; no tag is as high. */
const ESCAPED = 0xff;

const double = new DataView(new ArrayBuffer(8));
const bigLimit = 2n ** 1023n;

/**
 * Appends a key's canonical bytes.
 *
 * @returns whether {@link readKey} gives the key back; false where it gives numbers for bigints of the same value
 * @throws MarinError ZEPHYR_BAD_KEY for what is no key, naming where in the key it is
 */
export function writeKey(writer: ByteWriter, key: unknown, path = ""): boolean {
  switch (typeof key) {
    case "string":
      writeText(writer, key);
      return true;
    case "number":
      writeNumber(writer, key);
      writer.byte(0);
      return true;
    case "bigint":
      return writeBigint(writer, key, path);
    case "boolean":
      writer.byte(key ? TRUE : FALSE);
      return true;
    case "object":
      return key === null ? (writer.byte(NULL), true) : writeObject(writer, key, path);
    default:
      throw badKey(key, path);
  }
}

function writeObject(writer: ByteWriter, key: object, path: string): boolean {
  let exact = true;
  if (Array.isArray(key)) {
    writer.byte(ARRAY);
    for (let index = 0; index < key.length; index++) exact = writeKey(writer, key[index], `${path}[${String(index)}]`) && exact;
    writer.byte(END);
  } else if (key instanceof Date) {
    if (Number.isNaN(key.getTime())) throw badKey(key, path);
    writeDouble(writer, DATE, key.getTime());
  } else if (key instanceof Uint8Array) {
    writer.byte(BYTES);
    writer.room(2 * key.length + 1);
    for (const byte of key) escape(writer, byte);
    writer.byte(END);
  } else {
    const prototype: unknown = Object.getPrototypeOf(key);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw badKey(key, path);
    writer.byte(OBJECT);
    for (const field of Object.keys(key).sort()) {
      writeText(writer, field);
      exact = writeKey(writer, (key as Readonly<Record<string, unknown>>)[field], path === "" ? field : `${path}.${field}`) && exact;
    }
    writer.byte(END);
  }
  return exact;
}

/** A number by its sign and magnitude so that bytes sort as numbers do; a byte for what a bigint has beyond it follows. */
function writeNumber(writer: ByteWriter, value: number): void {
  // 0 and -0 are one key.
  writeDouble(writer, NUMBER, value === 0 ? 0 : value);
}

function writeDouble(writer: ByteWriter, tag: number, value: number): void {
  writer.room(9);
  double.setFloat64(0, Number.isNaN(value) ? NaN : value);
  const high = double.getInt32(0);
  const flip = high < 0 ? 0xff : 0;
  const { bytes } = writer;
  bytes[writer.length++] = tag;
  bytes[writer.length++] = double.getUint8(0) ^ (flip === 0 ? 0x80 : 0xff);
  for (let at = 1; at < 8; at++) bytes[writer.length++] = double.getUint8(at) ^ flip;
}

function readDouble(bytes: Uint8Array, at: number): number {
  const flip = (bytes[at] as number) >= 0x80 ? 0 : 0xff;
  double.setUint8(0, (bytes[at] as number) ^ (flip === 0 ? 0x80 : 0xff));
  for (let index = 1; index < 8; index++) double.setUint8(index, (bytes[at + index] as number) ^ flip);
  return double.getFloat64(0);
}

/** The largest double that is not above the value, and what is missing, most significant byte first. */
function writeBigint(writer: ByteWriter, value: bigint, path: string): boolean {
  if (value >= bigLimit || value <= -bigLimit) throw badKey(value, path);
  let below = Number(value);
  if (BigInt(below) > value) {
    double.setFloat64(0, below);
    double.setBigInt64(0, double.getBigInt64(0) + (below > 0 ? -1n : 1n));
    below = double.getFloat64(0);
  }
  writeNumber(writer, below);
  const missing = value - BigInt(below);
  if (missing === 0n) {
    writer.byte(0);
    return false;
  }
  const digits = missing.toString(16);
  const rest = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  writer.byte(rest.length);
  writer.copy(rest, 0, rest.length);
  return true;
}

function escape(writer: ByteWriter, byte: number): void {
  writer.bytes[writer.length++] = byte;
  if (byte === 0) writer.bytes[writer.length++] = ESCAPED;
}

/** UTF-8, in which half of a surrogate pair without the other is written as the three bytes it would be: unlike text stays unlike. */
function writeText(writer: ByteWriter, text: string): void {
  writer.room(text.length * 3 + 2);
  writer.bytes[writer.length++] = TEXT;
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at);
    if (code < 0x80) {
      if (code === 0) writer.room((text.length - at) * 3 + 2);
      escape(writer, code);
      continue;
    }
    if (code >= 0xd800 && code < 0xdc00 && at + 1 < text.length) {
      const low = text.charCodeAt(at + 1);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 1;
      }
    }
    writeCodePoint(writer, code);
  }
  writer.bytes[writer.length++] = END;
}

function writeCodePoint(writer: ByteWriter, code: number): void {
  const { bytes } = writer;
  if (code < 0x800) bytes[writer.length++] = 0xc0 | (code >> 6);
  else {
    if (code < 0x10000) bytes[writer.length++] = 0xe0 | (code >> 12);
    else {
      bytes[writer.length++] = 0xf0 | (code >> 18);
      bytes[writer.length++] = 0x80 | ((code >> 12) & 0x3f);
    }
    bytes[writer.length++] = 0x80 | ((code >> 6) & 0x3f);
  }
  bytes[writer.length++] = 0x80 | (code & 0x3f);
}

/** The key that canonical bytes stand for; whole numbers in it may have been bigints, see {@link writeKey}. */
export function readKey(bytes: Buffer): ShuffleKey {
  return readFrom({ bytes, at: 0 });
}

interface Place {
  readonly bytes: Buffer;
  at: number;
}

function readFrom(place: Place): ShuffleKey {
  const { bytes } = place;
  const tag = bytes[place.at++];
  switch (tag) {
    case NULL:
      return null;
    case FALSE:
      return false;
    case TRUE:
      return true;
    case NUMBER: {
      const below = readDouble(bytes, place.at);
      const length = bytes[place.at + 8] as number;
      place.at += 9 + length;
      return length === 0 ? below : BigInt(below) + BigInt(`0x${bytes.toString("hex", place.at - length, place.at)}`);
    }
    case DATE:
      place.at += 8;
      return new Date(readDouble(bytes, place.at - 8));
    case TEXT:
      return textOf(readEscaped(place));
    case BYTES:
      return Uint8Array.from(readEscaped(place));
    case ARRAY: {
      const items: ShuffleKey[] = [];
      while (bytes[place.at] !== END) items.push(readFrom(place));
      place.at += 1;
      return items;
    }
    case OBJECT: {
      const fields: [string, ShuffleKey][] = [];
      while (bytes[place.at] !== END) {
        const field = readFrom(place) as string;
        fields.push([field, readFrom(place)]);
      }
      place.at += 1;
      return Object.fromEntries(fields);
    }
    default:
      throw new RangeError(`no canonical key: tag ${String(tag)} at byte ${String(place.at - 1)}`);
  }
}

function readEscaped(place: Place): Buffer {
  const { bytes } = place;
  const start = place.at;
  let end = bytes.indexOf(END, start);
  if (bytes[end + 1] !== ESCAPED) {
    place.at = end + 1;
    return bytes.subarray(start, end);
  }
  const parts: Buffer[] = [];
  let from = start;
  for (; bytes[end + 1] === ESCAPED; end = bytes.indexOf(END, end + 2)) {
    parts.push(bytes.subarray(from, end + 1));
    from = end + 2;
  }
  parts.push(bytes.subarray(from, end));
  place.at = end + 1;
  return Buffer.concat(parts);
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\ufffd")) return text;
  // A lone half of a surrogate pair, or the replacement character itself.
  const units: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const lone = first === 0xed && (bytes[at + 1] as number) >= 0xa0;
    units.push(lone ? String.fromCharCode(0xd000 | (((bytes[at + 1] as number) & 0x3f) << 6) | ((bytes[at + 2] as number) & 0x3f)) : bytes.toString("utf8", at, at + length));
    at += length;
  }
  return units.join("");
}

function badKey(value: unknown, path: string): MarinError {
  const found = typeof value === "bigint" ? "a bigint of more than 1023 bits" : value instanceof Date ? "no time" : typeof value === "object" && value !== null ? `an instance of ${value.constructor.name}` : typeof value;
  return new MarinError("ZEPHYR_BAD_KEY", keyMessage("key", { path, found }), { data: { path, found } });
}

/** Which function has given what is no key. */
export type KeyRole = "key" | "sortBy";

function keyMessage(role: KeyRole, { path, found }: MarinError["data"]): string {
  const what = role === "key" ? `The key${path === "" ? "" : `'s ${String(path)}`}` : `What sortBy gives${path === "" ? "" : `, at ${String(path)},`}`;
  const advice = found !== "undefined" ? "" : role === "key" ? " Give null for items without a key: they are a group of their own." : " Give null for items without it: they come first.";
  return `${what} is ${String(found)}: keys are null, booleans, numbers, bigints, text, dates, Uint8Array, and arrays and plain objects of these.${advice}`;
}

/** An error of {@link writeKey} as one that says whose key it is; any other error as it is. */
export function keyErrorAt(error: unknown, place: string, role: KeyRole, data: MarinError["data"] = {}): unknown {
  if (!isMarinError(error, "ZEPHYR_BAD_KEY")) return error;
  return new MarinError(error.code, `${place}: ${keyMessage(role, error.data)}`, { data: { ...error.data, ...data }, cause: error });
}
