import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { JsonlReader, type JsonlReaderOptions } from "./jsonl.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-jsonl-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function read(content: string | Uint8Array, options: Omit<JsonlReaderOptions<unknown>, "path"> = {}): Promise<unknown[]> {
  const path = join(directory, "a.jsonl");
  await writeFile(path, content);
  const records: unknown[] = [];
  for await (const record of new JsonlReader({ path, ...options })) records.push(record);
  return records;
}

/** Whole numbers beyond 2^53 are bigints: exact-json.test.ts looks at those. */
const short = (_key: string, value: unknown): unknown => (typeof value === "number" && Math.abs(value) > 2 ** 53 ? 0.5 : value);

test("records come back in order and equal, wherever the chunks are cut and whatever the line ends", () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 8 }).map((records) => JSON.parse(JSON.stringify(records), short) as unknown[]);
  const ends = fc.constantFrom("\n", "\r\n", "\n\n", "\n \t\r\n");
  return fc.assert(
    fc.asyncProperty(values, ends, fc.boolean(), fc.boolean(), fc.integer({ min: 3, max: 40 }), async (records, end, last, mark, chunkBytes) => {
      const lines = records.map((record) => JSON.stringify(record));
      const text = (mark ? "\uFEFF" : "") + lines.join(end) + (last ? end : "");
      expect(await read(text, { chunkBytes })).toEqual(lines.map((line) => JSON.parse(line) as unknown));
    }),
  );
});

test("an empty file has no records; a reader can be iterated again", async () => {
  expect(await read("")).toEqual([]);
  const path = join(directory, "twice.jsonl");
  await writeFile(path, "1\n2\n");
  const reader = new JsonlReader<number>({ path });
  for (let round = 0; round < 2; round += 1) {
    let sum = 0;
    for await (const value of reader) sum += value;
    expect(sum).toBe(3);
  }
});

test.each([3, 7, 1 << 20])("errors name file and line, in chunks of %d bytes", async (chunkBytes) => {
  const path = join(directory, "a.jsonl");
  await expect(read('{"a":1}\n\n{"a":\n', { chunkBytes })).rejects.toMatchObject({
    code: "ZEPHYR_BAD_JSON",
    data: { path, line: 3, offset: 9 },
    message: expect.stringContaining(`${path}, line 3 is not JSON`) as string,
  });
  await expect(read('{"a":1}\n{"a":2', { chunkBytes })).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { line: 2 } });
  const latin1 = Buffer.concat([Buffer.from('\uFEFF"ok"\n"gr'), Buffer.from([0xfc]), Buffer.from('n"\n')]);
  await expect(read(latin1, { chunkBytes })).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { path, line: 2, offset: 11, byte: "0xfc" } });
});

test("records before the bad line are delivered first", async () => {
  const path = join(directory, "a.jsonl");
  await writeFile(path, "1\n2\nx\n");
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const value of new JsonlReader({ path })) seen.push(value);
  })();
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON" });
  expect(seen).toEqual([1, 2]);
});

test("parse gives the type; what it refuses is told with file and line", async () => {
  const parse = (value: unknown): number => {
    if (typeof value !== "number") throw new TypeError("not a number");
    return value + 1;
  };
  expect(await read("1\n2\n", { parse })).toEqual([2, 3]);
  await expect(read('1\n"x"\n', { parse })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { line: 2 }, message: expect.stringContaining("not a number") as string });
});

test("a file without line ends is refused before it fills the memory", async () => {
  await expect(read(" ".repeat(1000), { maxLineBytes: 100, chunkBytes: 10 })).rejects.toMatchObject({ code: "ZEPHYR_LINE_TOO_LONG", data: { line: 1, limit: 100 } });
});

test("a missing file and an aborted reading", async () => {
  await expect(new JsonlReader({ path: join(directory, "none") })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  await expect(new JsonlReader({ path: directory })[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "RIGGING_IS_DIRECTORY" });
  await expect(read("1\n", { signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow("stop");
});
