import { decimalText } from "../parquet/decode.js";
import { columnEncoders, Misfit, refuseUnknown } from "../parquet/encode.js";
import { checkTypes } from "./check-types.js";
import type { ParquetRecord, ParquetScalar, ParquetSchema, ParquetType, ParquetValue } from "../parquet/types.js";

type Convert = (value: unknown) => unknown;

/** What values are before they get their types: those of JSON; or all text, as in CSV. */
export type ParsedFrom = "json" | "text";

/**
 * Gives records the types of a schema. From JSON: whole numbers become bigints where the column is int64, bigints numbers where it is float64, text of ISO 8601 becomes a Date, an
 * object a Map, a decimal its text with all digits of its scale; everything else must fit as it is. From text: numbers, "true" and "false" too, and no text at all is null where the column is
 * nullable and no string. What a nullable column lacks becomes null.
 *
 * @param schema - the columns, all that the records have
 * @param from - what the values are
 * @returns the function; it throws {@link Misfit} naming the column and saying what was expected and what was found
 * @throws MarinError ZEPHYR_BAD_SCHEMA for what is no type
 */
export function recordParser(schema: ParquetSchema, from: ParsedFrom = "json"): (value: unknown) => ParquetRecord {
  checkTypes(schema);
  const converters = Object.entries(schema).map(([name, type]) => [name, from === "text" ? textConverter(type) : converterOf(type)] as const);
  const encoders = columnEncoders(schema);
  const size = { bytes: 0 };
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Misfit("", `an object with fields is needed, and it is ${value === null ? "null" : Array.isArray(value) ? "a list" : typeof value}`);
    const given = value as Readonly<Record<string, unknown>>;
    refuseUnknown(given, schema, "");
    const record: Record<string, ParquetValue> = {};
    for (const [name, convert] of converters) {
      const converted = Object.hasOwn(given, name) ? convert(given[name]) : undefined;
      encoders.get(name)?.(converted, size);
      record[name] = (converted ?? null) as ParquetValue;
    }
    return record;
  };
}

const bigints: ReadonlySet<ParquetScalar> = new Set(["int64", "uint64", "time-micros", "time-nanos", "timestamp-micros", "timestamp-nanos"]);

/** A day, or a time with its zone: without one it would mean another time elsewhere. */
const isoDay = /^\d{4}-\d\d-\d\d$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Whether text that begins with a day names one that exists: JavaScript takes February 30 for March 1. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10);
  const date = new Date(day);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function converterOf(type: ParquetType): Convert {
  if (typeof type === "string") return scalarConverter(type);
  if ("nullable" in type) {
    const convert = converterOf(type.nullable);
    return (value) => (value === null ? null : convert(value));
  }
  if ("list" in type) {
    const convert = converterOf(type.list);
    return (value) => (Array.isArray(value) ? value.map(convert) : value);
  }
  if ("map" in type) {
    const convert = converterOf(type.map.value);
    return (value) => {
      const entries = value instanceof Map ? [...(value as ReadonlyMap<unknown, unknown>)] : isFields(value) ? Object.entries(value) : undefined;
      return entries === undefined ? value : new Map(entries.map(([key, item]) => [key, convert(item)]));
    };
  }
  if ("struct" in type) {
    const fields = new Map(Object.entries(type.struct).map(([name, inner]) => [name, converterOf(inner)]));
    return (value) => {
      if (!isFields(value)) return value;
      const present = Object.entries(value).map(([name, field]) => [name, fields.get(name)?.(field) ?? field] as const);
      const absent = [...fields.keys()].filter((name) => !Object.hasOwn(value, name)).map((name) => [name, null] as const);
      return Object.fromEntries([...present, ...absent]);
    };
  }
  if ("decimal" in type) return (value) => asDecimal(value, type.decimal.scale);
  return (value) => value;
}

/** A decimal as Parquet's readers give it, so that one value is one text. What is none, or has more digits than its scale, stays and is refused. */
function asDecimal(value: unknown, scale: number): unknown {
  const given = typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : value;
  const [, whole, fraction = ""] = (typeof given === "string" && /^(-?\d+)(?:\.(\d+))?$/.exec(given)) || [];
  if (whole === undefined || /[^0]/.test(fraction.slice(scale))) return value;
  // Put together as text: a whole part of "-0" alone would lose its sign.
  return decimalText(BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0")), scale);
}

function scalarConverter(type: ParquetScalar): Convert {
  if (bigints.has(type)) return (value) => (Number.isSafeInteger(value) ? BigInt(value as number) : value);
  if (floats.has(type)) return (value) => (typeof value === "bigint" ? asFloat(value) : value);
  if (type === "date") return (value) => (typeof value === "string" && isoDay.test(value) && isDay(value) ? new Date(value) : value);
  if (type === "timestamp-millis") return (value) => (typeof value === "string" && (isoDay.test(value) || isoTime.test(value)) && isDay(value) ? new Date(value) : value);
  return (value) => value;
}

const integers: ReadonlySet<ParquetScalar> = new Set(["int8", "int16", "int32", "uint8", "uint16", "uint32", "time-millis"]);
const floats: ReadonlySet<ParquetScalar> = new Set(["float16", "float32", "float64"]);

/** A whole number beyond 2^53 as the float64 that it is: exactly, or by the digits that JavaScript writes it with. Another one stays, and is refused. */
function asFloat(value: bigint): number | bigint {
  const number = Number(value);
  if (!Number.isFinite(number)) return value;
  return BigInt(number) === value || String(number) === String(value) ? number : value;
}

/** Text as a value; what it cannot be stays text, and is refused as such. */
function textConverter(type: ParquetType): Convert {
  if (typeof type !== "string") {
    if ("decimal" in type) return converterOf(type);
    if (!("nullable" in type)) return (value) => value;
    const convert = textConverter(type.nullable);
    return (value) => (value === "" && type.nullable !== "string" ? null : convert(value));
  }
  const convert = scalarConverter(type);
  const parse = (text: string): unknown => {
    if (bigints.has(type) && /^[+-]?\d+$/.test(text)) return BigInt(text.replace("+", ""));
    if (integers.has(type) && /^[+-]?\d+$/.test(text)) return Number(text);
    if (floats.has(type) && ((/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text))) || /^(NaN|[+-]?Infinity)$/.test(text))) return Number(text);
    if (type === "boolean" && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
    return convert(text);
  };
  return (value) => (typeof value === "string" ? parse(value) : value);
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value) && !(value instanceof Date) && !(value instanceof Map);
}
