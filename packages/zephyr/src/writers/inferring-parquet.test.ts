import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage } from "@marin/iris";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type { ParquetRecord, ParquetValue } from "../parquet/types.js";
import { ParquetReader } from "../readers/parquet.js";
import { inferSchema } from "../schema/schema-inference.js";
import { InferringParquetWriter } from "./inferring-parquet.js";
import { giveOneSchema } from "./one-schema.js";
import { writeParquet } from "./parquet.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-infer-"));
  path = join(directory, "a.parquet");
});
afterEach(() => rm(directory, { recursive: true }));

const read = (file: string): Promise<ParquetRecord[]> => collect(new ParquetReader({ path: file }));

/** What another implementation says the columns are. */
async function described(...paths: string[]): Promise<Record<string, unknown>> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const duckdb = await instance.connect();
  try {
    const rows = (await duckdb.runAndReadAll(`describe select * from read_parquet([${paths.map((each) => `'${each}'`).join(", ")}])`)).getRowObjects();
    return Object.fromEntries(rows.map((row) => [row["column_name"] as string, row["column_type"]]));
  } finally {
    duckdb.closeSync();
    instance.closeSync();
  }
}

/** 12,000 rows: of the column `late` and `text` nothing is seen, and of `number` only whole ones, before the last ones. */
const rows = Array.from({ length: 12_000 }, (_, index) => ({
  id: index,
  text: index < 11_000 ? null : `t${String(index)}`,
  number: index === 11_990 ? 0.5 : index % 7,
  ...(index > 11_500 ? { late: [{ x: BigInt(index) }] } : {}),
}));
const types = { id: "BIGINT", text: "VARCHAR", number: "DOUBLE", late: "STRUCT(x BIGINT)[]" };

test("Schema widening: nulls for 11,000 rows and then text, a late column, a late fraction: in any order one schema, and every value is kept", async () => {
  const expected = rows.map((row) => ({ id: BigInt(row.id), text: row.text, number: row.number, late: row.late ?? null }));
  expect(await writeParquet(path, rows, {})).toMatchObject({ records: 12_000 });
  expect(await described(path)).toEqual(types);
  expect(await read(path)).toEqual(expected);
  await writeParquet(path, rows.toReversed(), {});
  expect(await described(path)).toEqual(types);
  expect(await read(path)).toEqual(expected.toReversed());
  // Nothing else is left.
  expect(await readdir(directory)).toEqual(["a.parquet"]);
});

test("Schema widening: an int64 and a string conflict, whatever comes first and however late: file, row and both types are named, no file is left", async () => {
  const mixed = [...rows.slice(0, 11_000).map(({ id }) => ({ id })), { id: "x" }];
  const scratch = join(directory);
  for (const [order, record, type, other] of [
    [mixed, 11_001, "string", { record: 1, type: "int64" }],
    [mixed.toReversed(), 2, "int64", { record: 1, type: "string" }],
  ] as const) {
    const writing = (async () => {
      const writer = new InferringParquetWriter(path, { source: "in/a.jsonl", scratch });
      try {
        for (const row of order) await writer.write(row);
      } finally {
        await writer.abort();
      }
    })();
    const file = `${path} (from in/a.jsonl)`;
    await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_SCHEMA_CONFLICT", data: { path: file, record, column: "id", type, other: { path: file, ...other } } });
    await expect(writing).rejects.toThrow(`${file}, record ${String(record)}: column id is ${type}`);
    expect(await readdir(directory)).toEqual([]);
  }
});

test("Schema widening: a given schema is a contract", async () => {
  await expect(writeParquet(path, rows, { schema: { id: "int64", number: "int64" } })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 1, column: "text" } });
});

