import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { decompress } from "fzstd";
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

test.each<[string, unknown, string]>([
  ["undefined", undefined, "undefined"],
  ["a function", () => 1, "function"],
  ["bytes", { b: new Uint8Array(2) }, "b: bytes have no JSON form"],
  ["a set", { s: { inner: new Set([1]) } }, "s.inner: a set"],
  ["a map with other keys", { m: new Map([[1, 2]]) }, "m: a map whose keys are no text"],
])("%s is refused, naming record and place", async (_what, record, message) => {
  const writing = writeJsonl(path, [1, record]);
  await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, record: 2 } });
  await expect(writing).rejects.toThrow(message);
  expect(await readdir(directory)).toEqual([]);
});

test("a record that contains itself is refused", async () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = [loop];
  await expect(writeJsonl(path, [loop])).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 1 } });
});

test("values of Parquet that JSON can hold are written exactly", async () => {
  const record = { id: -(2n ** 53n) + 1n, day: new Date(0), map: new Map([["k", [1n]]]), list: Float32Array.of(0.5), text: "x", none: null, gone: undefined };
  await writeJsonl(path, [record]);
  expect(await readFile(path, "utf8")).toBe('{"id":-9007199254740991,"day":"1970-01-01T00:00:00.000Z","map":{"k":[1]},"list":[0.5],"text":"x","none":null}\n');
  expect(record.map.get("k")).toEqual([1n]);
});

test("numbers beyond 2^53 come back as what they were: bigints as bigints, float64 as float64", async () => {
  const record = { id: 2n ** 53n + 1n, list: [-(2n ** 64n), 1, null, "\"2\""], map: new Map([["k", 10n ** 40n]]), whole: 2 ** 60, large: 1e300, small: -(2 ** 53), gone: undefined, day: new Date(0), items: [undefined] };
  await writeJsonl(path, [record, 2n ** 70n, 2 ** 54]);
  expect(await readFile(path, "utf8")).toBe(
    '{"id":9007199254740993,"list":[-18446744073709551616,1,null,"\\"2\\""],"map":{"k":10000000000000000000000000000000000000000},"whole":1152921504606847000.0,"large":1e+300,"small":-9007199254740992.0,"day":"1970-01-01T00:00:00.000Z","items":[null]}\n1180591620717411303424\n18014398509481984.0\n',
  );
  const { gone: _gone, ...there } = record;
  expect(await Dataset.fromAsyncIterable(new JsonlReader({ path })).toArray()).toEqual([{ ...there, map: { k: 10n ** 40n }, day: "1970-01-01T00:00:00.000Z", items: [null] }, 2n ** 70n, 2 ** 54]);
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

test("a file whose name ends in .zst is packed in frames with checksums, which another library unpacks", async () => {
  const path = join(directory, "a.jsonl.zst");
  const line = `${JSON.stringify({ text: "again and again ".repeat(400) })}\n`;
  const records = Array.from({ length: 1500 }, () => JSON.parse(line) as unknown);
  const { bytes } = await writeJsonl(path, records);
  const packed = await readFile(path);
  expect(packed.length).toBe(bytes);
  expect(bytes).toBeLessThan((line.length * 1500) / 10);
  // RFC 8878, 3.1.1: the magic number, and the bit that promises a checksum; more than 4 MiB are several frames.
  expect(packed.readUInt32LE()).toBe(0xfd2fb528);
  expect((packed[4] ?? 0) & 4).toBe(4);
  expect(packed.indexOf(packed.subarray(0, 4), 4)).toBeGreaterThan(0);
  expect(Buffer.from(decompress(packed)).toString()).toBe(line.repeat(1500));
  expect(await Dataset.fromAsyncIterable(new JsonlReader({ path })).toArray()).toEqual(records);
  await writeJsonl(path, []);
  expect(decompress(await readFile(path))).toHaveLength(0);
  expect(() => new JsonlWriter(join(directory, "a.jsonl.xz"))).toThrow(expect.objectContaining({ code: "ZEPHYR_UNKNOWN_FORMAT" }));
});
