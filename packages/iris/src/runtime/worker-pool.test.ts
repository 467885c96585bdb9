import { describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type { PoolReport, opensPool, poolItem } from "../../test/fixtures/tasks.js";
import { IrisClient } from "../client/client.js";
import { createLogger, entry } from "../platform.js";
import type { TaskProgress } from "./context.js";
import { withLocalContext } from "./local-context.js";
import { openWorkerPool } from "./worker-pool.js";

const module = new URL("../../test/fixtures/tasks.ts", import.meta.url);
const item = entry<typeof poolItem>(module, "poolItem");
const items = Array.from({ length: 20 }, (_, index) => index);

describe.concurrent("a pool of workers", { timeout: 120_000 }, () => {
  test.each([
    [0, "process"],
    [2, "process"],
    [2, "thread"],
  ] as const)("with %i workers of kind %s gives results in order, from contexts that know their place", async (workers, kind) => {
    const progress: TaskProgress[] = [];
    const lines: string[] = [];
    const log = createLogger({ write: (line) => void lines.push(line) });
    const reports = await withLocalContext({ jobId: "/opener", log, onProgress: (each) => void progress.push(each) }, async () => {
      const pool = await openWorkerPool({ workers, name: "items", kind });
      return collect(pool.map(item, items));
    });
    expect(reports.map((report) => report.item)).toEqual(items);
    expect(reports.every(({ jobId, numTasks, taskIndex }) => jobId === "/opener" && numTasks === Math.max(1, workers) && taskIndex < numTasks)).toBe(true);
    expect(new Set(reports.map(({ taskIndex }) => taskIndex)).size).toBe(Math.max(1, workers));
    expect(reports.every(({ pid }) => (pid === process.pid) === (workers === 0 || kind === "thread"))).toBe(true);
    expect(progress.at(-1)).toEqual({ done: Math.max(1, workers), unit: "items" });
    expect(lines.filter((line) => line.includes("worker of item 0 cleans up"))).toHaveLength(1);
  });

  test("the error of an item comes after the results before it; a worker that dies is told with its item, and replaced", async () => {
    await withLocalContext({}, async () => {
      await using pool = await openWorkerPool({ workers: 2, name: "fragile" });
      const results: number[] = [];
      const run = async (of: number[]): Promise<void> => {
        for await (const report of pool.map(item, of)) results.push(report.item);
      };
      await expect(run([1, 2, 3, -2, 4])).rejects.toMatchObject({ code: "USER_BAD_ITEM" });
      expect(results).toEqual([1, 2, 3]);
      await expect(run([5, -1, 6])).rejects.toMatchObject({ code: "FRAY_WORKER_LOST", data: { index: 1, signal: "SIGKILL" } });
      await run([7, 8, 9, 10]);
      expect(results).toEqual([1, 2, 3, 5, 7, 8, 9, 10]);
    });
  });

  test("one that a task leaves open is closed with it, and its clean-up is in the job's log", async () => {
    await using client = IrisClient.local();
    const job = await client.submit({ name: "opens", entry: entry<typeof opensPool>(module, "opensPool"), args: [items] });
    const { state, value } = await job.wait();
    expect(state).toBe("SUCCEEDED");
    expect((value as PoolReport[]).map((report) => [report.item, report.jobId])).toEqual(items.map((index) => [index, "/opens"]));
    const lines = await collect(job.logs());
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ message: "worker of item 0 cleans up", source: "log" });
    expect(lines[0]?.fields?.["worker"]).toMatch(/^inner-[01]$/);
  });

  test("one that is opened outside of any task stays open until it is closed", async () => {
    await using pool = await openWorkerPool({ workers: 1, name: "outside", kind: "thread" });
    for (const each of [3, 4]) expect((await collect(pool.map(item, [each]))).map((report) => [report.item, report.jobId])).toEqual([[each, "local"]]);
  });

  test.each([-1, 1.5, NaN])("%d is no number of workers", async (workers) => {
    await expect(openWorkerPool({ workers, name: "odd" })).rejects.toMatchObject({ code: "IRIS_BAD_POOL" });
  });
});
