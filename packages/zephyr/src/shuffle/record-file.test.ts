import { createStorage } from "@marin/iris";
import fc from "fast-check";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anyValue } from "../../test/any-value.js";
import { collect } from "../../test/collect.js";
import { readRecordFile, splitRecords, writeRecordFile } from "./record-file.js";

const storage = createStorage();
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-records-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function* from<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

/** Records of about 1 kB: some hundred fill a block. */
const documents = (count: number): object[] => Array.from({ length: count }, (_, id) => ({ id, text: `${String(id)} ${"word ".repeat(200)}` }));

test("what is written is read, whatever it is; no other file is left", async () => {
  const path = join(directory, "any", "records");
  await fc.assert(
    fc.asyncProperty(fc.array(anyValue, { maxLength: 20 }), async (values) => {
      const written = await writeRecordFile(path, from(values), { storage });
      expect(written).toEqual({ path, records: values.length, bytes: (await readFile(path)).length });
      expect(await collect(readRecordFile(path, { storage }))).toStrictEqual(values);
    }),
    { numRuns: 15 },
  );
  expect(await readdir(join(directory, "any"))).toEqual(["records"]);
});

test("any range of records, of several blocks, in a bucket's memory", async () => {
  const all = documents(1500);
  const path = "memory://records/some";
  const { bytes } = await writeRecordFile(path, from(all), { storage });
  expect(bytes).toBeGreaterThan(1_400_000);
  for (const [start, end] of [[0, 1500], [0, 0], [1499, 1500], [250, 900], [700, 701]] as const) {
    expect(await collect(readRecordFile(path, { start, end, storage }))).toEqual(all.slice(start, end));
  }
  expect(await collect(readRecordFile(path, { start: 1490, storage }))).toEqual(all.slice(1490));
});

test("a range that the file does not have is an error, not fewer records", async () => {
  const { path } = await writeRecordFile(join(directory, "short"), from([1, 2, 3]), { storage });
  await expect(collect(readRecordFile(path, { start: 1, end: 4, storage }))).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD_FILE", data: { path, records: 3, start: 1, end: 4 } });
});

test("one wrong byte anywhere, or any part missing at the end: an error that names the file, never other records", async () => {
  const values = documents(300);
  const { path, bytes } = await writeRecordFile(join(directory, "whole"), from(values), { storage });
  const whole = await readFile(path);
  const bad = join(directory, "bad");
  const read = async (content: Buffer): Promise<unknown> => {
    await writeFile(bad, content);
    return collect(readRecordFile(bad, { storage })).catch((error: unknown) => error);
  };
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.nat(bytes - 1), fc.integer({ min: bytes - 80, max: bytes - 1 })), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const content = Buffer.from(whole);
      content[at] = (content[at] as number) ^ flip;
      expect(await read(content)).toMatchObject({ code: "ZEPHYR_BAD_RECORD_FILE", data: { path: bad } });
      expect(await read(whole.subarray(0, at))).toMatchObject({ code: "ZEPHYR_BAD_RECORD_FILE", data: { path: bad } });
    }),
    { numRuns: 30 },
  );
  await rm(bad);
  await expect(collect(readRecordFile(bad, { storage }))).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD_FILE", data: { path: bad } });
});

test("a source that fails leaves no file, and its error comes through", async () => {
  const boom = new Error("boom");
  const failing = async function* (): AsyncGenerator<number> {
    yield 1;
    throw boom;
  };
  await expect(writeRecordFile(join(directory, "failed", "a"), failing(), { storage })).rejects.toBe(boom);
  expect(await readdir(join(directory, "failed"))).toEqual([]);
});

test("records are dealt in order, evenly, to any number of shards", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 6 }), fc.integer({ min: 1, max: 15 }), (counts, shards) => {
      const files = counts.map((records, index) => ({ path: String(index), records }));
      const ranges = splitRecords(files, shards);
      const listed = ranges.map((own) => own.flatMap(({ path, start, end }) => Array.from({ length: end - start }, (_, at) => `${path}:${String(start + at)}`)));
      expect(listed).toHaveLength(shards);
      expect(listed.flat()).toEqual(files.flatMap(({ path, records }) => Array.from({ length: records }, (_, at) => `${path}:${String(at)}`)));
      const sizes = listed.map(({ length }) => length);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }),
  );
});
