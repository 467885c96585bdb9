import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, afterEach, beforeEach } from "vitest";
import { collect } from "../../test/collect.js";
import { Dataset } from "../dataset.js";
import type { ParquetType } from "../parquet/types.js";
import { readRecords } from "../readers/records.js";
import { writeParquet } from "../writers/parquet.js";
import { recordParser } from "./record-parser.js";

test.each<[ParquetType, unknown, unknown]>([
  ["int64", 5, 5n],
  ["uint64", 5n, 5n],
  ["int32", 5, 5],
  ["float64", 0.5, 0.5],
  ["float64", 2n ** 60n, 2 ** 60],
  ["float64", 1152921504606847000n, 2 ** 60],
  ["timestamp-micros", 5, 5n],
  ["date", "2024-02-29", new Date("2024-02-29")],
  ["timestamp-millis", "2024-02-29T12:00:00.5+01:00", new Date("2024-02-29T11:00:00.500Z")],
  [{ decimal: { precision: 5, scale: 2 } }, "1.50", "1.50"],
  [{ decimal: { precision: 5, scale: 2 } }, "-0.5000", "-0.50"],
  [{ decimal: { precision: 5, scale: 2 } }, -7, "-7.00"],
  [{ decimal: { precision: 5, scale: 0 } }, "-0.0", "0"],
  [{ nullable: { decimal: { precision: 38, scale: 2 } } }, 9007199254740993n, "9007199254740993.00"],
  [{ nullable: "int64" }, null, null],
  [{ nullable: "int64" }, undefined, null],
  [{ list: "int64" }, [1, 2], [1n, 2n]],
  [{ map: { key: "string", value: "int64" } }, { a: 1 }, new Map([["a", 1n]])],
  [{ struct: { a: "int64", b: { nullable: "date" } } }, { a: 1 }, { a: 1n, b: null }],
])("%j takes %o", (type, value, expected) => {
  expect(recordParser({ x: type })({ x: value })).toEqual({ x: expected });
});

test.each<[ParquetType, unknown, string, string]>([
  ["int64", "5", "x", 'found "5"'],
  ["int64", 0.5, "x", "found 0.5"],
  ["int64", undefined, "x", "found undefined"],
  ["int64", 2n ** 63n, "x", "found 9223372036854775808n"],
  ["float64", 2n ** 60n + 1n, "x", "found 1152921504606846977n"],
  ["float64", 10n ** 400n, "x", "expected a number"],
  ["string", 5, "x", "expected text, found 5"],
  [{ decimal: { precision: 5, scale: 2 } }, "1.505", "x", 'found "1.505"'],
  [{ decimal: { precision: 5, scale: 2 } }, 1.5, "x", "found 1.5"],
  [{ decimal: { precision: 5, scale: 2 } }, "1000", "x", "expected a decimal of at most 5 digits"],
  ["timestamp-millis", "2024-02-29T12:00:00", "x", "found"],
  ["date", "yesterday", "x", "midnight UTC"],
  ["date", "2024-02-30", "x", 'found "2024-02-30"'],
  ["timestamp-millis", "2023-02-29T12:00:00Z", "x", "found"],
  [{ list: "string" }, ["a", 1], "x[]", "expected text"],
  [{ struct: { a: "int32" } }, { a: 1, b: 2 }, "x.b", "no such column"],
])("%j does not take %o", (type, value, column, message) => {
  expect(() => recordParser({ x: type })({ x: value })).toThrow(expect.objectContaining({ column, message: expect.stringContaining(message) as string }));
});

test.each<[ParquetType, string, unknown]>([
  ["int64", "-9007199254740993", -9007199254740993n],
  ["int32", "+7", 7],
  ["float64", "1e-3", 0.001],
  ["float64", "-Infinity", -Infinity],
  ["boolean", "TRUE", true],
  ["string", "", ""],
  ["date", "2024-02-29", new Date("2024-02-29")],
  [{ nullable: "int64" }, "", null],
  [{ nullable: "string" }, "", ""],
  [{ decimal: { precision: 5, scale: 2 } }, "1.50", "1.50"],
  [{ nullable: { decimal: { precision: 5, scale: 2 } } }, "7", "7.00"],
])("%j takes the text %j", (type, value, expected) => {
  expect(recordParser({ x: type }, "text")({ x: value })).toEqual({ x: expected });
});

