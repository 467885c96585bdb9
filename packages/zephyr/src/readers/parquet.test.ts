import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isMarinError } from "@marin/iris";
import { Dataset } from "../dataset.js";
import type { ParquetCompression } from "../parquet/types.js";
import { writeParquet } from "../writers/parquet.js";
import { ParquetReader, type ParquetReaderOptions } from "./parquet.js";

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-parquet-"));
  path = join(directory, "a.parquet");
});
afterAll(() => rm(directory, { recursive: true }));

const schema = { id: "int64", text: "string", tags: { nullable: { list: "string" } } } as const;
const rows = Array.from({ length: 250 }, (_, index) => ({ id: BigInt(index), text: `text ${String(index)} ${String(Math.sin(index))}`, tags: index % 5 === 0 ? null : ["a", String(index)] }));
const all = (options: Partial<ParquetReaderOptions> = {}): Promise<unknown[]> => Dataset.fromAsyncIterable(new ParquetReader({ path, ...options })).toArray();

async function written(compression: ParquetCompression = "zstd"): Promise<Buffer> {
  await writeParquet(path, rows, { schema, rowGroupRows: 100, compression });
  return readFile(path);
}

test("columns in the file's order, by name; each can be read alone; one that is not there is refused, naming those that are", async () => {
  await written();
  const reader = new ParquetReader({ path });
  expect(await reader.columns()).toEqual([
    { name: "id", type: "int64" },
    { name: "text", type: "string" },
    { name: "tags", type: { nullable: { list: "string" } } },
  ]);
  expect(await all({ columns: ["tags"] })).toEqual(rows.map(({ tags }) => ({ tags })));
  expect(await all({ columns: ["text", "id"] })).toEqual(rows.map(({ id, text }) => ({ id, text })));
  await expect(all({ columns: ["id", "score"] })).rejects.toMatchObject({ code: "ZEPHYR_NO_COLUMN", data: { path, column: "score", columns: ["id", "text", "tags"] } });
});

test("equal records give equal bytes", async () => {
  expect(await written()).toEqual(await written());
});

test("a file cut short anywhere is an error that names file and place", async () => {
  const whole = await written();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
      await writeFile(path, whole.subarray(0, length));
      const failure: unknown = await all().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "ZEPHYR_BAD_PARQUET", data: { path, offset: expect.any(Number) as number } });
      expect((failure as Error).message).toContain(path);
    }),
    { numRuns: 60 },
  );
});

test("bytes missing from the middle are an error, never fewer or other rows", async () => {
  const whole = await written("uncompressed");
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 4, max: whole.length - 2000 }), fc.integer({ min: 1, max: 500 }), async (at, count) => {
      await writeFile(path, Buffer.concat([whole.subarray(0, at), whole.subarray(at + count)]));
      await expect(all()).rejects.toMatchObject({ code: "ZEPHYR_BAD_PARQUET", data: { path } });
    }),
    { numRuns: 40 },
  );
});

test.each(["", "PAR1", "PAR1PAR1", "not a parquet file at all", "PK\u0003\u0004 and so on"])("%j is no Parquet file", async (content) => {
  await writeFile(path, content);
  await expect(all()).rejects.toMatchObject({ code: "ZEPHYR_BAD_PARQUET", data: { path } });
});

test("an encrypted file is called one", async () => {
  const whole = await written();
  await writeFile(path, Buffer.concat([whole.subarray(0, whole.length - 4), Buffer.from("PARE")]));
  await expect(all()).rejects.toMatchObject({ code: "ZEPHYR_PARQUET_UNSUPPORTED", message: expect.stringContaining("encrypted") as string });
});

test("a damaged page is an error that names the row group's place; the records before it are delivered", async () => {
  const whole = await written("gzip");
  const seen: unknown[] = [];
  // A gzip header begins the first page's data of the second row group.
  const second = 1 + whole.indexOf(Buffer.from([0x1f, 0x8b]), Math.floor(whole.length / 2));
  whole.fill(0x00, second, second + 1);
  await writeFile(path, whole);
  const reading = (async () => {
    for await (const record of new ParquetReader({ path })) seen.push(record);
  })();
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_BAD_PARQUET", data: { path, offset: expect.any(Number) as number } });
  expect([100, 200]).toContain(seen.length);
  expect(seen).toEqual(rows.slice(0, seen.length));
});

test.each(["snappy", "zstd"] as const)("whatever single byte of a %s file is wrong: an error of ours, or all rows; no crash, no endless work", async (compression) => {
  const whole = await written(compression);
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ change;
      await writeFile(path, damaged);
      const result = await all().catch((error: unknown) => error);
      if (Array.isArray(result)) expect(result).toHaveLength(rows.length);
      else expect(isMarinError(result), String(result)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("text that is not UTF-8 is an error that names the file", async () => {
  // A writer that gives pages no checksum, which would tell it first.
  await writeParquet(path, rows.map(({ text }) => ({ text })), { schema: { text: "string" }, codec: "parquetjs-lite", compression: "uncompressed" });
  const whole = await readFile(path);
  whole.fill(0xff, whole.indexOf("text 7 ") + 1, whole.indexOf("text 7 ") + 2);
  await writeFile(path, whole);
  await expect(all()).rejects.toMatchObject({ code: "ZEPHYR_BAD_PARQUET", message: expect.stringContaining("UTF-8") as string });
});

test("a reading is aborted between row groups; a directory is no file", async () => {
  await written();
  const controller = new AbortController();
  let seen = 0;
  const reading = (async () => {
    for await (const _ of new ParquetReader({ path, signal: controller.signal })) if (++seen === 100) controller.abort(new Error("stop"));
  })();
  await expect(reading).rejects.toThrow("stop");
  expect(seen).toBe(100);
  await expect(new ParquetReader({ path: directory }).rowCount()).rejects.toMatchObject({ code: "RIGGING_IS_DIRECTORY" });
});
