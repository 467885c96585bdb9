import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage, type Storage } from "@marin/iris";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anyFile } from "../../test/any-file.js";
import { compareText } from "../utf8.js";
import type { ParquetStatistics } from "../parquet/statistics.js";
import type { ParquetRecord } from "../parquet/types.js";
import { writeParquet } from "../writers/parquet.js";
import { ParquetReader, type ParquetReaderOptions } from "./parquet.js";

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-pruning-"));
  path = join(directory, "a.parquet");
});
afterAll(() => rm(directory, { recursive: true }));

async function read(options: Omit<ParquetReaderOptions, "path"> = {}): Promise<ParquetRecord[]> {
  const rows = [];
  for await (const row of new ParquetReader({ path, ...options })) rows.push(row);
  return rows;
}

/** Storage that counts the bytes that are read. */
function counted(): { readonly storage: Storage; readonly bytes: () => number } {
  const storage = createStorage();
  let bytes = 0;
  const read = storage.read.bind(storage);
  storage.read = async (...args) => {
    const found = await read(...args);
    bytes += found.length;
    return found;
  };
  return { storage, bytes: () => bytes };
}

test("any rows of any file: the same as of all rows, nested or not, over row groups and pages", () =>
  fc.assert(
    fc.asyncProperty(anyFile, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 4 }), fc.nat(12), fc.nat(12), fc.constantFrom(1, 2), async ({ schema, rows }, rowGroupRows, pageRows, from, length, pageVersion) => {
      await writeParquet(path, rows, { schema, rowGroupRows, pageRows, pageVersion: pageVersion as 1 | 2 });
      const start = Math.min(from, rows.length);
      const end = Math.min(start + length, rows.length);
      expect(await read({ rows: { start, end } })).toEqual(rows.slice(start, end));
    }),
    { numRuns: 50 },
  ));

test("splits are whole row groups, and together all rows; rows that are not there are refused", async () => {
  const rows = Array.from({ length: 95 }, (_, id) => ({ id, text: "x".repeat(id) }));
  await writeParquet(path, rows, { schema: { id: "int32", text: "string" }, rowGroupRows: 10, compression: "uncompressed" });
  const reader = new ParquetReader({ path });
  const groups = await reader.rowGroups();
  expect(groups.map(({ start, end }) => [start, end])).toEqual(Array.from({ length: 10 }, (_, index) => [10 * index, Math.min(95, 10 * index + 10)]));
  for (const bytes of [1, 500, 2000, 1e9]) {
    const splits = await reader.splits(bytes);
    expect((await Promise.all(splits.map(({ start, end }) => read({ rows: { start, end } })))).flat()).toEqual(rows);
    for (const split of splits) expect(split.bytes <= bytes || split.end - split.start <= 10).toBe(true);
  }
  expect(await reader.splits(1e9)).toHaveLength(1);
  expect(await reader.splits(1)).toHaveLength(10);
  await expect(reader.splits(0)).rejects.toMatchObject({ code: "ZEPHYR_BAD_COUNT" });
  await expect(read({ rows: { start: 90, end: 96 } })).rejects.toMatchObject({ code: "ZEPHYR_BAD_COUNT", data: { rows: 95, end: 96 } });
});

test("statistics: the bounds hold for every value, of any type; nulls are counted", () =>
  fc.assert(
    fc.asyncProperty(anyFile, fc.integer({ min: 1, max: 12 }), async ({ schema, rows }, rowGroupRows) => {
      await writeParquet(path, rows, { schema, rowGroupRows, pageRows: 2 });
      for (const { start, end, statistics } of await new ParquetReader({ path }).rowGroups()) {
        for (const [name, { min, max, nulls, rows: counted }] of statistics) {
          if (schema[name] === undefined) continue;
          const values = rows.slice(start, end).map((row) => row[name]);
          expect(counted).toBe(end - start);
          expect(nulls).toBe(values.filter((value) => value === null).length);
          for (const value of values) {
            if (value === null || Number.isNaN(value)) continue;
            if (min !== undefined) expect(atMost(min, value)).toBe(true);
            if (max !== undefined) expect(atMost(value, max)).toBe(true);
          }
        }
      }
    }),
    { numRuns: 50 },
  ));

function atMost(a: unknown, b: unknown): boolean {
  if (typeof a === "string") return compareText(a, b as string) <= 0;
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array) <= 0;
  return (a as number) <= (b as number);
}

