import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Dataset } from "../dataset.js";
import { ParquetReader, type ParquetReaderOptions } from "../readers/parquet.js";
import { ParquetWriter, writeParquet } from "../writers/parquet.js";
import type { ParquetCompression, ParquetRecord, ParquetType } from "./types.js";

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-lite-"));
  path = join(directory, "a.parquet");
});
afterAll(() => rm(directory, { recursive: true }));

const read = (options: Partial<ParquetReaderOptions> = {}): Promise<unknown[]> => Dataset.fromAsyncIterable(new ParquetReader({ path, ...options })).toArray();
const codec = "parquetjs-lite";

const schema = {
  flag: "boolean",
  tiny: { nullable: "int8" },
  int: "int32",
  big: { nullable: "int64" },
  small: "uint16",
  half: { nullable: "float32" },
  number: "float64",
  text: { nullable: "string" },
  bytes: "bytes",
  day: { nullable: "date" },
} as const;
const finite = { noNaN: true } as const;
const notMinusZero = (value: number): boolean => !Object.is(value, -0);
const row = fc.record<Record<string, unknown>>({
  flag: fc.boolean(),
  tiny: fc.option(fc.integer({ min: -128, max: 127 })),
  int: fc.integer(),
  big: fc.option(fc.maxSafeInteger().map(BigInt)),
  small: fc.integer({ min: 0, max: 65535 }),
  half: fc.option(fc.float(finite).filter(notMinusZero)),
  number: fc.double(finite).filter(notMinusZero),
  text: fc.option(fc.string({ unit: "grapheme" })),
  bytes: fc.uint8Array({ maxLength: 9 }).map((bytes) => Uint8Array.from(bytes)),
  day: fc.option(fc.integer({ min: -100_000, max: 100_000 }).map((day) => new Date(day * 86_400_000))),
}) as fc.Arbitrary<ParquetRecord>;

test("what parquetjs-lite writes, it reads back equal, and so do hyparquet and DuckDB", async () => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  const codecs = fc.constantFrom<ParquetCompression>("uncompressed", "snappy", "gzip");
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), codecs, fc.integer({ min: 1, max: 20 }), async (rows, compression, rowGroupRows) => {
      const summary = await writeParquet(path, rows, { schema, codec, compression, rowGroupRows, notes: { by: "lite" } });
      expect(summary).toMatchObject({ records: rows.length, rowGroups: Math.ceil(rows.length / rowGroupRows) });
      expect(await read({ codec })).toEqual(rows);
      expect(await read()).toEqual(rows);
      const reader = new ParquetReader({ path });
      expect([await reader.schema(), await reader.notes()]).toEqual([schema, { by: "lite" }]);
      const [sums] = (await duckdb.runAndReadAll(`SELECT count(*)::INTEGER AS n, sum("int")::DOUBLE AS ints, count(big)::INTEGER AS bigs, string_agg(text, '|') AS texts FROM read_parquet('${path}')`)).getRowObjects();
      expect(sums).toEqual({
        n: rows.length,
        ints: rows.reduce((sum, { int }) => sum + (int as number), 0),
        bigs: rows.filter(({ big }) => big !== null).length,
        texts: rows.every(({ text }) => text === null) ? null : rows.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("|"),
      });
    }),
    { numRuns: 30 },
  );
  duckdb.closeSync();
  instance.closeSync();
});

test("one column", async () => {
  await writeParquet(path, [{ a: 1, b: "x" }], { schema: { a: "int32", b: "string" }, codec });
  expect(await read({ codec, columns: ["b"] })).toEqual([{ b: "x" }]);
});

test.each<[ParquetType, string]>([
  ["uint32", "uint32"],
  ["uint64", "uint64"],
  ["json", "json"],
  ["uuid", "uuid"],
  ["timestamp-millis", "timestamp-millis"],
  ["timestamp-micros", "timestamp-micros"],
  [{ decimal: { precision: 9, scale: 2 } }, "decimal"],
  [{ nullable: { list: "int32" } }, "list"],
  [{ struct: { a: "int32" } }, "struct"],
  [{ map: { key: "string", value: "int32" } }, "map"],
])("the type %j is refused before anything is written, naming the column", (type, shown) => {
  expect(() => new ParquetWriter(path, { schema: { ok: "int32", x: type }, codec })).toThrow(
    expect.objectContaining({ code: "ZEPHYR_PARQUET_UNSUPPORTED", data: { column: "x", type: shown }, message: expect.stringContaining("column x") as string }),
  );
});

test.each<[ParquetType, unknown, string]>([
  ["int64", 2n ** 53n, "9007199254740991 exactly"],
  ["float64", NaN, "NaN"],
  ["float64", -0, "-0"],
  ["int8", 128, "from -128 to 127"],
])("%j does not take %o: record and column are named, and no file is left", async (type, value, message) => {
  await rm(path, { force: true });
  const writing = writeParquet(path, [{ x: value }] as never, { schema: { x: type }, codec });
  await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 1, column: "x" } });
  await expect(writing).rejects.toThrow(message);
  expect(await readdir(directory)).toEqual([]);
});

test("zstd and brotli are refused; so is reading what another library wrote", async () => {
  for (const compression of ["zstd", "brotli"] as const) {
    expect(() => new ParquetWriter(path, { schema: { a: "int32" }, codec, compression })).toThrow(expect.objectContaining({ code: "ZEPHYR_PARQUET_UNSUPPORTED", data: { compression } }));
  }
  expect(() => new ParquetWriter(path, { schema: { a: "int32" }, codec, compression: "gzip", compressionLevel: 1 })).toThrow(expect.objectContaining({ code: "ZEPHYR_PARQUET_UNSUPPORTED", data: { compressionLevel: 1 } }));
  await writeParquet(path, [{ a: 1 }], { schema: { a: "int32" }, compression: "snappy" });
  await expect(read({ codec })).rejects.toMatchObject({ code: "ZEPHYR_PARQUET_UNSUPPORTED", message: expect.stringContaining("invalid parquet version") as string });
  await writeParquet(path, [{ a: [1] }], { schema: { a: { list: "int32" } } });
  await expect(read({ codec })).rejects.toMatchObject({ code: "ZEPHYR_PARQUET_UNSUPPORTED", message: expect.stringContaining("column a") as string });
});
