import { afterEach, describe, expect, test } from "vitest";
import { entry, FrayWorker } from "./index.js";
import type * as work from "../test/work.js";

const module = new URL("../test/work.ts", import.meta.url);

const workers: FrayWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

async function start(kind: "process" | "thread"): Promise<FrayWorker> {
  const worker = await FrayWorker.start({ kind, name: "tested", env: { FRAY_TEST: "given" } });
  workers.push(worker);
  return worker;
}

describe.each(["process", "thread"] as const)("a %s", (kind) => {
  test("runs exported functions, knows its parent, and ends when stopped", async () => {
    const worker = await start(kind);
    expect(await worker.call(entry<typeof work.add>(module, "add"), [1, 2])).toBe(3);
    const who = await worker.call(entry<typeof work.whoami>(module, "whoami"), []);
    expect(who).toMatchObject({ parent: true, env: "given", ...(kind === "process" ? { pid: worker.pid, ppid: process.pid, threadId: 0 } : { pid: process.pid }) });
    expect(await worker.stop()).toEqual({ code: 0, signal: null, stderrTail: "" });
  });

  test("arguments and results keep their types", async () => {
    const worker = await start(kind);
    const value = { bytes: new Uint8Array([1, 2]), floats: new Float32Array([0.5, NaN]), map: new Map([[1, new Date(5)]]), big: 2n ** 70n, nothing: undefined, holes: [null, undefined] };
    expect(await worker.call(entry<typeof work.echo>(module, "echo"), [value])).toEqual(value);
  });
});
