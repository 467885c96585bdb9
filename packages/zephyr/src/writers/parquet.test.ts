import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Dataset } from "../dataset.js";
import type { ParquetCompression, ParquetSchema, ParquetType } from "../parquet/types.js";
import { ParquetReader } from "../readers/parquet.js";
import { ParquetWriter, writeParquet } from "./parquet.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-parquet-write-"));
  path = join(directory, "a.parquet");
});
afterEach(() => rm(directory, { recursive: true }));

const write = (type: ParquetType, value: unknown): Promise<unknown> => writeParquet(path, [{ ok: 1, x: value }] as never, { schema: { ok: "int32", x: type } });

test.each<[ParquetType, unknown, string]>([
  ["int32", 2 ** 31, "a whole number from -2147483648 to 2147483647"],
  ["uint8", -1, "from 0 to 255"],
  ["int64", 2 ** 53, "holds exactly"],
  ["int64", 2n ** 63n, "a bigint from"],
  ["uint64", -1n, "a bigint from 0"],
  ["int64", "1", 'found "1"'],
  ["string", 5, "expected text, found 5"],
  ["string", "a\uD800", "half a surrogate pair"],
  ["json", "{", "not JSON"],
  ["bytes", "abc", "a Uint8Array"],
  ["uuid", "123", "a UUID"],
  ["date", new Date(1), "midnight UTC"],
  ["date", new Date(NaN), "midnight UTC"],
  ["timestamp-millis", new Date(NaN), "a valid Date"],
  ["boolean", null, "true or false, found null"],
  ["float64", undefined, "found undefined"],
  [{ decimal: { precision: 5, scale: 2 } }, "1000.00", "at most 5 digits"],
  [{ decimal: { precision: 5, scale: 2 } }, "1.005", "2 of them after the point"],
  [{ decimal: { precision: 5, scale: 2 } }, 1.5, "as text"],
  [{ fixedBytes: 3 }, new Uint8Array(2), "3 bytes"],
  [{ list: "int32" }, [1, null], "column x[]"],
  [{ list: "int32" }, "abc", "an array"],
  [{ map: { key: "string", value: "int32" } }, [1], "a Map or an object"],
  [{ map: { key: "string", value: "int32" } }, { a: "b" }, "column x.value"],
  [{ struct: { a: "int32" } }, { a: 1, b: 2 }, "column x.b: the schema has no such column"],
  [{ struct: { a: "int32" } }, {}, "column x.a"],
])("%j does not take %o: the error names record and column, and no file is left", async (type, value, message) => {
  const writing = write(type, value);
  await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, record: 1 } });
  await expect(writing).rejects.toThrow(message);
  expect(await readdir(directory)).toEqual([]);
});

test.each<[ParquetType, unknown, unknown]>([
  ["int64", 7, 7n],
  [{ decimal: { precision: 5, scale: 2 } }, 12, "12.00"],
  [{ decimal: { precision: 5, scale: 2 } }, 12n, "12.00"],
  [{ decimal: { precision: 5, scale: 2 } }, "-0.1000", "-0.10"],
  [{ decimal: { precision: 38, scale: 0 } }, 10n ** 38n - 1n, "9".repeat(38)],
  [{ list: "float32" }, Float32Array.of(0.5, 1), [0.5, 1]],
  [{ map: { key: "string", value: "int32" } }, { a: 1 }, new Map([["a", 1]])],
  ["bytes", Buffer.from("abc"), Uint8Array.from(Buffer.from("abc"))],
  ["timestamp-micros", new Date(5), 5000n],
])("%j takes %o, which reads back as %o", async (type, value, back) => {
  await write(type, value);
  expect(await Dataset.fromAsyncIterable(new ParquetReader({ path })).toArray()).toEqual([{ ok: 1, x: back }]);
});

test("a column that the schema lacks is refused, not dropped", async () => {
  await expect(writeParquet(path, [{ a: 1, b: 2 }], { schema: { a: "int32" } })).rejects.toThrow("column b: the schema has no such column");
});

test.each<[ParquetSchema, string]>([
  [{ a: "int" as "int32" }, '"int" is no type'],
  [{ a: { decimal: { precision: 39, scale: 0 } } }, "precision is 1 to 38"],
  [{ a: { decimal: { precision: 2, scale: 3 } } }, "scale 0 to precision"],
  [{ a: { list: { struct: {} } } }, "at a[]: a struct without fields"],
  [{ a: { map: { key: { nullable: "string" }, value: "int32" } } }, "keys of a map"],
  [{ a: { nullable: { nullable: "int32" } } }, "nullable stands twice"],
  [{ a: { fixedBytes: 0 } }, "at least 1"],
  [{ a: "interval" }, "cannot be written"],
])("the schema %j is refused", (schema, message) => {
  expect(() => new ParquetWriter(path, { schema })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_SCHEMA", message: expect.stringContaining(message) as string }));
});

test("row groups end at their rows or at their bytes", async () => {
  const rows = Array.from({ length: 25 }, (_, index) => ({ text: `${String(index)} `.repeat(2000) }));
  expect(await writeParquet(path, rows, { schema: { text: "string" }, rowGroupRows: 10 })).toMatchObject({ rowGroups: 3 });
  const summary = await writeParquet(path, rows, { schema: { text: "string" }, rowGroupBytes: 20_000 });
  expect(summary.rowGroups).toBeGreaterThan(4);
  expect(summary).toMatchObject({ records: 25, bytes: (await stat(path)).size });
  expect(await Dataset.fromAsyncIterable(new ParquetReader({ path })).toArray()).toEqual(rows);
  expect(() => new ParquetWriter(path, { schema: { a: "int32" }, rowGroupRows: 0 })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT" }));
});

test.each<[ParquetCompression, number, string]>([
  ["zstd", 0, "levels 1 to 22"],
  ["zstd", 23, "levels 1 to 22"],
  ["gzip", 10, "levels 1 to 9"],
  ["brotli", -1, "levels 0 to 11"],
  ["brotli", 1.5, "levels 0 to 11"],
  ["snappy", 1, "has no levels"],
  ["uncompressed", 1, "has no levels"],
])("%s has no level %d", (compression, compressionLevel, message) => {
  expect(() => new ParquetWriter(path, { schema: { a: "int32" }, compression, compressionLevel })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT", message: expect.stringContaining(message) as string }));
});

test("a failing source, an abort and a second close leave what was there", async () => {
  await writeFile(path, "old");
  const source = (function* () {
    yield { a: 1 };
    throw new Error("the source broke");
  })();
  await expect(writeParquet(path, source, { schema: { a: "int32" } })).rejects.toThrow("the source broke");
  {
    await using writer = new ParquetWriter(path, { schema: { a: "int32" } });
    await writer.write({ a: 1 });
  }
  expect((await stat(path)).size).toBe(3);
  const writer = new ParquetWriter(path, { schema: { a: "int32" } });
  await writer.close();
  await expect(writer.close()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD" });
  await expect(writer.write({ a: 1 })).rejects.toThrow("closed before");
  expect(await readdir(directory)).toEqual(["a.parquet"]);
});
