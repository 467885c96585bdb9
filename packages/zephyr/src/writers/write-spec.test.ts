import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entry } from "@marin/iris";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type { noWriter, tokenFile } from "../../test/token-file.js";
import { readArrowFile } from "../arrow/table.js";
import { Dataset } from "../dataset.js";
import { ParquetReader } from "../readers/parquet.js";
import { readRecords } from "../readers/records.js";

const tokenModule = new URL("../../test/token-file.ts", import.meta.url);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-writes-"));
});
afterEach(() => rm(directory, { recursive: true }));

const records = [{ a: 1 }, { a: 2 }, { a: 0.5 }, { b: "x" }];
const dataset = Dataset.fromArray(records, { shards: 4 });
const out = (name: string): string => join(directory, name);

test("every format: a file for each shard, named by the pattern, with its records counted", async () => {
  for (const [written, ending] of [
    [dataset.writeJsonl(out("{shard:02d}-of-{total}.jsonl.zst")), "jsonl.zst"],
    [dataset.writeParquet(out("{shard:02d}-of-{total}.parquet")), "parquet"],
    [dataset.writeArrow(out("{shard:02d}-of-{total}.arrow")), "arrow"],
  ] as const) {
    const files = await written.toArray();
    expect(files).toEqual([0, 1, 2, 3].map((shard) => ({ path: out(`0${String(shard)}-of-4.${ending}`), records: 1, bytes: expect.any(Number) as number, skipped: false })));
    for (const { path, bytes } of files) expect((await readFile(path)).length).toBe(bytes);
  }
  expect(await collect(readRecords(out("03-of-4.jsonl.zst")))).toEqual([{ b: "x" }]);
  expect(await readArrowFile(out("03-of-4.arrow"))).toEqual({ schema: { b: { nullable: "string" } }, records: [{ b: "x" }] });
});

test("Parquet files whose schema is inferred have one schema", async () => {
  await dataset.writeParquet(out("{shard}.parquet")).toArray();
  const readers = [0, 1, 2, 3].map((shard) => new ParquetReader({ path: out(`${String(shard)}.parquet`) }));
  for (const reader of readers) expect(await reader.schema()).toEqual({ a: { nullable: "float64" }, b: { nullable: "string" } });
  expect((await Promise.all(readers.map(collect))).flat()).toEqual(records.map((record) => ({ a: null, b: null, ...record })));
});

test("a schema that is given holds for every file, an empty one too", async () => {
  const schema = { a: { nullable: "int64" } } as const;
  await Dataset.fromArray([{ a: 1n }], { shards: 2 }).writeParquet(out("{shard}.parquet"), { schema }).toArray();
  for (const shard of [0, 1]) expect(await new ParquetReader({ path: out(`${String(shard)}.parquet`) }).schema()).toEqual(schema);
});

test("input names make output names", async () => {
  for (const name of ["x", "y"]) await writeFile(out(`${name}.jsonl`), `{"from":"${name}"}\n`);
  await Dataset.fromFiles(out("{x,y}.jsonl")).writeJsonl(out("copies/{basename}.jsonl.gz")).toArray();
  expect(await readdir(out("copies"))).toEqual(["x.jsonl.gz", "y.jsonl.gz"]);
  expect(await collect(readRecords(out("copies/y.jsonl.gz")))).toEqual([{ from: "y" }]);
});

test("a conflict between shards names both files", async () => {
  await expect(Dataset.fromArray([{ a: 1 }, { a: "x" }], { shards: 2 }).writeParquet(out("{shard}.parquet")).toArray()).rejects.toMatchObject({
    code: "ZEPHYR_SCHEMA_CONFLICT",
    data: { column: "a", path: out("1.parquet"), record: 1, type: "string", other: { path: out("0.parquet"), record: 1, type: "int64" } },
  });
});

test("a token cache is written by a writer of its own, and is there when its marker is", async () => {
  const tokens = Dataset.fromArray([{ tokens: [1, 2] }, { tokens: [65_535] }], { shards: 2 });
  const writer = entry<typeof tokenFile>(tokenModule, "tokenFile");
  const files = await tokens.writeTokenCache(out("cache-{shard}"), { writer, marker: "ledger.json", skipExisting: true }).toArray();
  expect(files.map(({ records: count, bytes }) => [count, bytes])).toEqual([
    [1, 4],
    [1, 2],
  ]);
  await rm(out("cache-1/ledger.json"));
  const again = await tokens.writeTokenCache(out("cache-{shard}"), { writer, marker: "ledger.json", skipExisting: true }).toArray();
  expect(again.map(({ skipped }) => skipped)).toEqual([true, false]);
  await expect(tokens.writeTokenCache(out("{shard}"), { writer: entry<typeof noWriter>(tokenModule, "noWriter") as never }).toArray()).rejects.toMatchObject({ code: "ZEPHYR_BAD_WRITER" });
});

test("patterns are refused when the write is written down, not when it runs", () => {
  expect(() => dataset.writeJsonl("{nothing}.jsonl")).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_PATTERN" }));
});
