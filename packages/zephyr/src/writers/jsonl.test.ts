import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Dataset } from "../dataset.js";
import { JsonlReader } from "../readers/jsonl.js";
import { JsonlWriter, writeJsonl } from "./jsonl.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-write-"));
  path = join(directory, "a.jsonl");
});
afterEach(() => rm(directory, { recursive: true }));

test("what is written reads back equal", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 3 })), async (records) => {
      const summary = await writeJsonl(path, records);
      expect(summary).toEqual({ records: records.length, bytes: (await stat(path)).size });
      const expected = records.map((record) => JSON.parse(JSON.stringify(record)) as unknown);
      expect(await Dataset.fromAsyncIterable(new JsonlReader({ path })).toArray()).toEqual(expected);
    }),
    { numRuns: 30 },
  ));

test("more than memory hands over at once: many large records, in order", async () => {
  const records = Array.from({ length: 50 }, (_, index) => ({ index, text: "x".repeat(100_000) }));
  expect((await writeJsonl(path, Dataset.fromArray(records))).records).toBe(50);
  expect(await readFile(path, "utf8")).toBe(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
});

test("a source that fails, an abort, a block that throws: no file, and what was there stays", async () => {
  await writeJsonl(path, ["old"]);
  const boom = new Error("boom");
  const failing = Dataset.fromArray([1, 2]).map((value) => {
    if (value === 2) throw boom;
    return "y".repeat(2 << 20);
  });
  await expect(writeJsonl(path, failing)).rejects.toBe(boom);
  const writer = new JsonlWriter(path);
  await writer.write(1);
  await writer.abort();
  await writer.abort();
  await expect(writer.write(2)).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD" });
  await expect(writer.close()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD" });
  expect(await readFile(path, "utf8")).toBe('"old"\n');
  expect(await readdir(directory)).toEqual(["a.jsonl"]);
});

test("two files at once", async () => {
  const writers = ["train", "validation"].map((name) => new JsonlWriter(join(directory, name)));
  for (let index = 0; index < 10; index += 1) await writers[index % 2]?.write(index);
  expect(await Promise.all(writers.map((writer) => writer.close()))).toEqual([{ records: 5, bytes: 10 }, { records: 5, bytes: 10 }]);
  expect(await readFile(join(directory, "validation"), "utf8")).toBe("1\n3\n5\n7\n9\n");
});

test.each([
  ["undefined", undefined],
  ["a bigint", { n: 1n }],
  ["a function", () => 1],
])("%s is refused, naming the record", async (_what, record) => {
  await expect(writeJsonl(path, [1, record])).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, record: 2 } });
  expect(await readdir(directory)).toEqual([]);
});

test("a file where a directory is needed is told by the first write that meets it, large or small; missing directories are made", async () => {
  await writeFile(join(directory, "file"), "");
  const nowhere = join(directory, "file", "a.jsonl");
  await expect(writeJsonl(nowhere, [1])).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
  await expect(writeJsonl(nowhere, ["z".repeat(3 << 20), "z".repeat(3 << 20)])).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
  expect(await writeJsonl(join(directory, "new", "deep", "a.jsonl"), [1])).toEqual({ records: 1, bytes: 2 });
});

test("a file whose name ends in .gz is packed, and reads back", async () => {
  const path = join(directory, "a.jsonl.gz");
  const records = Array.from({ length: 20_000 }, (_, index) => ({ index, text: "again and again" }));
  const { bytes } = await writeJsonl(path, records);
  expect(bytes).toBeLessThan(200_000);
  const packed = await readFile(path);
  expect(packed.length).toBe(bytes);
  expect(gunzipSync(packed).toString().split("\n", 1)).toEqual(['{"index":0,"text":"again and again"}']);
  expect(await Dataset.fromAsyncIterable(new JsonlReader({ path })).toArray()).toEqual(records);
});