test("files of one dataset get one schema, empty ones too, and a second time nothing is to be done", async () => {
  const parts: (readonly ParquetRecord[])[] = [[{ a: 1, b: null }], [], [{ a: 0.5, b: [1] }, { c: { d: "x" } }], [{ a: 2 ** 53 - 1, b: [], c: null }]];
  const paths = parts.map((_part, index) => join(directory, `${String(index)}.parquet`));
  for (const [index, part] of parts.entries()) await writeParquet(paths[index] ?? "", part, {});
  const storage = createStorage();
  const finished = await giveOneSchema(paths, { storage, stored: {} });
  expect(finished.map((file) => [file.path, file.rewritten])).toEqual(paths.map((file, index) => [file, index !== 2]));
  for (const { path: file, bytes } of finished) expect((await stat(file)).size).toBe(bytes);
  for (const file of paths) expect(await described(file)).toEqual({ a: "DOUBLE", b: "BIGINT[]", c: "STRUCT(d VARCHAR)" });
  expect((await Promise.all(paths.map(read))).flat()).toEqual([
    { a: 1, b: null, c: null },
    { a: 0.5, b: [1n], c: null },
    { a: null, b: null, c: { d: "x" } },
    { a: 2 ** 53 - 1, b: [], c: null },
  ]);
  expect((await giveOneSchema(paths, { storage, stored: {} })).filter(({ rewritten }) => rewritten)).toEqual([]);
  await writeParquet(paths[1] ?? "", [{ a: 1 }, { b: "x" }], {});
  await expect(giveOneSchema(paths, { storage, stored: {} })).rejects.toMatchObject({
    code: "ZEPHYR_SCHEMA_CONFLICT",
    data: { column: "b", path: paths[2], record: 1, type: "list", other: { path: paths[1], record: 2, type: "string" } },
    message: expect.stringContaining("The files are left as they were written") as string,
  });
});

/** Values that a column may hold beside each other. */
const families: readonly fc.Arbitrary<ParquetValue>[] = [
  fc.constantFrom<ParquetValue>(null, 1, -7, 0.5, NaN, 3n),
  fc.constantFrom<ParquetValue>(null, 5, -(2n ** 63n), 2n ** 63n - 1n),
  fc.constantFrom<ParquetValue>(null, "", "ü"),
  fc.constantFrom<ParquetValue>(null, new Date(5), new Date(-1)),
  fc.constantFrom<ParquetValue>(null, [], [null], [1], [0.5, 2n], [[1]].flat()),
  fc.constantFrom<ParquetValue>(null, { p: 1 }, { q: ["x"] }, { p: 0.5, q: null }, { r: { s: true } }),
  fc.constantFrom<ParquetValue>(null, new Map([["k", 1]]), new Map([["l", 0.5]]), new Map()),
];
const anyRecords = fc
  .tuple(...["a", "b", "c"].map((name) => fc.constantFrom(...families).map((family) => [name, family] as const)))
  .chain((columns) => fc.array(fc.record(Object.fromEntries(columns), { requiredKeys: [] }).map((record) => ({ ...record }) as ParquetRecord), { minLength: 1, maxLength: 20 }))
  .filter((records) => records.some((record) => Object.keys(record).length > 0));

/** A value as it is compared: a number and a bigint are equal when their values are, and what is missing is null. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...(value as ReadonlyMap<unknown, unknown>)].map(([key, item]) => [key, plain(item)]));
  if (typeof value !== "object" || value === null || value instanceof Date) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, field]) => [name, plain(field)] as const)
      .filter(([, field]) => field !== null),
  );
}

test("any records, with a row group every few: every value is read back, however often the schema widens", () =>
  fc.assert(
    fc.asyncProperty(anyRecords, fc.integer({ min: 1, max: 6 }), async (records, rowGroupRows) => {
      await writeParquet(path, records, { rowGroupRows });
      const back = await read(path);
      expect(back.map(plain)).toEqual(records.map(plain));
      expect(await new ParquetReader({ path }).schema()).toEqual(await inferSchema(records));
    }),
    { numRuns: 12 },
  ));
