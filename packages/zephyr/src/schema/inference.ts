import { MarinError } from "@marin/iris";
import type { ParquetScalar, ParquetSchema, ParquetType } from "../parquet/types.js";

/** Where a value was seen, for messages. */
export interface Sighting {
  /** The record, from 1 up. */
  readonly record: number;
  /** The value, shortened. */
  readonly shown: string;
  /** The file that it goes to or comes from, where it is another than the one that is worked on. */
  readonly file?: string;
}

/** The record that is looked at, and what has come of all so far. */
export interface Progress {
  /** What the records are called in messages: the file. */
  readonly file: string;
  /** The record, from 1 up. */
  record: number;
  /** Counts up whenever the schema may have become another. */
  changes: number;
  /** Roughly the bytes that the values seen take. */
  bytes: number;
}

/** What a value can be; null and missing values fit everything. */
export type ValueClass = "boolean" | "number" | "string" | "timestamp" | "bytes" | "list" | "map" | "struct";

/** What all whole numbers of a column lie between, and where the ends were seen. */
export interface Extremes {
  least: number | bigint;
  greatest: number | bigint;
  leastAt: Sighting;
  greatestAt: Sighting;
}

const typedArrays: readonly (readonly [prototype: unknown, scalar: ParquetScalar, ends: readonly [bigint, bigint] | undefined])[] = [
  [Int8Array, "int8", [-128n, 127n]],
  [Int16Array, "int16", [-32768n, 32767n]],
  [Int32Array, "int32", [-(2n ** 31n), 2n ** 31n - 1n]],
  [BigInt64Array, "int64", [-(2n ** 63n), 2n ** 63n - 1n]],
  [Uint16Array, "uint16", [0n, 65535n]],
  [Uint32Array, "uint32", [0n, 2n ** 32n - 1n]],
  [BigUint64Array, "uint64", [0n, 2n ** 64n - 1n]],
  [Float32Array, "float32", undefined],
  [Float64Array, "float64", undefined],
];

/**
 * What the values at one place of the records have in common: a column, a field, the items of a list. Looking at values only
 * ever adds to it, and what was added does not depend on the order: so the type that comes of it, or that there is none,
 * is the same for every order of the records.
 */
export class ColumnInference {
  /** The column, and where inside it. */
  readonly at: string;
  /** What its values are; undefined while all were null. */
  valueClass: ValueClass | undefined;
  /** The first value. */
  first: Sighting | undefined;
  /** The first number that is no whole one that JavaScript holds exactly. */
  fraction: Sighting | undefined;
  /** The ends of whole numbers. */
  extremes: Extremes | undefined;
  /** The kinds of typed arrays whose items these are. */
  readonly typed = new Map<ParquetScalar, Sighting>();
  /** A number that came from no typed array. */
  plain: Sighting | undefined;
  /** Of a list or a map: its items, or values. */
  items: ColumnInference | undefined;
  /** Of a map. */
  keys: ColumnInference | undefined;
  /** Of a struct. */
  readonly fields = new Map<string, ColumnInference>();

  /** @param at - the column, and where inside it */
  constructor(at: string) {
    this.at = at;
  }

  /**
   * Looks at a value.
   *
   * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming file, record, column and both types; ZEPHYR_BAD_RECORD for what no file holds
   */
  observe(value: unknown, progress: Progress): void {
    if (value === null || value === undefined) return;
    const valueClass = this.#classOf(value, progress);
    if (valueClass !== this.valueClass) this.enter(valueClass, ownType(valueClass, value), sightingOf(value, progress), progress);
    switch (valueClass) {
      case "string":
        progress.bytes += (value as string).length + 4;
        return;
      case "number":
        progress.bytes += 8;
        this.#observeNumber(value as number | bigint, progress);
        return;
      case "list":
        this.#observeList(value as readonly unknown[], progress);
        return;
      case "struct":
        this.observeFields(value as Readonly<Record<string, unknown>>, progress);
        return;
      case "map":
        for (const [key, item] of value as ReadonlyMap<unknown, unknown>) {
          (this.keys ??= new ColumnInference(`${this.at}.key`)).observe(key, progress);
          (this.items ??= new ColumnInference(`${this.at}.value`)).observe(item, progress);
        }
        return;
      case "bytes":
        progress.bytes += (value as Uint8Array).length + 4;
        return;
      case "boolean":
      case "timestamp":
        progress.bytes += 8;
    }
  }

  /** Looks at the fields of a struct, or of a record. */
  observeFields(record: Readonly<Record<string, unknown>>, progress: Progress): void {
    for (const name of Object.keys(record)) {
      const value = record[name];
      const known = this.fields.get(name);
      if (known !== undefined) known.observe(value, progress);
      else if (value !== undefined) this.field(name, progress).observe(value, progress);
    }
  }

