import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBIntervalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyFile } from "../../test/any-file.js";
import { Dataset } from "../dataset.js";
import { ParquetReader } from "../readers/parquet.js";
import { writeParquet } from "../writers/parquet.js";
import type { ParquetCompression, ParquetRecord, ParquetValue } from "./types.js";

// DuckDB reads and writes Parquet with code of its own: what both read alike is what the file says.

let directory: string;
let instance: DuckDBInstance;
let duckdb: DuckDBConnection;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-duckdb-"));
  instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  duckdb = await instance.connect();
  await duckdb.run("SET TimeZone = 'UTC'");
});
afterAll(async () => {
  duckdb.closeSync();
  instance.closeSync();
  await rm(directory, { recursive: true });
});

/** DuckDB's value in our form. */
function ours(value: DuckDBValue): ParquetValue {
  if (value === null || ["boolean", "number", "bigint", "string"].includes(typeof value)) return value as ParquetValue;
  if (value instanceof DuckDBDecimalValue || value instanceof DuckDBUUIDValue) return value.toString();
  if (value instanceof DuckDBBlobValue) return Uint8Array.from(value.bytes);
  if (value instanceof DuckDBDateValue) return new Date(value.days * 86_400_000);
  if (value instanceof DuckDBTimestampMillisecondsValue) return new Date(Number(value.millis));
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimeValue) return value.micros;
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBIntervalValue) return { months: value.months, days: value.days, milliseconds: Number(value.micros / 1000n) };
  if (value instanceof DuckDBListValue) return value.items.map(ours);
  if (value instanceof DuckDBStructValue) return Object.fromEntries(Object.entries(value.entries).map(([name, field]) => [name, ours(field)]));
  if (value instanceof DuckDBMapValue) return new Map(value.entries.map(({ key, value: item }) => [ours(key), ours(item)]));
  throw new Error(`no form for ${String(value)}`);
}

async function query(sql: string): Promise<ParquetRecord[]> {
  const rows = (await duckdb.runAndReadAll(sql)).getRowObjects();
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, ours(value)])));
}

const read = (path: string): Promise<ParquetRecord[]> => Dataset.fromAsyncIterable(new ParquetReader({ path })).toArray();

