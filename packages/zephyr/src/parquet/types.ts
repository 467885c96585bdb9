/** A column's simple type. What its values are in JavaScript stands in {@link ParquetValue}. */
export type ParquetScalar =
  | "boolean"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "float16"
  | "float32"
  | "float64"
  | "string"
  | "enum"
  | "json"
  | "bytes"
  | "uuid"
  | "date"
  | "time-millis"
  | "time-micros"
  | "time-nanos"
  | "timestamp-millis"
  | "timestamp-micros"
  | "timestamp-nanos"
  | "interval";

/**
 * The type of a column, or of what stands inside one. A value is required unless its type is `{ nullable: ... }`.
 *
 * `{ list: "int64" }`, `{ map: { key: "string", value: "float64" } }`, `{ struct: { x: "float32", y: "float32" } }`,
 * `{ decimal: { precision: 38, scale: 2 } }`, `{ fixedBytes: 16 }`, `{ nullable: "string" }`.
 */
export type ParquetType =
  | ParquetScalar
  | { readonly decimal: { readonly precision: number; readonly scale: number } }
  | { readonly fixedBytes: number }
  | { readonly list: ParquetType }
  | { readonly map: { readonly key: ParquetType; readonly value: ParquetType } }
  | { readonly struct: ParquetSchema }
  | { readonly nullable: ParquetType };

/** Columns by name, in the file's order. */
export interface ParquetSchema {
  readonly [column: string]: ParquetType;
}

/**
 * A value as the reader gives it and the writer takes it; nothing is rounded on the way.
 *
 * | type | value |
 * |---|---|
 * | boolean | boolean |
 * | int8 to int32, uint8 to uint32, float16 to float64, time-millis | number |
 * | int64, uint64, time-micros, time-nanos | bigint (the writer also takes whole numbers) |
 * | timestamp-micros, timestamp-nanos | bigint, counted from 1970 in UTC (the writer also takes a Date) |
 * | date, timestamp-millis | Date |
 * | decimal | string with exactly `scale` digits after the point, "-12.30" (the writer also takes bigints and whole numbers) |
 * | string, enum, json (its text), uuid | string |
 * | bytes, fixedBytes | Uint8Array |
 * | interval | `{ months, days, milliseconds }` |
 * | list, map, struct | array, Map, object |
 * | nullable | null, or the value |
 */
export type ParquetValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Date
  | Uint8Array
  | readonly ParquetValue[]
  | ReadonlyMap<ParquetValue, ParquetValue>
  | { readonly [field: string]: ParquetValue };

/** A row: its values by column. */
export type ParquetRecord = Readonly<Record<string, ParquetValue>>;

/** How the pages of a file are compressed. */
export type ParquetCompression = "uncompressed" | "snappy" | "gzip" | "brotli" | "zstd";

/** What encodes and decodes: our own code, or the library parquetjs-lite. */
export type ParquetCodec = "zephyr" | "parquetjs-lite";
