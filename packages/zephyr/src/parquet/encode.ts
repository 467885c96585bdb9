import type { ParquetSchema, ParquetType } from "./types.js";

/** Makes what the Parquet library stores out of a value; throws an Error that says what is wrong with it. */
type Encoder = (value: unknown, size: Size) => unknown;

/** Bytes that the rows gathered so far take, roughly. */
export interface Size {
  /** Counts up. */
  bytes: number;
}

/** A value that its column cannot hold. */
export class Misfit extends Error {
  /** The column, and where inside it. */
  readonly column: string;

  /** @param column - the column, and where inside it */
  constructor(column: string, message: string) {
    super(message);
    this.column = column;
  }
}

/** One encoder a column. */
export function columnEncoders(schema: ParquetSchema): ReadonlyMap<string, Encoder> {
  return new Map(Object.entries(schema).map(([name, type]) => [name, encoderOf(type, name)]));
}

function encoderOf(type: ParquetType, at: string): Encoder {
  if (typeof type === "string") return scalarEncoder(type, at);
  if ("nullable" in type) {
    const encode = encoderOf(type.nullable, at);
    return (value, size) => (value === null || value === undefined ? null : encode(value, size));
  }
  if ("decimal" in type) return decimalEncoder(type.decimal, at);
  if ("fixedBytes" in type) return fixedEncoder(type.fixedBytes, at);
  if ("list" in type) {
    const encode = encoderOf(type.list, `${at}[]`);
    return (value, size) => {
      if (!Array.isArray(value) && !isNumericArray(value)) throw misfit(at, "an array", value);
      size.bytes += 4;
      return Array.from(value as ArrayLike<unknown>, (item) => encode(item, size));
    };
  }
  if ("map" in type) {
    const encodeKey = encoderOf(type.map.key, `${at}.key`);
    const encodeValue = encoderOf(type.map.value, `${at}.value`);
    return (value, size) => {
      const entries: Iterable<readonly [unknown, unknown]> | undefined = value instanceof Map ? value : isPlainObject(value) ? Object.entries(value) : undefined;
      if (entries === undefined) throw misfit(at, "a Map or an object", value);
      size.bytes += 4;
      return Array.from(entries, ([key, item]) => ({ key: encodeKey(key, size), value: encodeValue(item, size) }));
    };
  }
  return structEncoder(type.struct, at);
}

function structEncoder(fields: ParquetSchema, at: string): Encoder {
  const encoders = Object.entries(fields).map(([name, type]) => [name, encoderOf(type, `${at}.${name}`)] as const);
  return (value, size) => {
    if (!isPlainObject(value)) throw misfit(at, "an object", value);
    refuseUnknown(value, fields, at);
    return Object.fromEntries(encoders.map(([name, encode]) => [name, encode(value[name], size)]));
  };
}

/** @throws Misfit for a field that would be dropped silently */
export function refuseUnknown(record: Readonly<Record<string, unknown>>, fields: ParquetSchema, at: string): void {
  for (const name of Object.keys(record)) {
    if (!Object.hasOwn(fields, name)) throw new Misfit(at === "" ? name : `${at}.${name}`, "the schema has no such column");
  }
}

const integerRanges: Readonly<Record<string, readonly [number, number]>> = {
  int8: [-(2 ** 7), 2 ** 7 - 1],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint8: [0, 2 ** 8 - 1],
  uint16: [0, 2 ** 16 - 1],
  uint32: [0, 2 ** 32 - 1],
  "time-millis": [0, 86_399_999],
};

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