test("statistics of a column, as they are told; none where values have no order of use", async () => {
  const schema = { id: "int64", text: "string", at: { nullable: "timestamp-millis" }, half: "float64", money: { decimal: { precision: 9, scale: 2 } }, pair: { struct: { x: "int32" } }, list: { list: "int32" } } as const;
  const long = "z".repeat(100);
  const rows = [
    { id: -5n, text: "a😀", at: null, half: -0, money: "1.00", pair: { x: 3 }, list: [1] },
    { id: 2n ** 62n, text: long, at: new Date(5), half: NaN, money: "10.00", pair: { x: -3 }, list: [] },
  ];
  await writeParquet(path, rows, { schema });
  const [group] = await new ParquetReader({ path }).rowGroups();
  const statistics = new Map(group?.statistics);
  expect(statistics.get("id")).toEqual({ min: -5n, max: 2n ** 62n, nulls: 0, rows: 2 });
  expect(statistics.get("text")).toEqual({ min: "a😀", max: `${"z".repeat(63)}{`, nulls: 0, rows: 2 });
  expect(statistics.get("at")).toEqual({ min: new Date(5), max: new Date(5), nulls: 1, rows: 2 });
  expect(statistics.get("half")).toEqual({ min: -0, max: 0, nulls: 0, rows: 2 });
  expect(statistics.get("money")).toEqual({ nulls: 0, rows: 2 });
  expect(statistics.get("pair.x")).toEqual({ min: -3, max: 3, nulls: 0, rows: 2 });
  expect([...statistics.keys()]).not.toContain("list.list.element");
});

test("DuckDB sees the same bounds as we", async () => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  await writeParquet(path, Array.from({ length: 100 }, (_, id) => ({ id: BigInt(id * id), text: String(id) })), { schema: { id: "int64", text: "string" } });
  const reader = await duckdb.runAndReadAll(`SELECT path_in_schema AS name, stats_min_value AS least, stats_max_value AS greatest, stats_null_count AS nulls FROM parquet_metadata('${path}')`);
  expect(reader.getRowObjects()).toEqual([
    { name: "id", least: "0", greatest: "9801", nulls: 0n },
    { name: "text", least: "0", greatest: "99", nulls: 0n },
  ]);
  duckdb.closeSync();
  instance.closeSync();
});

test("pruning: row groups, and pages within them, that cannot match are not fetched; what may match is all there", async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `${String(id)} ${Math.sin(id).toString(36)} ${Math.cos(id).toString(36)}`.repeat(4) }));
  await writeParquet(path, rows, { schema: { id: "int32", text: "string" }, rowGroupRows: 5000, pageRows: 100, compression: "uncompressed" });
  const asked: number[] = [];
  const mayMatch = (statistics: ReadonlyMap<string, ParquetStatistics>): boolean => {
    const { min, max, rows: count } = statistics.get("id") ?? { rows: 0 };
    asked.push(count);
    return (min as number) <= 7250 && (max as number) >= 7150;
  };
  const whole = counted();
  expect(await read({ storage: whole.storage })).toHaveLength(20_000);
  const pruned = counted();
  expect(await read({ storage: pruned.storage, pruning: { columns: ["id"], mayMatch } })).toEqual(rows.slice(7100, 7300));
  expect(asked.slice(0, 2)).toEqual([5000, 5000]);
  expect(asked).toContain(100);
  // The table of contents and the indexes of one row group; 2 of 200 pages.
  expect(pruned.bytes()).toBeLessThan(0.05 * whole.bytes());
  const none = counted();
  expect(await read({ storage: none.storage, pruning: { columns: ["nothing"], mayMatch: (statistics) => statistics.size > 0 } })).toEqual([]);
  expect(none.bytes()).toBeLessThanOrEqual(65_536);
});

test("no columns: as many empty records as rows, and no page is fetched", async () => {
  await writeParquet(path, Array.from({ length: 25_000 }, (_, id) => ({ id: BigInt(id) * 2n ** 40n })), { schema: { id: "int64" }, compression: "uncompressed" });
  const { storage, bytes } = counted();
  const rows = await read({ storage, columns: [], rows: { start: 100, end: 20_100 } });
  expect(rows).toEqual(Array.from({ length: 20_000 }, () => ({})));
  expect(bytes()).toBeLessThanOrEqual(65_536);
});
