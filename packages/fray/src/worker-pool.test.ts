import { afterEach, describe, expect, test } from "vitest";
import { entry, WorkerPool, type PoolWorker, type WorkerPoolOptions } from "./index.js";
import { parentService } from "../test/work.js";
import type * as work from "../test/work.js";

const module = new URL("../test/work.ts", import.meta.url);
const identity = entry<(item: number) => number>(module, "echo");

const pools: WorkerPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

async function start(options: Partial<WorkerPoolOptions> = {}): Promise<WorkerPool> {
  const pool = await WorkerPool.start({ size: 2, kind: "process", name: "pool", onStdout: () => undefined, onStderr: () => undefined, ...options });
  pools.push(pool);
  return pool;
}

async function collect<T>(source: AsyncIterable<T>): Promise<{ values: T[]; error?: unknown }> {
  const values: T[] = [];
  try {
    for await (const value of source) values.push(value);
    return { values };
  } catch (error) {
    return { values, error };
  }
}

const count = (length: number): number[] => Array.from({ length }, (_, place) => place);

describe.each(["process", "thread"] as const)("a pool of %ses", (kind) => {
  test("maps items in their order, on all workers, each prepared once", async () => {
    const met: PoolWorker[] = [];
    const pool = await start({ kind, prepare: entry<typeof work.prepare>(module, "prepare"), onWorker: (worker) => met.push(worker) });
    const { values } = await collect(pool.map(entry<typeof work.tagged>(module, "tagged"), count(200)));
    expect(values.map(({ item }) => item)).toEqual(count(200));
    expect(new Set(values.map(({ index }) => index))).toEqual(new Set([0, 1]));
    expect(met.map(({ index, size, name }) => ({ index, size, name }))).toEqual([0, 1].map((index) => ({ index, size: 2, name: "pool" })));
    expect(new Set(values.map(({ pid }) => pid)).size).toBe(kind === "process" ? 2 : 1);
  });

  test("out of order when asked: what is ready first comes first, and nothing is lost", async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const pool = await start({ kind, onWorker: ({ connection }) => void connection.serve(parentService, { double: async (n) => (n === 0 ? gate.then(() => 0) : 2 * n) }) });
    const values: number[] = [];
    for await (const value of pool.map(entry<typeof work.askParent>(module, "askParent"), count(20), { ordered: false })) {
      values.push(value / 2);
      if (values.length === 10) open();
    }
    expect(values.indexOf(0)).toBeGreaterThanOrEqual(10);
    expect([...values].sort((a, b) => a - b)).toEqual(count(20));
  });
});

test("the source is read only as there is room", async () => {
  const pool = await start();
  let read = 0;
  const results = pool.map(identity, (function* () {
    for (;;) yield read++;
  })());
  for (let taken = 1; taken <= 20; taken += 1) {
    await results.next();
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(read - taken).toBeLessThanOrEqual(4);
  }
  await results.return();
});

test("an item whose worker dies is named; results before it are kept, and the pool goes on with a new worker", async () => {
  const met: number[] = [];
  const pool = await start({ onWorker: ({ index }) => met.push(index), prepare: entry<typeof work.prepare>(module, "prepare") });
  const { values, error } = await collect(pool.map(entry<typeof work.dieAt>(module, "dieAt"), count(100)));
  expect(values).toEqual(count(5));
  expect(error).toMatchObject({ code: "FRAY_WORKER_LOST", data: { index: 5, signal: "SIGKILL" }, message: expect.stringMatching(/^Item 5 has no result\. The worker "pool-[01]" \(pid \d+\) was ended by SIGKILL/) });
  const again = await collect(pool.map(entry<typeof work.tagged>(module, "tagged"), count(20)));
  expect(again.values.map(({ item, index }) => [item, index !== undefined])).toEqual(count(20).map((item) => [item, true]));
  expect(met).toHaveLength(3);
});

test("an aborted map ends the functions at work; the pool stays usable", async () => {
  const lines: string[] = [];
  const controller = new AbortController();
  const pool = await start({
    onStdout: (line) => {
      lines.push(line);
      if (line === "waiting" && lines.filter((other) => other === "waiting").length === 2) controller.abort(new Error("enough"));
    },
  });
  const { error } = await collect(pool.map(entry<(item: number) => Promise<string>>(module, "untilAborted"), count(9), { signal: controller.signal }));
  expect(error).toMatchObject({ message: "enough" });
  expect((await collect(pool.map(identity, count(6)))).values).toEqual(count(6));
  expect(lines.filter((line) => line.startsWith("aborted"))).toHaveLength(2);
});

test("a function that ignores its abort has its worker replaced", async () => {
  const controller = new AbortController();
  const pool = await start({ size: 1, onStdout: (line) => line === "spinning" && controller.abort(new Error("enough")) });
  const { error } = await collect(pool.map(entry<(item: number) => void>(module, "spin"), count(3), { signal: controller.signal }));
  expect(error).toMatchObject({ message: "enough" });
  expect((await collect(pool.map(identity, count(3)))).values).toEqual(count(3));
});

test("workers call what is served to them", async () => {
  const pool = await start({ onWorker: ({ connection, index }) => void connection.serve(parentService, { double: (n) => 2 * n + 1000 * index }) });
  const { values } = await collect(pool.map(entry<typeof work.askParent>(module, "askParent"), count(50)));
  expect(values.map((value) => value % 1000)).toEqual(count(50).map((n) => 2 * n));
});

test("a preparation that fails, a bad size and a closed pool are told", async () => {
  await expect(start({ prepare: entry<typeof work.failPrepare>(module, "failPrepare") })).rejects.toThrow("not today");
  await expect(start({ size: 0 })).rejects.toMatchObject({ code: "FRAY_BAD_CONCURRENCY" });
  const pool = await start();
  await pool.close();
  expect((await collect(pool.map(identity, [1]))).error).toMatchObject({ code: "FRAY_POOL_CLOSED" });
});
