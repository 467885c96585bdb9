import fc from "fast-check";
import { expect, test } from "vitest";
import { Dataset } from "./dataset.js";
import { col } from "./expr/expr.js";

const numbers = fc.array(fc.integer());
const run = async <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>, numRuns = 100): Promise<void> => fc.assert(fc.asyncProperty(arbitrary, property), { numRuns });

test("operations agree with those of arrays, with synchronous and asynchronous functions", () =>
  run(numbers, async (items) => {
    const dataset = Dataset.fromArray(items);
    expect(await dataset.toArray()).toEqual(items);
    expect(await dataset.map((x, i) => x * 2 + i).toArray()).toEqual(items.map((x, i) => x * 2 + i));
    expect(await dataset.map((x) => Promise.resolve(-x)).toArray()).toEqual(items.map((x) => -x));
    expect(await dataset.filter((x) => x % 2 === 0).toArray()).toEqual(items.filter((x) => x % 2 === 0));
    expect(await dataset.filter((_x, i) => Promise.resolve(i % 2 === 0)).toArray()).toEqual(items.filter((_x, i) => i % 2 === 0));
    expect(await dataset.flatMap((x) => (x > 0 ? [x, x] : [])).toArray()).toEqual(items.flatMap((x) => (x > 0 ? [x, x] : [])));
    expect(await dataset.flatMap((x) => Dataset.fromArray([x])).toArray()).toEqual(items);
  }));

test("map after map is map of the composition; filter and map keep the order", () =>
  run(numbers, async (items) => {
    const dataset = Dataset.fromArray(items);
    const f = (x: number): number => x + 1;
    const g = (x: number): number => x * 3;
    expect(await dataset.map(f).map(g).toArray()).toEqual(await dataset.map((x) => g(f(x))).toArray());
    expect(await dataset.filter((x) => x > 0).map(f).toArray()).toEqual(items.filter((x) => x > 0).map(f));
  }));

test("flatMap takes whatever can be gone over, text included; mapShard and it say when a function returns nothing of the kind", async () => {
  const dataset = Dataset.fromArray(["ab", "c"]);
  expect(await dataset.flatMap((text) => text).toArray()).toEqual(["a", "b", "c"]);
  expect(await dataset.flatMap((text) => new Set(text)).toArray()).toEqual(["a", "b", "c"]);
  const nothing = (): never[] => undefined as unknown as never[];
  await expect(dataset.flatMap(nothing).toArray()).rejects.toMatchObject({ code: "ZEPHYR_NO_ITEMS", message: expect.stringContaining("returned nothing where items are needed") as string });
  await expect(dataset.mapShard(nothing).toArray()).rejects.toMatchObject({ code: "ZEPHYR_NO_ITEMS" });
});

test("take gives a prefix; batches are full but the last and join to the whole", () =>
  run(fc.tuple(numbers, fc.nat(20)), async ([items, n]) => {
    const dataset = Dataset.fromArray(items);
    expect(await dataset.take(n).toArray()).toEqual(items.slice(0, n));
    const batches = await dataset.batch(n + 1).toArray();
    expect(batches.flat()).toEqual(items);
    expect(batches.slice(0, -1).every((batch) => batch.length === n + 1)).toBe(true);
    expect(batches.every((batch) => batch.length > 0)).toBe(true);
  }));

test("nothing runs until it is asked for, and no further than asked for; the source is closed", async () => {
  const events: string[] = [];
  async function* source(): AsyncGenerator<number> {
    try {
      for (let i = 0; ; i += 1) {
        events.push(`read ${String(i)}`);
        yield await Promise.resolve(i);
      }
    } finally {
      events.push("closed");
    }
  }
  const dataset = Dataset.fromAsyncIterable(source()).map((x) => x * 10).take(2);
  expect(events).toEqual([]);
  expect(await dataset.toArray()).toEqual([0, 10]);
  expect(events).toEqual(["read 0", "read 1", "closed"]);
});

test("a dataset of an array can be iterated again; one of a generator says that it cannot", async () => {
  const array = Dataset.fromArray([1, 2]).map((x) => x + 1);
  expect([await array.toArray(), await array.toArray()]).toEqual([[2, 3], [2, 3]]);
  function* generate(): Generator<number> {
    yield 1;
  }
  const once = Dataset.fromAsyncIterable(generate());
  expect(await once.toArray()).toEqual([1]);
  await expect(once.toArray()).rejects.toMatchObject({ code: "ZEPHYR_CONSUMED" });
});

