import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import { Dataset } from "../dataset.js";
import { readRecords } from "../readers/records.js";
import { writeParquet } from "../writers/parquet.js";

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
