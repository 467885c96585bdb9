import { setImmediate as immediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { mapPool } from "./map-pool.js";

async function collect<U>(results: AsyncIterable<U>): Promise<{ readonly values: U[]; readonly error: unknown }> {
  const values: U[] = [];
  try {
    for await (const value of results) values.push(value);
    return { values, error: undefined };
  } catch (error) {
    return { values, error };
  }
}

/** Waits a number of turns of the event loop, so that tasks finish in any order the numbers say. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await immediate();
}

test("results, and the first failure, are those of mapping one after the other; never more at once than allowed", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ turns: fc.nat(5), fails: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)) }), { maxLength: 20 }),
      fc.integer({ min: 1, max: 6 }),
      fc.boolean(),
      async (items, concurrency, slowSource) => {
        let running = 0;
        let most = 0;
        async function* source(): AsyncGenerator<(typeof items)[number]> {
          for (const item of items) {
            await turns(slowSource ? 2 : 0);
            yield item;
          }
        }
        const { values, error } = await collect(
          mapPool(source(), concurrency, async (item, { index }) => {
            running += 1;
            most = Math.max(most, running);
            await turns(item.turns);
            running -= 1;
            if (item.fails) throw new Error(`item ${String(index)}`);
            return index;
          }),
        );
        const failing = items.findIndex(({ fails }) => fails);
        expect(values).toEqual([...items.keys()].slice(0, failing === -1 ? undefined : failing));
        expect((error as Error | undefined)?.message).toBe(failing === -1 ? undefined : `item ${String(failing)}`);
        expect(most).toBeLessThanOrEqual(concurrency);
        expect(running).toBe(0);
      },
    ),
  ));

test("tasks do run side by side", async () => {
  let running = 0;
  let most = 0;
  await collect(
    mapPool([1, 2, 3, 4, 5, 6], 3, async () => {
      running += 1;
      most = Math.max(most, running);
      await turns(3);
      running -= 1;
    }),
  );
  expect(most).toBe(3);
});

test("the source is read no further than there is room, however slow the consumer", async () => {
  let taken = 0;
  function* source(): Generator<number> {
    for (;;) yield taken++;
  }
  for await (const value of mapPool(source(), 4, (item) => item)) {
    await turns(10);
    expect(taken - value).toBeLessThanOrEqual(5);
    if (value === 20) break;
  }
});

test("a slow source does not hold back results that are ready", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  async function* source(): AsyncGenerator<number> {
    yield 1;
    await held;
    yield 2;
  }
  const results = mapPool(source(), 2, (item) => item);
  expect(await results.next()).toEqual({ done: false, value: 1 });
  release();
  expect(await results.next()).toEqual({ done: false, value: 2 });
  expect((await results.next()).done).toBe(true);
});

test("a consumer that leaves: running tasks are aborted and waited for, the source is closed", async () => {
  const events: string[] = [];
  async function* source(): AsyncGenerator<number> {
    try {
      for (let item = 0; ; item += 1) yield await Promise.resolve(item);
    } finally {
      events.push("source closed");
    }
  }
  for await (const value of mapPool(source(), 3, async (item, { signal }) => {
    if (item === 0) return item;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await turns(2);
    events.push(`task ${String(item)} stopped`);
    return item;
  })) {
    await turns(5);
    expect(value).toBe(0);
    break;
  }
  expect(events.slice(0, -1)).toContain("task 1 stopped");
  expect(events.slice(0, -1)).toContain("task 2 stopped");
  expect(events.at(-1)).toBe("source closed");
});

test("an aborted signal ends the iteration with its reason, also while the source hangs", async () => {
  const controller = new AbortController();
  async function* source(): AsyncGenerator<number> {
    yield 1;
    await new Promise(() => undefined);
  }
  const results = mapPool(source(), 2, (item) => item, { signal: controller.signal });
  expect((await results.next()).value).toBe(1);
  const next = results.next();
  const reason = new Error("stop");
  controller.abort(reason);
  await expect(next).rejects.toBe(reason);
  expect((await collect(mapPool([1], 1, (item) => item, { signal: controller.signal }))).error).toBe(reason);
});

test("an error of the source comes after the results before it, unchanged", async () => {
  const boom = new Error("boom");
  function* source(): Generator<number> {
    yield 1;
    yield 2;
    throw boom;
  }
  expect(await collect(mapPool(source(), 4, async (item) => (await turns(3), item)))).toEqual({ values: [1, 2], error: boom });
});

test.each([0, -1, 1.5, NaN])("a concurrency of %d is refused", async (concurrency) => {
  expect((await collect(mapPool([1], concurrency, (item) => item))).error).toMatchObject({ code: "FRAY_BAD_CONCURRENCY" });
});

test("unordered: the same results as they are ready, never more in work than allowed; a failure comes at once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(4), { maxLength: 20 }), fc.integer({ min: 1, max: 5 }), async (delays, concurrency) => {
      let atWork = 0;
      const { values, error } = await collect(
        mapPool(
          delays,
          concurrency,
          async (delay, { index }) => {
            atWork += 1;
            expect(atWork).toBeLessThanOrEqual(concurrency);
            await turns(delay);
            atWork -= 1;
            return index;
          },
          { ordered: false },
        ),
      );
      expect(error).toBeUndefined();
      expect([...values].sort((a, b) => a - b)).toEqual(delays.map((_, index) => index));
    }),
  );
  const boom = new Error("boom");
  const failing = mapPool([0, 1, 2], 3, async (item, { signal }) => {
    if (item === 2) throw boom;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return item;
  }, { ordered: false });
  expect(await collect(failing)).toEqual({ values: [], error: boom });
});