test.each<[ParquetType, string, string]>([
  ["int64", "1.0", 'found "1.0"'],
  ["float64", "1e999", 'found "1e999"'],
  ["int64", "", 'found ""'],
  ["float64", "1,5", 'found "1,5"'],
  ["int8", "128", "found 128"],
  ["boolean", "yes", 'found "yes"'],
])("%j does not take the text %j", (type, value, message) => {
  expect(() => recordParser({ x: type }, "text")({ x: value })).toThrow(message);
});

test("columns of the schema alone, and objects alone", () => {
  expect(() => recordParser({ x: "int32" })({ x: 1, y: 2 })).toThrow("the schema has no such column");
  expect(() => recordParser({ x: "int32" })([1])).toThrow("it is a list");
  expect(Object.entries(recordParser({ ["constructor" as string]: { nullable: "string" } })({}))).toEqual([["constructor", null]]);
});

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-typed-"));
});
afterEach(() => rm(directory, { recursive: true }));

const schema = { id: "int64", day: { nullable: "date" }, score: { nullable: "float64" } } as const;
const expected = [
  { id: 1n, day: new Date("2024-02-29"), score: 0.5 },
  { id: 2n, day: null, score: null },
];

test("JSON Lines, CSV and Parquet give the same records under a schema", async () => {
  const [jsonl, csv, parquet] = ["a.jsonl", "a.csv", "a.parquet"].map((name) => join(directory, name)) as [string, string, string];
  await writeFile(jsonl, '{"id":1,"day":"2024-02-29","score":0.5}\n{"id":2,"day":null}\n');
  await writeFile(csv, "id,day,score\n1,2024-02-29,0.5\n2,,\n");
  await writeParquet(parquet, expected, { schema });
  for (const path of [jsonl, csv, parquet]) {
    expect(await collect(readRecords(path, { schema }))).toEqual(expected);
    expect(await Dataset.fromFiles(path, { schema, pathColumn: "from" }).select("id", "from").toArray()).toEqual([1n, 2n].map((id) => ({ id, from: path })));
  }
  await expect(collect(readRecords(jsonl, { schema, columns: ["other"] }))).rejects.toMatchObject({ code: "ZEPHYR_NO_COLUMN", data: { path: jsonl, column: "other" } });
});

test("a record that does not fit names file, line, column and what was found, and can be skipped", async () => {
  const path = join(directory, "a.jsonl");
  await writeFile(path, '{"id":1}\n{"id":"x"}\n{"id":2,"more":1}\n[1]\n{"id":3}\n');
  const reading = collect(readRecords(path, { schema }));
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, line: 2, column: "id" } });
  await expect(reading).rejects.toThrow(`${path}, line 2 does not hold what it should: column id: expected a bigint`);
  await expect(reading).rejects.toThrow('found "x"');
  const sideFile = join(directory, "bad.jsonl");
  expect(await collect(readRecords(path, { schema, columns: ["id"], onBadRecord: { skip: true, sideFile } }))).toEqual([1n, 2n, 3n].map((id) => ({ id })));
  expect((await readFile(sideFile, "utf8")).trim().split("\n").map((line) => (JSON.parse(line) as { readonly line: number }).line)).toEqual([2, 4]);
});

test("a schema that names no type is refused before any record is: it is not the records that are bad", () => {
  for (const [type, at] of [["integer", "a"], [null, "a"], [{}, "a"], [{ nullable: "text" }, "a"], [{ list: "int" }, "a[]"], [{ struct: { b: "utf8" } }, "a.b"], [{ map: { key: "string", value: 7 } }, "a.value"], [{ list: "string", nullable: "string" }, "a"]] as const) {
    expect(() => recordParser({ ok: "string", a: type as never })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_SCHEMA", data: { column: at } }));
  }
  recordParser({ a: { nullable: { map: { key: "string", value: { list: { struct: { b: "interval", c: { decimal: { precision: 9, scale: 2 } }, d: { fixedBytes: 3 } } } } } } } });
});