function scalarEncoder(type: Extract<ParquetType, string>, at: string): Encoder {
  const range = integerRanges[type];
  if (range !== undefined) {
    return (value, size) => {
      if (typeof value !== "number" || !Number.isInteger(value) || value < range[0] || value > range[1]) {
        throw misfit(at, `a whole number from ${String(range[0])} to ${String(range[1])}`, value);
      }
      size.bytes += 4;
      return value;
    };
  }
  switch (type) {
    case "boolean":
      return (value, size) => {
        if (typeof value !== "boolean") throw misfit(at, "true or false", value);
        size.bytes += 1;
        return value;
      };
    case "float16":
    case "float32":
    case "float64":
      return (value, size) => {
        if (typeof value !== "number") throw misfit(at, "a number", value);
        size.bytes += 8;
        return value;
      };
    case "string":
    case "enum":
      return (value, size) => text(value, at, size);
    case "json":
      return (value, size) => jsonText(value, at, size);
    case "bytes":
      return (value, size) => {
        if (!(value instanceof Uint8Array)) throw misfit(at, "bytes (a Uint8Array)", value);
        size.bytes += value.length + 4;
        return value;
      };
    case "uuid":
      return (value, size) => {
        if (typeof value !== "string" || !uuidPattern.test(value)) throw misfit(at, "a UUID as text", value);
        size.bytes += 16;
        return value;
      };
    case "date":
      return (value, size) => {
        if (!(value instanceof Date) || !(value.getTime() % 86_400_000 === 0)) throw misfit(at, "a Date at midnight UTC", value);
        size.bytes += 4;
        return value.getTime() / 86_400_000;
      };
    case "uint64":
      return (value, size) => wholeNumber(value, at, 0n, 2n ** 64n - 1n, size);
    case "timestamp-millis":
    case "timestamp-micros":
    case "timestamp-nanos": {
      const perMillisecond = { "timestamp-millis": 1n, "timestamp-micros": 1000n, "timestamp-nanos": 1_000_000n }[type];
      return (value, size) => {
        if (value instanceof Date && Number.isNaN(value.getTime())) throw misfit(at, "a valid Date", value);
        return wholeNumber(value instanceof Date ? BigInt(value.getTime()) * perMillisecond : value, at, -(2n ** 63n), 2n ** 63n - 1n, size);
      };
    }
    default:
      return (value, size) => wholeNumber(value, at, -(2n ** 63n), 2n ** 63n - 1n, size);
  }
}

function wholeNumber(value: unknown, at: string, least: bigint, most: bigint, size: Size): bigint {
  const number = typeof value === "bigint" ? value : Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
  if (number === undefined || number < least || number > most) {
    throw misfit(at, `a bigint from ${String(least)} to ${String(most)}, or a whole number that JavaScript holds exactly`, value);
  }
  size.bytes += 8;
  return number;
}

/** A lone surrogate has no UTF-8 form, and would be replaced silently. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Node has this from version 20 on; the type library does not. */
function isWellFormed(value: string): boolean {
  const own = (value as { isWellFormed?: () => boolean }).isWellFormed;
  return own === undefined ? !loneSurrogate.test(value) : own.call(value);
}

function text(value: unknown, at: string, size: Size): string {
  if (typeof value !== "string") throw misfit(at, "text", value);
  if (!isWellFormed(value)) throw new Misfit(at, "the text holds half a surrogate pair, which UTF-8 cannot express; use text.toWellFormed()");
  size.bytes += value.length + 4;
  return value;
}

function jsonText(value: unknown, at: string, size: Size): string {
  const json = text(value, at, size);
  try {
    JSON.parse(json);
  } catch (error) {
    throw new Misfit(at, `the text is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return json;
}

function fixedEncoder(length: number, at: string): Encoder {
  return (value, size) => {
    if (!(value instanceof Uint8Array) || value.length !== length) throw misfit(at, `${String(length)} bytes (a Uint8Array)`, value);
    size.bytes += length;
    return value;
  };
}

function decimalEncoder({ precision, scale }: { precision: number; scale: number }, at: string): Encoder {
  const limit = 10n ** BigInt(precision);
  const expected = `a decimal of at most ${String(precision)} digits, ${String(scale)} of them after the point, as text`;
  return (value, size) => {
    const given = typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : value;
    const [, sign, whole = "", fraction = ""] = (typeof given === "string" && /^(-?)(\d+)(?:\.(\d+))?$/.exec(given)) || [];
    if (sign === undefined || /[^0]/.test(fraction.slice(scale))) throw misfit(at, expected, value);
    const digits = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"));
    if (digits >= limit) throw misfit(at, expected, value);
    size.bytes += 16;
    return sign === "-" ? -digits : digits;
  };
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value) && !(value instanceof Date) && !(value instanceof Map);
}

function isNumericArray(value: unknown): boolean {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function misfit(at: string, expected: string, value: unknown): Misfit {
  const text = typeof value === "string" ? JSON.stringify(value) : value === null || typeof value !== "object" ? String(value) : `a value of type ${value.constructor?.name ?? "object"}`;
  const found = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  return new Misfit(at, `expected ${expected}, found ${found}${typeof value === "bigint" ? "n" : ""}`);
}
