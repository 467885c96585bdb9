import { MarinError } from "@marin/iris";
import type { ByteWriter } from "./byte-writer.js";

/** What follows; the numbers are part of the format. */
export const tags = {
  null: 0x00,
  undefined: 0x01,
  false: 0x02,
  true: 0x03,
  /** A whole number of at most 31 bits and a sign, zigzag. */
  integer: 0x04,
  double: 0x05,
  bigint: 0x06,
  /** Text of ASCII characters. */
  ascii: 0x07,
  utf8: 0x08,
  /** Text with a half of a surrogate pair, which UTF-8 cannot hold. */
  utf16: 0x09,
  typedArray: 0x0a,
  date: 0x0b,
  array: 0x0c,
  object: 0x0d,
  map: 0x0e,
  set: 0x0f,
  /** A bigint of at most 63 bits and a sign. */
  int64: 0x10,
} as const;
/** Above: text of fewer than 64 ASCII characters, the tag holding its length. */
export const SHORT_TEXT = 0x40;
/** Above: a number from 0 to 127. */
export const SMALL_INTEGER = 0x80;

type TypedArray = Uint8Array | Int8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array | BigInt64Array | BigUint64Array;
interface TypedArrayClass {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): TypedArray;
}
/** The place in this list is part of the format. */
export const typedArrays: readonly TypedArrayClass[] = [Uint8Array, Int8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];

/**
 * Appends a value, so that {@link RecordReader} gives exactly it back: JSON's types, undefined, -0, NaN, bigints, text with lone
 * surrogates, dates, typed arrays (a Buffer as a Uint8Array), maps, sets. Numbers of bytes of a typed array are the machine's, as everywhere.
 *
 * @throws MarinError ZEPHYR_BAD_VALUE for functions, symbols, instances of other classes and cycles, naming the place in the value
 */
export function writeValue(writer: ByteWriter, value: unknown): void {
  try {
    write(writer, value);
  } catch (error) {
    if (error instanceof Unwritable) throw badValue(error.path.join(""), error.message);
    // A cycle ends here, when the stack does; other errors of this class have a code.
    if (error instanceof RangeError && !("code" in error)) throw badValue("", "nested too deeply, or holds itself", error);
    throw error;
  }
}

function write(writer: ByteWriter, value: unknown): void {
  switch (typeof value) {
    case "string":
      return writeText(writer, value);
    case "number":
      return writeNumber(writer, value);
    case "boolean":
      return writer.byte(value ? tags.true : tags.false);
    case "object":
      return value === null ? writer.byte(tags.null) : writeObject(writer, value);
    case "undefined":
      return writer.byte(tags.undefined);
    case "bigint":
      return writeBigint(writer, value);
    default:
      throw new Unwritable(`a ${typeof value}`);
  }
}

/** Found where a value cannot be written; the places around it are added on the way up. */
class Unwritable extends Error {
  readonly path: string[] = [];
}

function writeObject(writer: ByteWriter, value: object): void {
  if (Array.isArray(value)) {
    writer.byte(tags.array);
    writer.varint(value.length);
    for (let index = 0; index < value.length; index++) writeInside(writer, value[index], index);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return writeFields(writer, value as Readonly<Record<string, unknown>>);
  if (value instanceof Date) {
    writer.byte(tags.date);
    return writeDouble(writer, value.getTime());
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return writeTypedArray(writer, value as TypedArray);
  if (value instanceof Map) {
    writer.byte(tags.map);
    writer.varint(value.size);
    for (const [key, item] of value as ReadonlyMap<unknown, unknown>) {
      writeInside(writer, key, "key");
      writeInside(writer, item, String(key));
    }
    return;
  }
  if (value instanceof Set) {
    writer.byte(tags.set);
    writer.varint(value.size);
    for (const item of value as ReadonlySet<unknown>) writeInside(writer, item, "item");
    return;
  }
  // Plain objects of another realm.
  if (Object.getPrototypeOf(prototype) === null) return writeFields(writer, value as Readonly<Record<string, unknown>>);
  throw new Unwritable(`an instance of ${value.constructor.name}`);
}

function writeFields(writer: ByteWriter, value: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(value);
  writer.byte(tags.object);
  writer.varint(names.length);
  for (const name of names) {
    writeText(writer, name);
    writeInside(writer, value[name], name);
  }
}

function writeInside(writer: ByteWriter, value: unknown, place: string | number): void {
  try {
    write(writer, value);
  } catch (error) {
    if (error instanceof Unwritable) error.path.unshift(typeof place === "number" ? `[${String(place)}]` : `.${place}`);
    throw error;
  }
}

function writeNumber(writer: ByteWriter, value: number): void {
  if ((value | 0) !== value || Object.is(value, -0)) {
    writer.byte(tags.double);
    return writeDouble(writer, value);
  }
  if (value >= 0 && value < 128) return writer.byte(SMALL_INTEGER | value);
  writer.byte(tags.integer);
  writer.varint(((value << 1) ^ (value >> 31)) >>> 0);
}

function writeDouble(writer: ByteWriter, value: number): void {
  writer.room(8);
  writer.bytes.writeDoubleLE(value, writer.length);
  writer.length += 8;
}

function writeBigint(writer: ByteWriter, value: bigint): void {
  if (BigInt.asIntN(64, value) === value) {
    writer.byte(tags.int64);
    writer.room(8);
    writer.length = writer.bytes.writeBigInt64LE(value, writer.length);
    return;
  }
  const digits = (value < 0n ? -value : value).toString(16);
  const magnitude = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  writer.byte(tags.bigint);
  writer.varint(magnitude.length * 2 + (value < 0n ? 1 : 0));
  writer.copy(magnitude, 0, magnitude.length);
}

function writeText(writer: ByteWriter, text: string): void {
  const { length } = text;
  if (length < 64) {
    writer.room(length + 1);
    const { bytes } = writer;
    const start = writer.length + 1;
    let at = 0;
    for (; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 0x80) break;
      bytes[start + at] = code;
    }
    if (at === length) {
      bytes[start - 1] = SHORT_TEXT | length;
      writer.length = start + length;
      return;
    }
  }
  const size = Buffer.byteLength(text);
  const wellFormed = size === length || (text as string & { isWellFormed(): boolean }).isWellFormed();
  writer.byte(size === length ? tags.ascii : wellFormed ? tags.utf8 : tags.utf16);
  writer.varint(wellFormed ? size : length * 2);
  writer.room(wellFormed ? size : length * 2);
  writer.length += writer.bytes.write(text, writer.length, size === length ? "latin1" : wellFormed ? "utf8" : "utf16le");
}

function writeTypedArray(writer: ByteWriter, value: TypedArray): void {
  const kind = typedArrays.findIndex((each) => value instanceof each);
  if (kind === -1) throw new Unwritable(`a ${value.constructor.name}`);
  const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  writer.byte(tags.typedArray);
  writer.byte(kind);
  writer.varint(bytes.length);
  writer.copy(bytes, 0, bytes.length);
}

function badValue(path: string, found: string, cause?: unknown): MarinError {
  return new MarinError(
    "ZEPHYR_BAD_VALUE",
    `A record${path === "" ? "" : `'s ${path.replace(/^\./, "")}`} is ${found}: between stages travel JSON's types, undefined, bigints, dates, typed arrays, maps, sets, and plain objects and arrays of these.`,
    { data: { path, found }, ...(cause === undefined ? {} : { cause }) },
  );
}