  /** A field, made where it is new. */
  field(name: string, progress: Progress): ColumnInference {
    const known = this.fields.get(name);
    if (known !== undefined) return known;
    const made = new ColumnInference(this.at === "" ? name : `${this.at}.${name}`);
    this.fields.set(name, made);
    progress.changes += 1;
    return made;
  }

  /** The type: nullable, and text where no value was seen. */
  type(): ParquetType {
    const type = this.#required();
    return { nullable: type };
  }

  /** The types of the fields, in the order in which they were first seen. */
  schema(): ParquetSchema {
    return Object.fromEntries([...this.fields].map(([name, field]) => [name, field.type()]));
  }

  /** Notes what the values are; `type` is what messages call it. @throws MarinError ZEPHYR_SCHEMA_CONFLICT */
  enter(valueClass: ValueClass, type: string, sighting: Sighting, progress: Progress): void {
    if (this.valueClass === undefined) {
      this.valueClass = valueClass;
      this.first = sighting;
      progress.changes += 1;
    } else if (this.valueClass !== valueClass && this.first !== undefined) {
      throw conflict(this.at, progress, { type: this.typeName(), sighting: this.first }, { type, sighting });
    }
  }

  /** Notes ends of whole numbers. @throws MarinError ZEPHYR_SCHEMA_CONFLICT, ZEPHYR_BAD_RECORD */
  extend(least: number | bigint, greatest: number | bigint, leastAt: Sighting, greatestAt: Sighting, progress: Progress): void {
    const { extremes } = this;
    if (extremes === undefined) {
      this.extremes = { least, greatest, leastAt, greatestAt };
    } else {
      if (least < extremes.least) Object.assign(extremes, { least, leastAt });
      if (greatest > extremes.greatest) Object.assign(extremes, { greatest, greatestAt });
    }
    this.#checkNumbers(progress);
  }

  /** Notes a number that is no whole one. @throws MarinError ZEPHYR_SCHEMA_CONFLICT */
  enterFraction(sighting: Sighting, progress: Progress): void {
    if (this.fraction !== undefined) return;
    this.fraction = sighting;
    progress.changes += 1;
    this.#checkNumbers(progress);
  }

  /** Notes a kind of typed array, or (plain) a number from none. @throws MarinError ZEPHYR_SCHEMA_CONFLICT */
  enterOrigin(scalar: ParquetScalar | "plain", sighting: Sighting, progress: Progress): void {
    if (scalar === "plain") {
      if (this.plain !== undefined) return;
      this.plain = sighting;
    } else {
      if (this.typed.has(scalar)) return;
      this.typed.set(scalar, sighting);
    }
    progress.changes += 1;
    if (this.plain === undefined && this.typed.size < 2) return;
    // Arrays of several kinds, or numbers beside them: a kind counts for all numbers that it can hold.
    for (const [kind, seen] of this.typed) {
      const ends = typedArrays.find(([, name]) => name === kind)?.[2];
      if (ends === undefined) this.enterFraction(seen, progress);
      else this.extend(ends[0], ends[1], seen, seen, progress);
    }
  }