/** Columns of every type that DuckDB writes, each with its ends, a null and something in between. */
const columns: Readonly<Record<string, readonly [type: string, values: readonly string[]]>> = {
  flag: ["BOOLEAN", ["true", "false"]],
  tiny: ["TINYINT", ["-128", "127"]],
  small: ["SMALLINT", ["-32768", "32767"]],
  int: ["INTEGER", ["-2147483648", "2147483647"]],
  big: ["BIGINT", ["-9223372036854775808", "9223372036854775807", "9007199254740993"]],
  utiny: ["UTINYINT", ["0", "255"]],
  usmall: ["USMALLINT", ["0", "65535"]],
  uint: ["UINTEGER", ["0", "4294967295"]],
  ubig: ["UBIGINT", ["0", "18446744073709551615", "9223372036854775808"]],
  float: ["FLOAT", ["'NaN'", "'-Infinity'", "1.5", "-0.0", "1e-45"]],
  double: ["DOUBLE", ["'NaN'", "'Infinity'", "0.1", "-0.0", "5e-324", "1.7976931348623157e308"]],
  decimal4: ["DECIMAL(4,1)", ["-999.9", "999.9", "0.1"]],
  decimal9: ["DECIMAL(9,9)", ["-0.999999999", "0.000000001"]],
  decimal18: ["DECIMAL(18,3)", ["-999999999999999.999", "999999999999999.999"]],
  decimal38: ["DECIMAL(38,2)", ["-999999999999999999999999999999999999.99", "999999999999999999999999999999999999.99", "0.01", "-0.01"]],
  text: ["VARCHAR", ["''", "'ü😀'", "'a' || chr(0) || 'b'", "repeat('long ', 1000)"]],
  blob: ["BLOB", ["''", "'\\xFF\\x00\\xC3'::BLOB"]],
  date: ["DATE", ["'0001-01-01'", "'2024-02-29'", "'9999-12-31'"]],
  time: ["TIME", ["'00:00:00'", "'23:59:59.999999'"]],
  stamp: ["TIMESTAMP", ["'1969-12-31 23:59:59.999999'", "'2024-02-29 12:34:56.123456'", "'9999-12-31 23:59:59.999999'"]],
  stamptz: ["TIMESTAMPTZ", ["'2024-02-29 12:34:56.123456+02'"]],
  stampms: ["TIMESTAMP_MS", ["'2024-02-29 12:34:56.123'"]],
  stampns: ["TIMESTAMP_NS", ["'2024-02-29 12:34:56.123456789'"]],
  span: ["INTERVAL", ["'1 year 2 months 3 days 4.005 seconds'"]],
  uuid: ["UUID", ["'123e4567-e89b-12d3-a456-426614174000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]],
  json: ["JSON", ["'{\"a\": [1, null]}'"]],
  list: ["BIGINT[]", ["[]", "[1, NULL, 9223372036854775807]", "[NULL]"]],
  lists: ["VARCHAR[][]", ["[]", "[[]]", "[['a', NULL], NULL, []]"]],
  pair: ["STRUCT(a INTEGER, b STRUCT(c VARCHAR, d DECIMAL(38,2)))", ["{'a': NULL, 'b': NULL}", "{'a': 1, 'b': {'c': NULL, 'd': 12.30}}"]],
  pairs: ["STRUCT(x INTEGER, y BIGINT[])[]", ["[]", "[{'x': 1, 'y': [2]}, {'x': NULL, 'y': NULL}, NULL]"]],
  map: ["MAP(BIGINT, VARCHAR)", ["MAP {}", "MAP {9223372036854775807: 'a', -1: NULL}"]],
  maps: ["MAP(VARCHAR, DOUBLE[])", ["MAP {'': [1.5, NULL], 'b': NULL, 'c': []}"]],
};

/** A table of all columns: every value of every column stands in some row, and a row of nulls comes first. */
function table(): string {
  const most = Math.max(...Object.values(columns).map(([, values]) => values.length));
  const rows = Array.from({ length: 3 * most }, (_, row) =>
    Object.values(columns).map(([type, values]) => `CAST(${row % 3 === 0 ? "NULL" : (values[Math.floor(row / 3) % values.length] ?? "NULL")} AS ${type})`).join(", "),
  );
  return `SELECT * FROM (VALUES ${rows.map((row) => `(${row})`).join(", ")}) AS t(${Object.keys(columns).map((name) => `"${name}"`).join(", ")})`;
}

describe.each(["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"])("Parquet matrix: %s files of DuckDB", (codec) => {
  test.each([
    ["V1", "with dictionaries, one row group", 1],
    ["V2", "with dictionaries, two row groups", 120],
  ])("pages %s %s: every type, its ends, nulls, nested and empty values are read as DuckDB reads them", async (version, _what, copies) => {
    const path = join(directory, `${codec}-${version}.parquet`);
    await duckdb.run(`COPY (SELECT t.* FROM (${table()}) t, range(${String(copies)})) TO '${path}' (FORMAT parquet, COMPRESSION ${codec}, PARQUET_VERSION ${version}, ROW_GROUP_SIZE 2048)`);
    // DuckDB reads milliseconds as microseconds.
    const expected = await query(`SELECT * REPLACE (stampms::TIMESTAMP_MS AS stampms) FROM read_parquet('${path}')`);
    expect(await read(path)).toEqual(expected);
    expect(expected).toHaveLength(18 * copies);
  });
});

test("the exact values, spelled out", async () => {
  const path = join(directory, "exact.parquet");
  await duckdb.run(
    `COPY (SELECT 9223372036854775807::BIGINT AS big, 18446744073709551615::UBIGINT AS ubig, -999999999999999999999999999999999999.99::DECIMAL(38,2) AS money,
     TIMESTAMP '2024-02-29 12:34:56.123456' AS at, '\\xC3\\x28'::BLOB AS bytes, [1, NULL]::BIGINT[] AS list, {'a': 1::BIGINT} AS pair, MAP {2::BIGINT: 'x'} AS map) TO '${path}'`,
  );
  expect(await read(path)).toEqual([
    {
      big: 9223372036854775807n,
      ubig: 18446744073709551615n,
      money: "-999999999999999999999999999999999999.99",
      at: 1709210096123456n,
      bytes: Uint8Array.of(0xc3, 0x28),
      list: [1n, null],
      pair: { a: 1n },
      map: new Map([[2n, "x"]]),
    },
  ]);
  expect(await new ParquetReader({ path }).schema()).toEqual({
    big: { nullable: "int64" },
    ubig: { nullable: "uint64" },
    money: { nullable: { decimal: { precision: 38, scale: 2 } } },
    at: { nullable: "timestamp-micros" },
    bytes: { nullable: "bytes" },
    list: { nullable: { list: { nullable: "int64" } } },
    pair: { nullable: { struct: { a: { nullable: "int64" } } } },
    map: { nullable: { map: { key: "int64", value: { nullable: "string" } } } },
  });
});

test("Writer interop: any schema and any rows, what we write, DuckDB and we read back equal, and the schema comes back", async () => {
  const path = join(directory, "any.parquet");
  const codecs = fc.constantFrom<ParquetCompression>("uncompressed", "snappy", "gzip", "brotli", "zstd");
  await fc.assert(
    fc.asyncProperty(anyFile, codecs, fc.integer({ min: 1, max: 12 }), async ({ schema, rows }, compression, rowGroupRows) => {
      const summary = await writeParquet(path, rows, { schema, compression, rowGroupRows });
      expect(summary).toMatchObject({ records: rows.length, rowGroups: Math.ceil(rows.length / rowGroupRows) });
      expect(await read(path)).toEqual(rows);
      expect(await new ParquetReader({ path }).schema()).toEqual(schema);
      expect(await query(`SELECT * FROM read_parquet('${path}')`)).toEqual(rows);
    }),
    { numRuns: 60 },
  );
});

test("each level of a compression gives a file that both read, and the highest a smaller one than the lowest", async () => {
  const path = join(directory, "level.parquet");
  const rows = Array.from({ length: 2000 }, (_, index) => ({ text: `${String((index * 7919) % 1009)} of ${String((index * 104_729) % 997)}` }));
  const write = async (compression: ParquetCompression, compressionLevel?: number): Promise<number> => {
    const { bytes } = await writeParquet(path, rows, { schema: { text: "string" }, compression, ...(compressionLevel === undefined ? {} : { compressionLevel }) });
    expect(await read(path)).toEqual(rows);
    expect(await query(`SELECT * FROM read_parquet('${path}')`)).toEqual(rows);
    return bytes;
  };
  for (const [compression, least, usual, most] of [["zstd", 1, 3, 22], ["gzip", 1, 6, 9], ["brotli", 0, 5, 11]] as const) {
    expect(await write(compression, most), compression).toBeLessThan(await write(compression, least));
    expect(await write(compression, usual), compression).toBe(await write(compression));
  }
});

test("types that DuckDB holds in another form: halves, enums, times, milliseconds, nanoseconds, notes", async () => {
  const path = join(directory, "other.parquet");
  const schema = { half: "float16", kind: "enum", clock: "time-millis", stamp: "timestamp-millis", nano: "timestamp-nanos" } as const;
  const rows = [{ half: 1.5, kind: "a", clock: 1, stamp: new Date("2024-02-29T12:34:56.789Z"), nano: 1709210096123456789n }];
  await writeParquet(path, rows, { schema, notes: { source: "test ü" } });
  expect(await read(path)).toEqual(rows);
  expect(await new ParquetReader({ path }).schema()).toEqual(schema);
  expect(await new ParquetReader({ path }).notes()).toEqual({ source: "test ü" });
  expect(await query(`SELECT half, kind, clock::TIME AS clock, epoch_ms(stamp) AS stamp, epoch_us(nano) AS nano FROM read_parquet('${path}')`)).toEqual([
    { half: 1.5, kind: "a", clock: 1000n, stamp: 1709210096789n, nano: 1709210096123456n },
  ]);
  expect(await query(`SELECT decode(value) AS value FROM parquet_kv_metadata('${path}') WHERE decode(key) = 'source'`)).toEqual([{ value: "test ü" }]);
});

test("a file without rows is one for both", async () => {
  const path = join(directory, "empty.parquet");
  const schema = { a: "int64", b: { list: "string" } } as const;
  await writeParquet(path, [], { schema });
  expect(await read(path)).toEqual([]);
  expect(await query(`SELECT * FROM read_parquet('${path}')`)).toEqual([]);
  await duckdb.run(`COPY (SELECT 1::BIGINT AS a WHERE false) TO '${path}'`);
  expect(await new ParquetReader({ path }).rowCount()).toBe(0);
  expect(await read(path)).toEqual([]);
});
