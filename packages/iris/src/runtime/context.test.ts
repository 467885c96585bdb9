import { EventEmitter, once } from "node:events";
import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createLogger, isMarinError, silentLogger } from "../platform.js";
import { getIrisCtx, irisCtx, type TaskProgress } from "./context.js";
import { defineExtension, provide } from "./extensions.js";
import { withLocalContext } from "./local-context.js";
import { type ShardingProvider, shardingExtension } from "./sharding.js";

test("outside a task irisCtx throws and says how to run inside one; getIrisCtx is undefined", () => {
  expect(getIrisCtx()).toBeUndefined();
  expect(irisCtx).toThrow(expect.objectContaining({ code: "IRIS_NO_CONTEXT", message: expect.stringContaining("withLocalContext") as string }));
});

test("one-machine defaults", () => {
  const context = withLocalContext({}, irisCtx);
  expect(context).toMatchObject({ jobId: "local", attempt: 0, taskIndex: 0, numTasks: 1 });
  expect(context.signal.aborted).toBe(false);
  context.progress({ done: 1, unit: "steps" });
  context.metrics.report({ loss: 1 });
});

test("the context is there after await, in timers, in promises' callbacks and in emitters, and gone afterwards", async () => {
  const emitter = new EventEmitter();
  const seen = await withLocalContext({ jobId: "a", log: silentLogger }, async () => {
    const ids: string[] = [irisCtx().jobId];
    await immediate();
    ids.push(irisCtx().jobId);
    await new Promise<void>((resolve) => setTimeout(() => (ids.push(irisCtx().jobId), resolve()), 1));
    await Promise.all([1, 2].map(() => delay(1).then(() => ids.push(irisCtx().jobId))));
    emitter.once("event", () => ids.push(irisCtx().jobId));
    emitter.emit("event");
    return ids;
  });
  expect(seen).toEqual(["a", "a", "a", "a", "a", "a"]);
  expect(getIrisCtx()).toBeUndefined();
});

test("a thousand interleaved tasks each see their own context only", async () => {
  const tasks = Array.from({ length: 1000 }, (_, index) =>
    withLocalContext({ taskIndex: index, numTasks: 1000 }, async () => {
      for (let hop = 0; hop < 5; hop += 1) {
        await immediate();
        if (irisCtx().taskIndex !== index) return false;
      }
      return true;
    }),
  );
  expect((await Promise.all(tasks)).every(Boolean)).toBe(true);
});

test("a nested context has its own identity, keeps the surroundings it does not replace, and ends with its function", async () => {
  const lines: string[] = [];
  const progress: TaskProgress[] = [];
  const metrics: unknown[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const key = defineExtension<string>("test.nested");
  await withLocalContext(
    {
      jobId: "outer",
      attempt: 3,
      log,
      onProgress: (p) => void progress.push(p),
      onMetrics: (values, step) => void metrics.push([values, step]),
      extensions: [provide(key, "from outer")],
    },
    async () => {
      await withLocalContext({ jobId: "inner" }, async () => {
        await immediate();
        const context = irisCtx();
        expect(context).toMatchObject({ jobId: "inner", attempt: 0 });
        context.log.info("hello");
        context.progress({ done: 1, unit: "steps" });
        context.metrics.report({ loss: 2 }, 7);
        expect(context.extension(key)).toBe("from outer");
      });
      expect(irisCtx().jobId).toBe("outer");
      expect(withLocalContext({ extensions: [provide(key, "from inner")] }, () => irisCtx().extension(key))).toBe("from inner");
    },
  );
  expect(lines).toHaveLength(1);
  expect(progress).toEqual([{ done: 1, unit: "steps" }]);
  expect(metrics).toEqual([[{ loss: 2 }, 7]]);
});

test("a task is aborted by its own signal and by the one around it", async () => {
  const outer = new AbortController();
  const inner = new AbortController();
  const signals = withLocalContext({ signal: outer.signal }, () => [
    irisCtx().signal,
    withLocalContext({ signal: inner.signal }, () => irisCtx().signal),
    withLocalContext({}, () => irisCtx().signal),
  ]);
  inner.abort(new Error("inner"));
  expect(signals.map((signal) => signal.aborted)).toEqual([false, true, false]);
  const stopped = once(signals[2] as AbortSignal, "abort");
  outer.abort(new Error("outer"));
  await stopped;
  expect(signals.map((signal) => signal.aborted)).toEqual([true, true, true]);
  expect(signals.map((signal) => (signal.reason as Error).message)).toEqual(["outer", "inner", "outer"]);
});

test("two copies of the module share one context, and keys of the same name are the same key", async () => {
  vi.resetModules();
  const copy = { ...(await import("./context.js")), ...(await import("./local-context.js")) };
  expect(copy.irisCtx).not.toBe(irisCtx);
  const key = defineExtension<number>("test.copies");
  expect(withLocalContext({ jobId: "shared" }, () => copy.irisCtx().jobId)).toBe("shared");
  expect(copy.withLocalContext({ extensions: [provide(key, 5)] }, () => irisCtx().extension(defineExtension<number>("test.copies")))).toBe(5);
  try {
    copy.irisCtx();
    expect.unreachable();
  } catch (error) {
    expect(isMarinError(error, "IRIS_NO_CONTEXT")).toBe(true);
  }
});

test("the sharding extension is absent unless provided", async () => {
  const provider: ShardingProvider = { name: "two slices", topology: (task, tasks) => Promise.resolve({ sliceId: Math.floor((2 * task) / tasks), sliceCount: 2, tasksPerSlice: tasks / 2 }) };
  expect(withLocalContext({}, () => irisCtx().extension(shardingExtension))).toBeUndefined();
  const topology = await withLocalContext({ taskIndex: 3, numTasks: 4, extensions: [provide(shardingExtension, provider)] }, async () => {
    const { taskIndex, numTasks, extension } = irisCtx();
    return extension(shardingExtension)?.topology(taskIndex, numTasks);
  });
  expect(topology).toEqual({ sliceId: 1, sliceCount: 2, tasksPerSlice: 2 });
});

test.each([{ taskIndex: 1 }, { taskIndex: -1 }, { numTasks: 0 }, { attempt: -1 }, { taskIndex: 0.5, numTasks: 2 }])("%j is refused", (options) => {
  expect(() => withLocalContext(options, () => undefined)).toThrow(expect.objectContaining({ code: "IRIS_BAD_CONTEXT" }));
});