  #classOf(value: NonNullable<unknown>, progress: Progress): ValueClass {
    const type = typeof value;
    if (type === "string" || type === "boolean") return type;
    if (type === "number" || type === "bigint") return "number";
    if (type === "object") {
      if (Array.isArray(value)) return "list";
      if (value instanceof Uint8Array) return "bytes";
      if (value instanceof Date) return "timestamp";
      if (value instanceof Map) return "map";
      const prototype: unknown = Object.getPrototypeOf(value);
      if (prototype === Object.prototype || prototype === null) return "struct";
      if (typedArrays.some(([kind]) => value instanceof (kind as () => unknown))) return "list";
    }
    const what = type === "object" ? value.constructor.name : type;
    throw new MarinError("ZEPHYR_BAD_RECORD", `${progress.file}, record ${String(progress.record)}: column ${this.at} is a ${what}, which no column holds: convert it with map() before.`, {
      data: { path: progress.file, record: progress.record, column: this.at, type: what },
    });
  }

  #observeNumber(value: number | bigint, progress: Progress): void {
    if (this.plain === undefined) this.enterOrigin("plain", sightingOf(value, progress), progress);
    if (!isWhole(value)) {
      if (this.fraction === undefined) this.enterFraction(sightingOf(value, progress), progress);
      return;
    }
    const { extremes } = this;
    if (extremes !== undefined && value >= extremes.least && value <= extremes.greatest) return;
    const sighting = sightingOf(value, progress);
    this.extend(value, value, sighting, sighting, progress);
  }

  #observeList(value: readonly unknown[], progress: Progress): void {
    const items = (this.items ??= new ColumnInference(`${this.at}[]`));
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) items.observe(value[index], progress);
      return;
    }
    const scalar = typedArrays.find(([kind]) => value instanceof (kind as () => unknown))?.[1];
    if (scalar === undefined) return;
    progress.bytes += (value as unknown as ArrayBufferView).byteLength;
    const sighting = sightingOf(value, progress);
    items.enter("number", scalar, sighting, progress);
    items.enterOrigin(scalar, sighting, progress);
  }

  #checkNumbers(progress: Progress): void {
    const { extremes, fraction } = this;
    if (extremes === undefined) return;
    const { least, greatest, leastAt, greatestAt } = extremes;
    if (greatest > 2n ** 64n - 1n || least < -(2n ** 63n)) {
      const seen = least < -(2n ** 63n) ? leastAt : greatestAt;
      throw new MarinError("ZEPHYR_BAD_RECORD", `${seen.file ?? progress.file}, record ${String(seen.record)}: column ${this.at} is ${seen.shown}, which needs more than 64 bits: make it text, or give a schema with a decimal.`, {
        data: { path: seen.file ?? progress.file, record: seen.record, column: this.at },
      });
    }
    if (greatest > 2n ** 63n - 1n && least < 0) throw conflict(this.at, progress, { type: "uint64", sighting: greatestAt }, { type: "int64", sighting: leastAt });
    if (fraction === undefined) return;
    const exact = 2 ** 53;
    if (least < -exact) throw conflict(this.at, progress, { type: "int64", sighting: leastAt }, { type: "float64", sighting: fraction });
    if (greatest > exact) throw conflict(this.at, progress, { type: greatest > 2n ** 63n - 1n ? "uint64" : "int64", sighting: greatestAt }, { type: "float64", sighting: fraction });
  }

  #required(): ParquetType {
    switch (this.valueClass) {
      case undefined:
        return "string";
      case "number": {
        const [only] = this.typed.keys();
        if (this.plain === undefined && only !== undefined && this.typed.size === 1) return only;
        if (this.fraction !== undefined) return "float64";
        return this.extremes !== undefined && this.extremes.greatest > 2n ** 63n - 1n ? "uint64" : "int64";
      }
      case "timestamp":
        return "timestamp-millis";
      case "list":
        return { list: this.items?.type() ?? { nullable: "string" } };
      case "map":
        return { map: { key: this.keys === undefined ? "string" : this.keys.#required(), value: this.items?.type() ?? { nullable: "string" } } };
      case "struct":
        return { struct: this.schema() };
      default:
        return this.valueClass;
    }
  }

  /** What messages call the type. */
  typeName(): string {
    const type = this.#required();
    return typeof type === "string" ? type : (this.valueClass ?? "string");
  }
}

/** What messages call a value's type when it is the only one. */
function ownType(valueClass: ValueClass, value: unknown): string {
  if (valueClass === "number") return isWhole(value as number | bigint) ? "int64" : "float64";
  return valueClass === "timestamp" ? "timestamp-millis" : valueClass;
}

/** Whether it is a whole number that JavaScript holds exactly; -0 is none, for an integer has no sign of its own at 0. */
function isWhole(value: number | bigint): boolean {
  return typeof value === "bigint" || (Number.isSafeInteger(value) && !Object.is(value, -0));
}

/** A value for messages. */
function sightingOf(value: unknown, { record }: Progress): Sighting {
  return { record, shown: shown(value) };
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "bigint") return `${String(value)}n`;
  if (Object.is(value, -0)) return "-0.0";
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  if (Array.isArray(value)) return "[...]";
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? "{...}" : `a ${value.constructor.name}`;
}

function conflict(at: string, progress: Progress, one: { type: string; sighting: Sighting }, other: { type: string; sighting: Sighting }): MarinError {
  // The record at hand is told first.
  const here = (side: { sighting: Sighting }): boolean => side.sighting.file === undefined && side.sighting.record === progress.record;
  const [first, second] = here(one) && !here(other) ? [other, one] : [one, other];
  const place = ({ file, record }: Sighting): string => (file === undefined || file === progress.file ? `record ${String(record)}` : `record ${String(record)} of ${file}`);
  return new MarinError(
    "ZEPHYR_SCHEMA_CONFLICT",
    `${second.sighting.file ?? progress.file}, record ${String(second.sighting.record)}: column ${at} is ${second.type} (${second.sighting.shown}), and in ${place(first.sighting)} it is ${first.type} (${first.sighting.shown}). ` +
      "No type holds both exactly: convert one with map() before, or give a schema.",
    {
      data: {
        path: second.sighting.file ?? progress.file,
        record: second.sighting.record,
        column: at,
        type: second.type,
        other: { path: first.sighting.file ?? progress.file, record: first.sighting.record, type: first.type },
      },
    },
  );
}
