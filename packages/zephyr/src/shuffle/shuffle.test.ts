import { createStorage, type Storage } from "@marin/iris";
import fc from "fast-check";
import { type FileHandle, mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anyKey, anyValue } from "../../test/any-value.js";
import { shuffled } from "../../test/shuffled.js";
import { ByteWriter } from "./byte-writer.js";
import { writeKey } from "./canonical-key.js";
import { readGroups } from "./groups.js";
import { createRouter } from "./route.js";
import { scatter, type ScatterOptions } from "./scatter.js";
import type { ShuffleKey } from "./types.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-shuffle-"));
});
afterAll(() => rm(directory, { recursive: true }));

interface Row {
  readonly key: ShuffleKey;
  readonly value: unknown;
}

function bytesOf(key: ShuffleKey): Buffer {
  const writer = new ByteWriter();
  writeKey(writer, key);
  return Buffer.from(writer.bytes.subarray(0, writer.length));
}

/** Groups by going over all records with a map of the keys' bytes. */
async function bruteForce(inputs: readonly (readonly Row[])[], shards: number): Promise<{ key: unknown; items: unknown[] }[][]> {
  const groups = new Map<string, { key: ShuffleKey; items: unknown[] }>();
  for (const row of inputs.flat()) {
    const bytes = bytesOf(row.key).toString("latin1");
    const known = groups.get(bytes);
    if (known === undefined) groups.set(bytes, { key: row.key, items: [row] });
    else known.items.push(row);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
  const route = await createRouter(shards);
  return Array.from({ length: shards }, (_, shard) => sorted.filter(({ key }) => route(bytesOf(key), bytesOf(key).length) === shard));
}

const keyOf = (record: unknown): unknown => (record as Row).key;
const someKeys = fc.uniqueArray(anyKey, { minLength: 1, maxLength: 6, selector: (key) => bytesOf(key).toString("latin1") });
const anyInputs = someKeys.chain((keys) => fc.array(fc.array(fc.record({ key: fc.constantFrom(...keys), value: anyValue }, { noNullPrototype: true }), { maxLength: 12 }), { minLength: 1, maxLength: 4 }));
/** From a run for each record and merges of two at a time, to all in memory. */
const budgets = fc.constantFrom(1, 300, 2_000, 1 << 24);

test("any records, any number of shards, any memory: the groups of a map, in key order, items in their order", async () => {
  await fc.assert(
    fc.asyncProperty(anyInputs, fc.integer({ min: 1, max: 4 }), budgets, async (inputs, shards, memoryBytes) => {
      const { groups } = await shuffled({ inputs, shards, memoryBytes, key: keyOf });
      expect(groups.map((own) => own.map(({ items }) => items))).toStrictEqual((await bruteForce(inputs, shards)).map((own) => own.map(({ items }) => items)));
      for (const { key, items } of groups.flat()) expect(bytesOf(key as ShuffleKey)).toEqual(bytesOf(keyOf(items[0]) as ShuffleKey));
    }),
    { numRuns: 30 },
  );
});

test("keys reach the reducer as they are, bigints as bigints", async () => {
  const keys = [5n, [1, 2n ** 60n], { id: 7n }, "a\0b", -3];
  const { groups } = await shuffled({ inputs: [keys.map((key) => ({ key, value: null }))], shards: 1, memoryBytes: 1, key: keyOf });
  expect(groups[0]?.map(({ key }) => key)).toStrictEqual([-3, 5n, "a\0b", [1, 2n ** 60n], { id: 7n }]);
});

test("keys that are the beginning of one another, far into them", async () => {
  const keys = Array.from({ length: 400 }, (_, index) => "a".repeat(((index * 137) % 400) * 7));
  const { groups } = await shuffled({ inputs: [keys.map((key) => ({ key, value: key.length }))], shards: 1, memoryBytes: 1 << 24, key: keyOf });
  expect(groups[0]?.map(({ key }) => (key as string).length)).toEqual(Array.from({ length: 400 }, (_, index) => index * 7));
});

test("sortBy orders the items of a group, ties by input shard, then position, at any memory", async () => {
  const inputs = [0, 1, 2].map((input) => Array.from({ length: 15 }, (_, at) => ({ key: at % 3, value: { by: (at * 7) % 5, input, at } })));
  const value = (record: unknown): { by: number; input: number; at: number } => (record as { value: { by: number; input: number; at: number } }).value;
  for (const memoryBytes of [1, 2000, 1 << 24]) {
    const { groups, runs } = await shuffled({ inputs, shards: 2, memoryBytes, key: keyOf, sortBy: async (record) => -value(record).by });
    expect(runs).toBeGreaterThanOrEqual(memoryBytes === 1 ? 45 : 3);
    const found = groups.flat();
    expect(found.map(({ key }) => key).sort()).toEqual([0, 1, 2]);
    for (const { key, items } of found) {
      const expected = inputs.flat().filter((record) => record.key === key).sort((a, b) => b.value.by - a.value.by || a.value.input - b.value.input || a.value.at - b.value.at);
      expect(items).toEqual(expected);
    }
  }
});

test("Combiner law: with and without a combiner, at any flush size, the reducer's results are equal", async () => {
  const counts = fc.array(fc.array(fc.record({ key: fc.constantFrom("a", "b", 1, null), value: fc.integer({ min: -99, max: 99 }) }), { maxLength: 30 }), { minLength: 1, maxLength: 3 });
  const laws: readonly ((a: number, b: number) => number)[] = [(a, b) => a + b, Math.max, Math.min];
  await fc.assert(
    fc.asyncProperty(counts, fc.integer({ min: 1, max: 3 }), budgets, fc.constantFrom(...laws), fc.boolean(), async (inputs, shards, memoryBytes, law, later) => {
      const combine = (a: unknown, b: unknown): Row => ({ key: (a as Row).key, value: law((a as Row).value as number, (b as Row).value as number) });
      const reduced = async (combiner: ScatterOptions["combiner"], memory: number): Promise<unknown> =>
        (await shuffled({ inputs, shards, memoryBytes: memory, key: keyOf, combiner })).groups.map((own) => own.map(({ key, items }) => [key, items.map((item) => (item as Row).value as number).reduce((a, b) => law(a, b))]));
      const without = await reduced(undefined, 1 << 24);
      expect(await reduced(later ? async (a, b) => combine(a, b) : combine, memoryBytes)).toEqual(without);
    }),
    { numRuns: 25 },
  );
});

test("the combiner \"first\" keeps the first of each key, and what is combined is not written", async () => {
  const inputs = [0, 1].map((input) => Array.from({ length: 600 }, (_, at) => ({ key: at % 7, value: [input, at] })));
  const storage = createStorage();
  const scattered = [];
  for (const [input, records] of inputs.entries()) scattered.push(await scatter(generator(records), { key: keyOf, combiner: "first", shards: 1, prefix: `memory://first/${String(input)}-`, memoryBytes: 1 << 24, storage }));
  expect(scattered.map(({ runs, records, recordsWritten }) => [runs.length, records, recordsWritten])).toEqual([[1, 600, 7], [1, 600, 7]]);
  const firsts: unknown[] = [];
  for await (const { items } of readGroups(scattered, 0, { prefix: "memory://first/out-", memoryBytes: 1 << 24, storage })) {
    for await (const item of items) {
      firsts.push(item);
      break;
    }
  }
  expect(firsts).toEqual(inputs[0]?.slice(0, 7));
});

async function* generator<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

test("items are streamed: they can be had once, in time, and what is left of them is passed over", async () => {
  const storage = createStorage();
  const records = Array.from({ length: 5000 }, (_, at) => ({ key: at % 5, value: "x".repeat(400) }));
  const scattered = await scatter(generator(records), { key: keyOf, shards: 1, prefix: "memory://lazy/in-", memoryBytes: 1 << 20, storage });
  const seen: unknown[] = [];
  const kept: AsyncIterable<unknown>[] = [];
  for await (const { key, items } of readGroups([scattered], 0, { prefix: "memory://lazy/out-", memoryBytes: 1 << 20, storage })) {
    seen.push(key);
    kept.push(items);
    if (key === 1) for await (const _item of items) break;
    if (key === 2) {
      for await (const _item of items);
      await expect(items[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ZEPHYR_CONSUMED", message: /gone over already/ });
    }
  }
  expect(seen).toEqual([0, 1, 2, 3, 4]);
  await expect(kept[0]?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ZEPHYR_CONSUMED", data: { shard: 0, key: 0 }, message: /after its reducer had returned/ });
});

test("files of merge passes are gone at the end, also when the reading ends early", async () => {
  const storage = createStorage();
  const prefix = join(directory, "passes", "in-");
  const scattered = await scatter(generator(Array.from({ length: 24 }, (_, at) => ({ key: at % 8, value: at }))), { key: keyOf, shards: 1, prefix, memoryBytes: 1, storage });
  expect(scattered.runs).toHaveLength(24);
  const during = new Set<string>();
  for await (const { key } of readGroups([scattered], 0, { prefix: join(directory, "passes", "out-"), memoryBytes: 1, storage })) {
    for (const name of await readdir(join(directory, "passes"))) if (name.startsWith("out-")) during.add(name);
    if (key === 3) break;
  }
  expect(during.size).toBeGreaterThan(0);
  expect((await readdir(join(directory, "passes"))).filter((name) => name.startsWith("out-"))).toEqual([]);
});

test("equal records give equal files", async () => {
  const storage = createStorage();
  const records = Array.from({ length: 500 }, (_, at) => ({ key: `k${String(at % 50)}`, value: at }));
  const files: Uint8Array[][] = [];
  for (const prefix of ["memory://same/a-", "memory://same/b-"]) {
    const { runs } = await scatter(generator(records), { key: keyOf, shards: 3, prefix, memoryBytes: 20_000, storage });
    files.push(await Promise.all(runs.map((path) => storage.read(path))));
  }
  expect(files[0]?.length).toBeGreaterThan(1);
  expect(files[0]).toEqual(files[1]);
});

test.each([
  ["a key that is none", { key: undefined, value: 1 }, "ZEPHYR_BAD_KEY", /^Record 2 of the shard: The key is undefined/],
  ["a value that does not travel", { key: 1, value: () => 1 }, "ZEPHYR_BAD_VALUE", /^Record 2 of the shard: A record's value is a function/],
])("%s: the error numbers the record, and no file is left", async (_name, bad, code, message) => {
  const storage = createStorage();
  const records = [{ key: 1, value: 1 }, { key: 2, value: 2 }, bad];
  await expect(scatter(generator<unknown>(records), { key: keyOf, shards: 1, prefix: join(directory, "bad", "in-"), memoryBytes: 1, storage })).rejects.toMatchObject({ code, message, data: { record: 2 } });
  expect(await readdir(join(directory, "bad"))).toEqual([]);
});

test("a damaged file of a shuffle is an error that names it", async () => {
  const storage = createStorage();
  const scattered = await scatter(generator([{ key: "a", value: "x".repeat(1000) }]), { key: keyOf, shards: 1, prefix: "memory://damaged/in-", memoryBytes: 1 << 20, storage });
  const [path] = scattered.runs as [string];
  const content = Buffer.from(await storage.read(path));
  content[500] = 0;
  await storage.write(path, content);
  const reading = async (): Promise<void> => {
    for await (const _group of readGroups([scattered], 0, { prefix: "memory://damaged/out-", memoryBytes: 1 << 20, storage }));
  };
  await expect(reading()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD_FILE", data: { path, offset: 0 } });
});

/** A disk that takes so many bytes and then is full, for as long as `work` runs. */
async function onDiskOf(bytes: number, work: () => Promise<void>): Promise<void> {
  const handle = await open(join(directory, "probe"), "w");
  const prototype = Object.getPrototypeOf(handle) as { write: FileHandle["write"] };
  await handle.close();
  const { write } = prototype;
  let left = bytes;
  prototype.write = async function (this: FileHandle, ...args: unknown[]): Promise<never> {
    left -= (args[2] as number | undefined) ?? (args[0] as Uint8Array).byteLength;
    if (left < 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
    return (write as (...all: unknown[]) => Promise<never>).apply(this, args);
  } as FileHandle["write"];
  try {
    await work();
  } finally {
    prototype.write = write;
  }
}

test("disk full mid-shuffle: an error that names the file and says what to do, and nothing is left of what was written", async () => {
  const storage: Storage = createStorage();
  const records = Array.from({ length: 4000 }, (_, at) => ({ key: at, value: "x".repeat(500) }));
  const options = { key: keyOf, shards: 2, memoryBytes: 1 << 20, storage };
  await onDiskOf(1 << 20, async () => {
    const scattering = scatter(generator(records), { ...options, prefix: join(directory, "full", "in-") });
    await expect(scattering).rejects.toMatchObject({ code: "RIGGING_DISK_FULL", message: /full\/in-run-0000[1-9].*free some space/ });
  });
  expect(await readdir(join(directory, "full"))).toEqual([]);
  // The second half, at its first merge pass.
  const scattered = await scatter(generator(records.slice(0, 900)), { ...options, memoryBytes: 1 << 16, prefix: join(directory, "full", "in-") });
  const before = (await readdir(join(directory, "full"))).length;
  await onDiskOf(1 << 14, async () => {
    const reading = async (): Promise<void> => {
      for await (const _group of readGroups([scattered], 0, { prefix: join(directory, "full", "out-"), memoryBytes: 1 << 16, storage }));
    };
    await expect(reading()).rejects.toMatchObject({ code: "RIGGING_DISK_FULL", message: /full\/out-merge-/ });
  });
  expect(await readdir(join(directory, "full"))).toHaveLength(before);
});
