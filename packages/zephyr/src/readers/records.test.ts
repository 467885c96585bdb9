import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { withLocalContext } from "@marin/iris";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryFile } from "../../test/read-all.js";
import { Dataset } from "../dataset.js";
import { writeParquet } from "../writers/parquet.js";
import { readRecords } from "./records.js";
import { formatOf, recordExtensions } from "./registry.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-records-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

const all = (path: string): Promise<unknown[]> => Dataset.fromAsyncIterable(readRecords(path)).toArray();

test("each kind of file gives its records, twice when asked twice", async () => {
  const lines = '{"text":"one"}\n{"text":"zwei ü"}\n';
  const parquet = join(directory, "a.parquet");
  await writeParquet(parquet, [{ text: "one" }, { text: "zwei ü" }], { schema: { text: "string" } });
  const records = [{ text: "one" }, { text: "zwei ü" }];
  const paths = [await file("a.jsonl", lines), await file("a.JSONL.GZ", gzipSync(lines)), parquet];
  for (const path of paths) {
    const source = readRecords(path);
    for (let round = 0; round < 2; round += 1) expect(await Dataset.fromAsyncIterable(source).toArray()).toEqual(records);
  }
  expect(await all(await file("a.txt", "\uFEFFeins\r\nzwei\n"))).toEqual([{ text: "eins\r\nzwei\n" }]);
  expect(await all(await file("a.md", "# A"))).toEqual([{ text: "# A" }]);
  expect(await all(await file("a.txt.gz", gzipSync("eins")))).toEqual([{ text: "eins" }]);
});

test("a kind of file that is not read is refused at once, naming those that are", () => {
  expect(() => readRecords("a/b.zzz")).toThrow(expect.objectContaining({ code: "ZEPHYR_UNKNOWN_FORMAT", data: { path: "a/b.zzz", extensions: recordExtensions() } }));
  expect(() => formatOf("parquet")).toThrow(".jsonl");
});

test("gzip members one after the other are one text, wherever the chunks are cut; padding by zeros is none", async () => {
  const path = await file("m.txt.gz", Buffer.concat([gzipSync("eins "), gzipSync(""), gzipSync("zwei"), Buffer.alloc(512)]));
  expect(await all(path)).toEqual([{ text: "eins zwei" }]);
});

test("a packed file cut anywhere is an error that names file and place, never a shorter text", async () => {
  const packed = gzipSync(Buffer.from("The quick brown fox. ".repeat(200)));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: packed.length - 1 }), async (length) => {
      const path = await file("cut.txt.gz", packed.subarray(0, length));
      await expect(all(path)).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path, offset: length }, message: expect.stringContaining("cut short") as string });
    }),
    { numRuns: 40 },
  );
});

test.each([
  ["a flipped checksum", (bytes: Buffer) => bytes.fill(bytes[bytes.length - 6]! ^ 1, bytes.length - 6, bytes.length - 5)],
  ["a flipped bit of the data", (bytes: Buffer) => bytes.fill(bytes[40]! ^ 4, 40, 41)],
  ["something behind the end", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("PK\u0003\u0004")])],
  ["no gzip at all", () => Buffer.from('{"text":"plain"}\n')],
])("%s is an error", async (_what, damage) => {
  const path = await file("bad.jsonl.gz", damage(gzipSync(`{"text":"${"abc def ".repeat(30)}"}\n`)));
  const reading = all(path);
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path } });
  await expect(reading).rejects.toThrow("damaged");
});

test("half a JSON line and bytes that are not UTF-8, in a packed file, are told with file, line and offset", async () => {
  const half = await file("half.jsonl.gz", gzipSync('{"a":1}\n{"a":'));
  await expect(all(half)).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { path: half, line: 2, offset: 8 } });
  const latin = await file("latin.txt.gz", gzipSync(Buffer.from("caf\u00e9", "latin1")));
  await expect(all(latin)).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { path: latin, offset: 3 } });
});

test("a missing file and an aborted reading", async () => {
  for (const name of ["none.txt", "none.jsonl.gz", "none.parquet"]) {
    await expect(all(join(directory, name))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  }
  const path = await file("abort.txt.gz", gzipSync("text"));
  const signal = AbortSignal.abort(new Error("stop"));
  await expect(Dataset.fromAsyncIterable(readRecords(path, { signal })).toArray()).rejects.toThrow("stop");
});

test("records are counted whatever they hold, also where bad ones are passed over", async () => {
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const storage = await memoryFile("memory://any.jsonl", `1\n"two"\nnull\n[4]\n{"a":5}\n${nested}\n`);
  await withLocalContext({ storage }, async () => {
    expect(await Dataset.fromFiles("memory://any.jsonl").count().toArray()).toEqual([6]);
    expect(await Dataset.fromFiles("memory://any.jsonl", { onBadRecord: { skip: true } }).count().toArray()).toEqual([6]);
    await expect(Dataset.fromFiles("memory://any.jsonl", { columns: ["a"] }).toArray()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { line: 1 } });
    expect(await Dataset.fromFiles("memory://any.jsonl", { columns: ["a"], onBadRecord: { skip: true } }).toArray()).toEqual([{ a: 5 }]);
  });
});
