import { createLogger, entry, type Registry, silentLogger, type TaskProgress, withLocalContext } from "@marin/iris";
import { expect, test, vi } from "vitest";
import { Dataset } from "./dataset.js";
import { mapShards } from "./worker.js";
import type { dieAt3, failAt3, look, waitForStop } from "../test/fixtures/shard-work.js";

// Starting processes takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const module = new URL("../test/fixtures/shard-work.ts", import.meta.url);
const numbers = Array.from({ length: 24 }, (_, index) => index);
const paths = numbers.map((index) => ({ path: `shard-${String(index)}.parquet`, index }));

test("the same results, in the items' order, and the same counts with and without workers", async () => {
  const runs = await Promise.all(
    [0, 2].map((workers) =>
      withLocalContext({ log: silentLogger }, async () => {
        const results = mapShards({ entry: entry<typeof look>(module, "look"), items: numbers, name: "look", workers });
        return { workers, seen: await Dataset.fromAsyncIterable(results).toArray(), counters: results.counters() };
      }),
    ),
  );
  for (const { workers, seen, counters } of runs) {
    expect(seen.map(({ item }) => item)).toEqual(numbers);
    expect(counters).toEqual({ items: { sum: 24, min: 1, max: 1, updates: 24 }, sum: { sum: 276, min: 0, max: 23, updates: 24 } });
    expect(seen.every(({ pid, numTasks }) => (pid === process.pid) === (workers === 0) && numTasks === Math.max(1, workers))).toBe(true);
  }
});

test.each([0, 2])("with %d workers: they register, report progress, and clean up", async (workers) => {
  const progress: TaskProgress[] = [];
  const lines: string[] = [];
  const living = new Map<string, string>();
  const ever: string[] = [];
  const registry: Registry = {
    register: async (name, address) => {
      living.set(name, address);
      ever.push(name);
      return { close: async () => void living.delete(name) };
    },
    resolve: async (name) => living.get(name),
  };
  const log = createLogger({ write: (line) => void lines.push(line) });
  await withLocalContext({ log, registry, onProgress: (each) => void progress.push(each) }, async () => {
    for await (const { item, pid, taskIndex } of mapShards({ entry: entry<typeof look>(module, "look"), items: numbers, name: "look", workers })) {
      expect(taskIndex).toBeLessThan(Math.max(1, workers));
      // While a worker lives it is known by its process.
      if (workers > 0) expect([...living.values()], String(item)).toContain(`pid:${String(pid)}`);
    }
  });
  expect(new Set(ever.map((name) => name.replace(/\/[0-9a-f]{8}\//, "/run/")))).toEqual(new Set(Array.from({ length: Math.max(1, workers) }, (_, index) => `zephyr/look/run/${String(index)}`)));
  expect([...living]).toEqual([]);
  expect(progress.at(-1)).toEqual({ done: 24, unit: "items" });
  expect(lines.filter((line) => line.includes("cleaned up"))).toHaveLength(1);
});

test.each([0, 2])("with %d workers: the caller may report progress alone, in units of its own", async (workers) => {
  const progress: TaskProgress[] = [];
  await withLocalContext({ log: silentLogger, onProgress: (each) => void progress.push(each) }, async () => {
    await Dataset.fromAsyncIterable(mapShards({ entry: entry<typeof look>(module, "look"), items: numbers, name: "look", workers, reportProgress: false })).toArray();
  });
  expect(progress).toEqual([]);
});

test.each([0, 2])("with %d workers: an item that throws is named, with its error as the cause, after the results before it", async (workers) => {
  const seen: number[] = [];
  const running = (async () => {
    for await (const result of mapShards({ entry: entry<typeof failAt3>(module, "failAt3"), items: paths, name: "fragile", workers })) seen.push(result);
  })();
  await expect(running).rejects.toMatchObject({
    code: "ZEPHYR_ITEM_FAILED",
    message: '"fragile" failed at item 3 (shard-3.parquet): no such luck',
    data: { name: "fragile", item: 3, label: "shard-3.parquet" },
    cause: { code: "USER_BAD", data: { line: 7 } },
  });
  expect(seen).toEqual([0, 1, 2]);
});

test("a worker that dies is told with its item, after the results before it", async () => {
  const seen: number[] = [];
  const running = (async () => {
    for await (const result of mapShards({ entry: entry<typeof dieAt3>(module, "dieAt3"), items: paths, name: "mortal", workers: 2 })) seen.push(result);
  })();
  await expect(running).rejects.toMatchObject({ code: "ZEPHYR_WORKER_LOST", message: expect.stringContaining("item 3 (shard-3.parquet)") as string, data: { item: 3, label: "shard-3.parquet", signal: "SIGKILL" } });
  expect(seen).toEqual([0, 1, 2]);
});

test.each([0, 2])("with %d workers: work that is stopped ends with the reason, its own and its task's", async (workers) => {
  for (const own of [true, false]) {
    const controller = new AbortController();
    let waiting: () => void = () => undefined;
    const started = new Promise<void>((resolve) => (waiting = resolve));
    const log = createLogger({ write: (line) => void (line.includes("waiting") && waiting()) });
    const options = { entry: entry<typeof waitForStop>(module, "waitForStop"), items: numbers, name: "waiting", workers };
    const running = withLocalContext({ log, ...(own ? {} : { signal: controller.signal }) }, () =>
      Dataset.fromAsyncIterable(mapShards({ ...options, ...(own ? { signal: controller.signal } : {}) })).toArray(),
    );
    await Promise.race([started, running]);
    controller.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  }
});

test("who stops asking early has no workers left; an inline function is refused, showing the named form", async () => {
  const first = await Dataset.fromAsyncIterable(mapShards({ entry: entry<typeof look>(module, "look"), items: numbers, name: "look", workers: 1 })).take(1).toArray();
  expect(first[0]?.item).toBe(0);
  expect(() => process.kill(first[0]?.pid ?? 0, 0)).toThrow("ESRCH");
  expect(() => entry<typeof look>(module, ((item: number) => item) as unknown as string)).toThrow("import.meta.url");
});