const byShard = (items: readonly number[], shards: number): number[][] =>
  Array.from({ length: shards }, (_, shard) => items.slice(Math.floor((shard * items.length) / shards), Math.floor(((shard + 1) * items.length) / shards)));
const shardsOf = fc.integer({ min: 1, max: 5 });

/** The items, with something beside each where it is given. */
function each<T>(items: AsyncIterable<T>): AsyncGenerator<T>;
function each<T, N>(items: AsyncIterable<T>, note: N): AsyncGenerator<[T, N]>;
async function* each(items: AsyncIterable<unknown>, ...note: unknown[]): AsyncGenerator<unknown> {
  for await (const item of items) yield note.length === 0 ? item : [item, ...note];
}

test("shards: operations on each, and across all, agree with those of arrays", () =>
  run(fc.tuple(numbers, shardsOf, shardsOf, fc.nat(6)), async ([items, shards, others, n]) => {
    const dataset = Dataset.fromArray(items, { shards });
    const split = byShard(items, shards);
    expect(await dataset.toArray()).toEqual(items);
    expect(await dataset.mapShard(async function* (of, info) { for await (const item of of) yield [item, info.shard, info.shards]; }).toArray()).toEqual(split.flatMap((of, shard) => of.map((item) => [item, shard, shards])));
    expect(await dataset.map((_item, index) => index).toArray()).toEqual(split.flatMap((of) => [...of.keys()]));
    expect(await dataset.takePerShard(n).toArray()).toEqual(split.flatMap((of) => of.slice(0, n)));
    expect(await dataset.take(n).toArray()).toEqual(items.slice(0, n));
    expect(await dataset.union(dataset.map((x) => -x)).toArray()).toEqual([...items, ...items.map((x) => -x)]);
    const numbered = dataset.mapShard((of, { shard }) => each(of, shard)).union(Dataset.fromArray([0]).map((x) => [x, 0])).mapShard((of, { shard, shards: all }) => each(of, [shard, all]));
    expect(await numbered.toArray()).toEqual([...split.flatMap((of, shard) => of.map((item) => [[item, shard], [shard, shards + 1]])), [[0, 0], [shards, shards + 1]]]);
    expect(await dataset.count().toArray()).toEqual([items.length]);
    const sum = async (values: AsyncIterable<number>): Promise<number> => { let all = 0; for await (const value of values) all += value; return all; };
    expect(await dataset.reduce(sum, sum).toArray()).toEqual([items.reduce((a, b) => a + b, 0)]);
    const resharded = dataset.reshard(others);
    expect(await resharded.toArray()).toEqual(items);
    expect(await resharded.mapShard(async function* (of) { let size = 0; for await (const _ of of) size += 1; yield size; }).toArray()).toEqual(byShard(items, others).map((of) => of.length));
  }, 8));

test("groups, deduplication and batches agree with those of arrays", () =>
  run(fc.tuple(fc.array(fc.integer({ min: 0, max: 9 })), shardsOf, shardsOf), async ([items, shards, numOutputShards]) => {
    const dataset = Dataset.fromArray(items.map((value, index) => ({ value, index })), { shards });
    const keys = [...new Set(items)].sort((a, b) => a - b);
    const grouped = await dataset
      .groupBy(({ value }) => value, async (key, of) => { const places: number[] = []; for await (const { index } of of) places.push(index); return { key, places }; }, { numOutputShards })
      .toArray();
    expect(grouped.sort((a, b) => a.key - b.key)).toEqual(keys.map((key) => ({ key, places: [...items.keys()].filter((index) => items[index] === key) })));
    const first = await dataset.deduplicate(({ value }) => value, { numOutputShards }).toArray();
    expect(first.map(({ index }) => index).sort((a, b) => a - b)).toEqual(keys.map((key) => items.indexOf(key)).sort((a, b) => a - b));
    const pairs = await dataset.groupBy(({ value }) => value, function* (key) { yield key; yield key; }).toArray();
    expect(pairs.sort((a, b) => a - b)).toEqual(keys.flatMap((key) => [key, key]));
    expect(await dataset.mapBatches((batch) => [batch.length], { size: 3 }).toArray()).toEqual(byShard(items, shards).flatMap((of) => Array.from({ length: Math.ceil(of.length / 3) }, (_, index) => Math.min(3, of.length - 3 * index))));
  }, 6));

