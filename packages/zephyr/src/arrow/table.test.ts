import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Dictionary, Float16, Int32, makeData, makeVector, Table, TimestampSecond, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anyFile } from "../../test/any-file.js";
import { writeArrowFile } from "../writers/arrow.js";
import { fromArrowTable, readArrowFile, toArrowTable } from "./table.js";

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-arrow-"));
  path = join(directory, "a.arrow");
});
afterAll(() => rm(directory, { recursive: true }));

test("any schema and any rows: a table gives them back, and so does a file", () =>
  fc.assert(
    fc.asyncProperty(anyFile, async ({ schema, rows }) => {
      expect(await fromArrowTable(await toArrowTable(rows, schema))).toEqual({ schema, records: rows });
      await writeArrowFile(path, rows, { schema });
      expect(await readArrowFile(path)).toEqual({ schema, records: rows });
    }),
    { numRuns: 60 },
  ));

test("the library itself reads the same values", async () => {
  const schema = { id: "int64", text: { nullable: "string" }, list: { list: "int32" }, pair: { struct: { a: "float64" } } } as const;
  const rows = [
    { id: 2n ** 63n - 1n, text: "ü", list: [1, 2], pair: { a: 0.1 } },
    { id: -1n, text: null, list: [], pair: { a: -0 } },
  ];
  await writeArrowFile(path, rows, { schema });
  const table = tableFromIPC(await readFile(path));
  expect(table.numRows).toBe(2);
  expect([...(table.getChild("id") ?? [])]).toEqual(rows.map(({ id }) => id));
  expect([...(table.getChild("text") ?? [])]).toEqual(["ü", null]);
  expect((table.getChild("list")?.get(0) as { toArray(): Int32Array }).toArray()).toEqual(Int32Array.of(1, 2));
  expect((table.getChild("pair")?.get(0) as { a: number }).a).toBe(0.1);
});

test("times and decimals are exact where the library itself rounds", async () => {
  const schema = { nano: "timestamp-nanos", money: { decimal: { precision: 38, scale: 2 } } } as const;
  const rows = [{ nano: 1709210096123456789n, money: "-999999999999999999999999999999999999.99" }];
  expect((await fromArrowTable(await toArrowTable(rows, schema))).records).toEqual(rows);
});

test("tables that others made: dictionaries, several batches, streams", async () => {
  const words = vectorFromArray(["b", null, "a", "b"], new Dictionary(new Utf8(), new Int32()));
  const numbers = makeVector(makeData({ type: new Int32(), data: Int32Array.of(1, 2, 3, 4) }));
  const table = new Table({ word: words, number: numbers });
  const records = [
    { word: "b", number: 1 },
    { word: null, number: 2 },
    { word: "a", number: 3 },
    { word: "b", number: 4 },
  ];
  expect((await fromArrowTable(table)).records).toEqual(records);
  expect((await fromArrowTable(table.slice(1, 3))).records).toEqual(records.slice(1, 3));
  expect((await fromArrowTable(table.slice(2).concat(table.slice(0, 2)))).records).toEqual([...records.slice(2), ...records.slice(0, 2)]);
  await writeFile(path, tableToIPC(table, "stream"));
  expect((await readArrowFile(path)).records).toEqual(records);
});

test("what is not read or made is refused, naming the column", async () => {
  const seconds = new Table({ at: vectorFromArray([1000], new TimestampSecond()) });
  await expect(fromArrowTable(seconds)).rejects.toMatchObject({ code: "ZEPHYR_ARROW_UNSUPPORTED", data: { column: "at" } });
  const halves = new Table({ h: vectorFromArray([1], new Float16()) });
  await expect(fromArrowTable(halves)).rejects.toMatchObject({ code: "ZEPHYR_ARROW_UNSUPPORTED", data: { column: "h" } });
  await expect(toArrowTable([], { h: "float16" })).rejects.toMatchObject({ code: "ZEPHYR_ARROW_UNSUPPORTED", message: expect.stringContaining("use float32") as string });
  await expect(toArrowTable([{ a: 1 }, { a: "x" }], { a: "int32" })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 2, column: "a" } });
});

test("a file cut short, and what is no Arrow file", async () => {
  await writeArrowFile(path, Array.from({ length: 100 }, (_, a) => ({ a })), { schema: { a: "int32" } });
  const whole = await readFile(path);
  for (const length of [0, 7, 100, Math.floor(whole.length / 2), whole.length - 1]) {
    await writeFile(path, whole.subarray(0, length));
    await expect(readArrowFile(path), String(length)).rejects.toMatchObject({ code: "ZEPHYR_BAD_ARROW", data: { path, bytes: length } });
  }
  await writeFile(path, "hello, this is text and nothing else");
  await expect(readArrowFile(path)).rejects.toMatchObject({ code: "ZEPHYR_BAD_ARROW" });
  await expect(readArrowFile(join(directory, "none"))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});
