import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Decoder } from "@toondepauw/node-zstd";
import { parquetReadObjects } from "hyparquet";
import { tableFromIPC } from "apache-arrow";
import { readParquet as readWasm } from "parquet-wasm/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interopRows, interopSchema } from "../../test/parquet/interop-table.js";
import { fromArrowTable } from "../arrow/table.js";
import { ParquetReader } from "../readers/parquet.js";
import { ParquetWriter, writeParquet } from "../writers/parquet.js";
import { loadLite } from "./parquetjs-lite.js";
import type { ParquetCompression, ParquetRecord } from "./types.js";

// The files of fixtures/parquet were written by DuckDB, parquet-wasm, pyarrow and Polars (test/parquet/make-fixtures.ts).

const fixtures = fileURLToPath(new URL("../../test/fixtures/parquet/", import.meta.url));
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-interop-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function read(path: string): Promise<unknown[]> {
  const rows = [];
  for await (const row of new ParquetReader({ path })) rows.push(row);
  return rows;
}

const names = (await readdir(fixtures)).filter((name) => name.endsWith(".parquet")).sort();

describe("Parquet matrix: types, codecs, page versions, of several programs", () => {
  test.each(names)("%s is read without the loss of a digit", async (name) => {
    // Polars counts the time of a day in nanoseconds.
    const expected = name.startsWith("polars") ? interopRows.map((row) => ({ ...row, clock: typeof row["clock"] === "bigint" ? row["clock"] * 1000n : null })) : interopRows;
    expect(await read(join(fixtures, name))).toEqual(expected);
  });

  test("every program is there with every codec that it has, and both page versions where it has them", () => {
    const having = (program: string): number => names.filter((name) => name.startsWith(program)).length;
    expect(Object.fromEntries(["duckdb", "parquet-wasm", "pyarrow", "polars"].map((program) => [program, having(program)]))).toEqual({ duckdb: 12, "parquet-wasm": 12, pyarrow: 12, polars: 6 });
  });
});

const zstd = new Decoder();
const codecs: readonly ParquetCompression[] = ["uncompressed", "snappy", "gzip", "brotli", "zstd"];

describe.each([1, 2] as const)("Writer interop: pages of version %d", (pageVersion) => {
  test.each(codecs)("%s: parquet-wasm reads what we write", async (compression) => {
    const path = join(directory, `${compression}.parquet`);
    await writeParquet(path, interopRows, { schema: interopSchema, compression, pageVersion, rowGroupRows: 4, pageRows: 2 });
    const { schema, records } = await fromArrowTable(tableFromIPC(readWasm(await readFile(path)).intoIPCStream()));
    expect(records).toEqual(interopRows);
    expect(Object.keys(schema)).toEqual(Object.keys(interopSchema));
  });

  test("hyparquet reads what we write", async () => {
    const path = join(directory, "hyparquet.parquet");
    await writeParquet(path, interopRows, { schema: interopSchema, pageVersion, rowGroupRows: 4, pageRows: 2 });
    const bytes = await readFile(path);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const rows = await parquetReadObjects({ file, compressors: { ZSTD: (page) => zstd.decodeSync(Buffer.from(page)) }, utf8: false });
    const exact = ["flag", "int", "big", "ubig", "single", "double", "text", "list", "lists", "pairs"];
    const pick = (row: ParquetRecord): unknown[] => exact.map((name) => row[name]);
    expect(rows.map((row) => pick(row as ParquetRecord))).toEqual(interopRows.map(pick));
  });
});

test("Writer interop: parquet-wasm reads unsigned integers, zeros of both signs, and a file without rows", async () => {
  const path = join(directory, "strict.parquet");
  const schema = { small: "uint8", middle: "uint16", large: "uint32", huge: "uint64", zero: "float64" } as const;
  const rows = Array.from({ length: 20 }, (_, index) => ({ small: 255, middle: 65_535, large: 4_294_967_295, huge: 2n ** 64n - 1n, zero: index % 2 === 0 ? 0 : -0 }));
  const back = async (): Promise<unknown> => fromArrowTable(tableFromIPC(readWasm(await readFile(path)).intoIPCStream()));
  await writeParquet(path, rows, { schema });
  expect(await back()).toEqual({ schema, records: rows });
  await writeParquet(path, [], { schema });
  expect(await back()).toEqual({ schema, records: [] });
});

test("batch mode: Arrow tables of the chosen columns, one a row group, equal to the records", async () => {
  const path = join(directory, "tables.parquet");
  await writeParquet(path, interopRows, { schema: interopSchema, rowGroupRows: 4 });
  const columns = ["big", "ubig", "double", "money", "stamp", "pairs", "map"];
  const found: unknown[] = [];
  for await (const table of new ParquetReader({ path, columns, rows: { start: 1, end: 6 } }).tables()) {
    expect(table.schema.fields.map(({ name }) => name)).toEqual(columns);
    found.push(...(await fromArrowTable(table)).records);
  }
  expect(found).toEqual(interopRows.slice(1).map((row) => Object.fromEntries(columns.map((name) => [name, row[name]]))));
  await writeParquet(path, [{ x: 1, y: 2n }, { x: -1, y: 3n }], { schema: { x: "int32", y: "int64" } });
  for await (const table of new ParquetReader({ path }).tables()) expect([...(table.getChild("y") ?? [])]).toEqual([2n, 3n]);
});

test("Writer interop: pages of version 1 in snappy open in parquetjs-lite itself", async () => {
  const path = join(directory, "lite.parquet");
  const rows = Array.from({ length: 50 }, (_, index) => ({ id: index, text: `text ${String(index % 5)}`, score: index % 7 === 0 ? null : index / 4 }));
  await writeParquet(path, rows, { schema: { id: "int32", text: "string", score: { nullable: "float64" } }, compression: "snappy", pageVersion: 1, rowGroupRows: 20, pageRows: 8 });
  const library = await loadLite();
  const cursor = (await library.ParquetReader.openBuffer(await readFile(path), { rawStatistics: true })).getCursor(["id", "text", "score"]);
  const found: unknown[] = [];
  for (let row = await cursor.next(); row !== null; row = await cursor.next()) found.push({ score: null, ...row });
  expect(found).toEqual(rows);
});

test.each(["zephyr", "parquetjs-lite"] as const)("Writer interop: 5,000 appends that nobody waits for, with %s, give a file no larger than appends one by one", async (codec) => {
  const schema = { id: "int32", text: "string" } as const;
  const rows = Array.from({ length: 5000 }, (_, id) => ({ id, text: `text ${String(id)}` }));
  const size = async (waits: boolean, count: number): Promise<number> => {
    const writer = new ParquetWriter(join(directory, "appends.parquet"), { schema, codec, compression: "uncompressed", rowGroupRows: 500 });
    const appends = [];
    for (const row of rows.slice(0, count)) {
      const append = writer.write(row);
      if (waits) await append;
      else appends.push(append);
    }
    const [{ bytes }] = await Promise.all([writer.close(), ...appends]);
    return bytes;
  };
  const whole = await size(false, 5000);
  expect(whole).toBe(await size(true, 5000));
  expect(await read(join(directory, "appends.parquet"))).toEqual(rows);
  expect(Math.abs(whole / (2 * (await size(false, 2500))) - 1)).toBeLessThan(0.05);
});