test("a merge join of grouped datasets gives the pairs that a nested loop gives", () =>
  run(fc.tuple(fc.array(fc.integer({ min: 0, max: 6 })), fc.array(fc.integer({ min: 3, max: 9 })), shardsOf, fc.constantFrom("inner" as const, "left" as const)), async ([left, right, shards, how]) => {
    const grouped = (keys: readonly number[]): Dataset<{ key: number; place: number }> =>
      Dataset.fromArray(keys.map((key, place) => ({ key, place })), { shards: 2 }).groupBy(({ key }) => key, (_key, items) => each(items), { numOutputShards: shards });
    const joined = await grouped(left)
      .sortedMergeJoin(grouped(right), { leftKey: ({ key }) => key, rightKey: ({ key }) => key, how, combiner: (l, r) => [l.key, l.place, r?.place ?? -1] })
      .toArray();
    const pairs = left.flatMap((key, place) => {
      const partners = [...right.keys()].filter((other) => right[other] === key).map((other) => [key, place, other]);
      return partners.length === 0 && how === "left" ? [[key, place, -1]] : partners;
    });
    expect(joined.map(String).sort()).toEqual(pairs.map(String).sort());
  }, 8));

test("windows hold what fits, and never less than one item", async () => {
  const windows = await Dataset.fromArray([3, 3, 3, 9, 1, 12, 1])
    .window(0, (sum, size) => ({ fits: sum + size <= 7, state: sum + size }))
    .toArray();
  expect(windows).toEqual([[3, 3], [3], [9], [1], [12], [1]]);
});

test("a sample is the same always, of about the size asked for, and another for another seed", async () => {
  const dataset = Dataset.fromArray(Array.from({ length: 20_000 }, (_, index) => index), { shards: 4 });
  const sample = await dataset.sample({ fraction: 0.1, seed: 7 }).toArray();
  expect(await dataset.sample({ fraction: 0.1, seed: 7 }).toArray()).toEqual(sample);
  // Four standard deviations of the binomial distribution: sqrt(20000 * 0.1 * 0.9) is 42.
  expect(Math.abs(sample.length - 2000)).toBeLessThan(170);
  const other = new Set(await dataset.sample({ fraction: 0.1, seed: 8 }).toArray());
  expect(Math.abs(sample.filter((item) => other.has(item)).length - 200)).toBeLessThan(57);
  expect(await dataset.sample({ fraction: 0, seed: 1 }).toArray()).toEqual([]);
  expect((await dataset.sample({ fraction: 1, seed: 1 }).toArray()).length).toBe(20_000);
  expect(() => dataset.sample({ fraction: 1.5, seed: 1 })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_FRACTION" }));
});

test("filters by expression keep what is true, not what is null; select keeps the order asked for", async () => {
  const rows = Dataset.fromArray([{ a: 1, b: "x" }, { a: null, b: "y" }, { a: 5, b: "z" }]);
  expect(await rows.filter(col("a").gt(2)).toArray()).toEqual([{ a: 5, b: "z" }]);
  expect((await rows.select("b", "a").toArray()).map((row) => Object.keys(row))).toEqual([["b", "a"], ["b", "a"], ["b", "a"]]);
});

test("of many shards no more are read than a take needs", async () => {
  const read: number[] = [];
  const dataset = Dataset.fromArray([1, 2, 3, 4, 5, 6], { shards: 3 }).map((x) => (read.push(x), x));
  expect(await dataset.take(3).toArray()).toEqual([1, 2, 3]);
  expect(read).toEqual([1, 2, 3]);
});

test("an error of a function comes through unchanged", async () => {
  const boom = new Error("boom");
  const failing = Dataset.fromArray([1]).map(() => {
    throw boom;
  });
  await expect(failing.toArray()).rejects.toBe(boom);
});

test.each([-1, 0.5, NaN])("take(%d) and batch of it are refused at once", (count) => {
  const dataset = Dataset.fromArray([1]);
  expect(() => dataset.take(count)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT" }));
  expect(() => dataset.batch(count)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT" }));
});

test("batch(0) is refused", () => {
  expect(() => Dataset.fromArray([1]).batch(0)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_COUNT" }));
});
