import fc from "fast-check";
import { expect, test } from "vitest";
import { Dataset } from "./dataset.js";

const numbers = fc.array(fc.integer());
const run = async <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>): Promise<void> => fc.assert(fc.asyncProperty(arbitrary, property));

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
