import { afterAll, beforeAll, expect, test } from "vitest";
import { createStorage, type Storage, withLocalContext } from "@marin/iris";
import { type GcsServer, startGcsServer } from "@marin/iris/testing";
import { Dataset } from "../dataset.js";
import { writeJsonl } from "../writers/jsonl.js";
import { writeParquet } from "../writers/parquet.js";
import { ParquetReader } from "./parquet.js";
import { readRecords } from "./records.js";

let server: GcsServer;
let storage: Storage;
beforeAll(async () => {
  server = await startGcsServer({ buckets: ["my-bucket"] });
  storage = createStorage({ gcs: { endpoint: server.endpoint } });
});
afterAll(() => server.close());

const schema = { id: "int64", text: "string", score: { nullable: "float64" } } as const;
const rows = Array.from({ length: 3000 }, (_, index) => ({ id: BigInt(index), text: `${String(index)} ${"lorem ipsum ".repeat(20)}${String(Math.sin(index))}`, score: index % 3 === 0 ? null : index / 7 }));

/** Bytes of objects that a piece of work fetches, and in how many requests. */
async function fetched(work: () => Promise<unknown>): Promise<{ bytes: number; requests: number }> {
  const before = server.requests.length;
  await work();
  const reads = server.requests.slice(before).filter(({ objectBytes }) => objectBytes > 0);
  return { bytes: reads.reduce((sum, { objectBytes }) => sum + objectBytes, 0), requests: reads.length };
}

test("a file in a bucket: for await gives its records", async () => {
  await writeParquet("gs://my-bucket/dataset.parquet", rows, { schema, storage, rowGroupRows: 500, compression: "uncompressed" });
  const reader = new ParquetReader({ path: "gs://my-bucket/dataset.parquet", storage });
  const records = [];
  for await (const record of reader) records.push(record);
  expect(records).toEqual(rows);
});

test("one column: only its bytes and the table of contents are fetched", async () => {
  const path = "gs://my-bucket/dataset.parquet";
  const total = (await storage.stat(path))?.bytes ?? 0;
  expect(total).toBeGreaterThan(700_000);
  const ids: unknown[] = [];
  const { bytes, requests } = await fetched(async () => {
    for await (const { id } of new ParquetReader<{ id: bigint }>({ path, storage, columns: ["id"] })) ids.push(id);
  });
  expect(ids).toEqual(rows.map(({ id }) => id));
  // 8 bytes a row and the page headers, and at most 64 KiB of the file's end.
  expect(bytes).toBeGreaterThan(8 * rows.length);
  expect(bytes).toBeLessThan(8 * rows.length + 1000 + 65_536);
  expect(requests).toBe(1 + 6);
});

test("the number of rows needs the table of contents only; stopping early fetches no further", async () => {
  const path = "gs://my-bucket/dataset.parquet";
  const count = await fetched(async () => expect(await new ParquetReader({ path, storage }).rowCount()).toBe(3000));
  expect(count).toEqual({ bytes: 65_536, requests: 1 });
  const first = await fetched(async () => expect(await Dataset.fromAsyncIterable(new ParquetReader({ path, storage })).take(3).toArray()).toEqual(rows.slice(0, 3)));
  const group = 700_000 / 6;
  expect(first.bytes).toBeLessThan(65_536 + 2 * group);
});

test("inside a task its storage is the default", async () => {
  await withLocalContext({ storage }, async () => {
    await writeJsonl("gs://my-bucket/words.jsonl.gz", [{ word: "one" }, { word: "two" }]);
    expect(await Dataset.fromAsyncIterable(readRecords("gs://my-bucket/words.jsonl.gz")).toArray()).toEqual([{ word: "one" }, { word: "two" }]);
  });
});

test("a file that is not there, and no bucket", async () => {
  await expect(new ParquetReader({ path: "gs://my-bucket/none.parquet", storage }).rowCount()).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  await expect(new ParquetReader({ path: "gs://other/none.parquet", storage }).rowCount()).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("a writer that fails leaves nothing in the bucket", async () => {
  const writing = writeParquet("gs://my-bucket/half.parquet", [{ id: 1n, text: "a" }, { id: "x", text: "b" }], { schema, storage });
  await expect(writing).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 2, column: "id" } });
  expect(await storage.stat("gs://my-bucket/half.parquet")).toBeUndefined();
});
