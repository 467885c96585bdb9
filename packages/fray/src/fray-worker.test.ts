import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { entry, FrayWorker, type Entry, type FrayWorkerOptions } from "./index.js";
import { parentService } from "../test/work.js";
import type * as work from "../test/work.js";

const module = new URL("../test/work.ts", import.meta.url);
const named = <K extends keyof typeof work>(name: K) =>
  entry<(typeof work)[K] extends (...args: infer A) => infer R ? (...args: A) => R : never>(module, name);

const workers: FrayWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })));
});

async function start(kind: "process" | "thread", options: Partial<FrayWorkerOptions> = {}) {
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const worker = await FrayWorker.start({
    kind,
    name: "tested",
    env: { FRAY_TEST: "given" },
    onStdout: (line) => {
      lines.push(line);
      for (const look of watchers) look();
    },
    onStderr: () => undefined,
    ...options,
  });
  workers.push(worker);
  /** When a line has come that contains the text. */
  const printed = (text: string) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const found = lines.find((line) => line.includes(text));
        if (found !== undefined) resolve(found);
      };
      watchers.add(look);
      look();
    });
  return { worker, lines, printed };
}

async function failure(work: PromiseLike<unknown>): Promise<Error & { code?: string; data?: Record<string, unknown> }> {
  const nothing = Symbol("nothing");
  const thrown: unknown = await Promise.resolve(work).then(() => nothing, (error: unknown) => error);
  if (thrown === nothing) throw new Error("it did not fail");
  return thrown as Error;
}

/** Gone, or dead and only not waited for yet by whoever inherited it. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

describe.each(["process", "thread"] as const)("a %s", (kind) => {
  /** For the tests that leave it as it was. */
  let lasting: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    lasting = await start(kind);
    workers.pop();
  });
  afterAll(() => lasting.worker.stop());

  test("runs exported functions, knows its parent, and ends when stopped", async () => {
    const { worker } = await start(kind);
    expect(await worker.call(named("add"), [1, 2])).toBe(3);
    const who = await worker.call(named("whoami"), []);
    expect(who).toMatchObject({ parent: true, env: "given", ...(kind === "process" ? { pid: worker.pid, ppid: process.pid, threadId: 0 } : { pid: process.pid }) });
    expect(await worker.stop()).toEqual({ code: 0, signal: null, stderrTail: "" });
    expect(await failure(worker.call(named("add"), [1, 2]))).toMatchObject({ code: "FRAY_WORKER_STOPPED" });
  });

  test("arguments and results keep their types; what cannot be cloned is refused", async () => {
    const { worker } = lasting;
    const value = { bytes: new Uint8Array([1, 2]), floats: new Float32Array([0.5, NaN]), map: new Map([[1, new Date(5)]]), big: 2n ** 70n, nothing: undefined, holes: [null, undefined] };
    expect(await worker.call(named("echo"), [value])).toEqual(value);
    expect(await failure(worker.call(named("echo"), [() => 1]))).toMatchObject({ code: "FRAY_NOT_CLONABLE", message: expect.stringContaining("The arguments of echo") });
    expect(await failure(worker.call(named("giveFunction"), []))).toMatchObject({ code: "FRAY_NOT_CLONABLE", message: expect.stringContaining("The result of giveFunction") });
  });

  test("errors keep code, data and cause; modules and exports that are missing are named", async () => {
    const { worker } = lasting;
    expect(await failure(worker.call(named("fail"), ["boom"]))).toMatchObject({ code: "TEST_FAILED", message: "boom", data: { n: 7 }, cause: { name: "TypeError", message: "inner" } });
    expect(await failure(worker.call(entry(module, "nowhere"), []))).toMatchObject({ code: "FRAY_ENTRY_MISSING", data: { functions: expect.arrayContaining(["add", "echo"]) } });
    expect(await failure(worker.call(entry("/no/such/module.js", "f"), []))).toMatchObject({ code: "FRAY_ENTRY_IMPORT", data: { module: "file:///no/such/module.js" } });
  });

  test("a module that starts workers at its top level is refused in a worker: each would start others", async () => {
    const { worker } = lasting;
    const starting = worker.call(entry(new URL("../test/starts-workers.ts", import.meta.url), "twice"), [2]);
    expect(await failure(starting)).toMatchObject({ code: "FRAY_ENTRY_IMPORT", message: expect.stringContaining("starts workers at its top level"), cause: { code: "FRAY_RECURSIVE_START" } });
    expect(await worker.call(named("add"), [1, 2])).toBe(3);
  });

  test("cancelling a call aborts its signal in the worker", async () => {
    const { worker, printed } = lasting;
    const call = worker.call(named("untilAborted"), []);
    await printed("waiting");
    call.cancel(new Error("enough"));
    expect(await failure(call)).toMatchObject({ code: "FRAY_CANCELLED", cause: { message: "enough" } });
    expect(await printed("aborted")).toBe("aborted: enough");
  });

  test("a stop lets functions end", async () => {
    const { worker, printed } = await start(kind);
    const call = worker.call(named("untilAborted"), []);
    await printed("waiting");
    expect(await worker.stop({ graceMs: 20_000 })).toMatchObject({ code: 0, signal: null });
    expect(await call).toBe("ended by itself");
  });

  test("output arrives line by line, and disturbs nothing", async () => {
    const errors: string[] = [];
    const { worker, lines } = await start(kind, { onStderr: (line) => errors.push(line) });
    expect(await worker.call(named("chatter"), [])).toBe("done");
    await worker.stop();
    expect(lines).toEqual(["one", "two", "\u0000{binary}", "last ä"]);
    expect(errors).toEqual(["warned"]);
  });

  test("both sides serve over the one connection", async () => {
    const { worker } = lasting;
    worker.connection.serve(parentService, { double: (n) => 2 * n });
    expect(await worker.call(named("askParent"), [21])).toBe(42);
  });

  test("a worker that leaves fails its calls with what is known", async () => {
    const { worker } = await start(kind);
    const other = failure(worker.call(named("untilAborted"), []));
    const error = await failure(worker.call(named("exitWith"), [3]));
    expect(error).toMatchObject({ code: "FRAY_WORKER_LOST", data: { worker: "tested", pid: worker.pid, code: 3, signal: null, stderrTail: "about to leave" } });
    expect(error.message).toContain("exit code 3 while it ran");
    expect(await other).toMatchObject({ code: "FRAY_WORKER_LOST" });
    expect(await worker.exited).toEqual({ code: 3, signal: null, stderrTail: "about to leave" });
  });

  test("an error that nobody catches ends the worker and shows in its last lines", async () => {
    const { worker } = await start(kind);
    expect(await failure(worker.call(named("throwLater"), []))).toMatchObject({ code: "FRAY_WORKER_LOST", data: { code: 1, stderrTail: expect.stringContaining("nobody catches this") } });
  });

  test("a busy worker is ended by force after the grace", async () => {
    const { worker, printed } = await start(kind);
    const call = failure(worker.call(named("spin"), []));
    await printed("spinning");
    const exit = await worker.stop({ graceMs: 50 });
    expect(exit).toMatchObject(kind === "process" ? { code: null, signal: "SIGTERM" } : { code: 1 });
    expect(await call).toMatchObject({ code: "FRAY_WORKER_STOPPED" });
  });
});

test("a killed process fails its calls and says so", async () => {
  const { worker, printed } = await start("process");
  const call = failure(worker.call(named("spin"), []));
  await printed("spinning");
  process.kill(worker.pid ?? 0, "SIGKILL");
  expect(await call).toMatchObject({ code: "FRAY_WORKER_LOST", data: { pid: worker.pid, code: null, signal: "SIGKILL" } });
});

test("a process that runs out of memory says so", async () => {
  const { worker } = await start("process", { env: { NODE_OPTIONS: "--max-old-space-size=40" } });
  expect(await failure(worker.call(named("hoard"), []))).toMatchObject({ code: "FRAY_WORKER_LOST", data: { signal: "SIGABRT", stderrTail: expect.stringContaining("heap out of memory") } });
});

test("an aborted signal ends a start under way", async () => {
  const controller = new AbortController();
  const starting = failure(FrayWorker.start({ kind: "process", name: "never", signal: controller.signal, onStderr: () => undefined }));
  const reason = new Error("changed my mind");
  controller.abort(reason);
  expect(await starting).toBe(reason);
});

test("an inline function is refused with the named form", () => {
  const tokenize = () => 1;
  expect(() => entry(tokenize as unknown as string, "x")).toThrow('entry<typeof tokenize>(import.meta.url, "tokenize")');
  expect(() => entry(import.meta.url, tokenize as unknown as string)).toThrow(expect.objectContaining({ code: "FRAY_INLINE_FUNCTION" }));
  expect(() => entry("./relative.js", "x")).toThrow(expect.objectContaining({ code: "FRAY_BAD_ENTRY" }));
  expect(JSON.parse(JSON.stringify(entry(module, "add"))) as Entry).toEqual({ module: module.href, export: "add" });
});

const script = fileURLToPath(new URL("../test/parent.ts", import.meta.url));
const runScript = (what: string) => spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, what], { stdio: ["ignore", "pipe", "ignore"] });

test("a stopped worker does not keep its parent", async () => {
  const parent = runScript("add");
  let output = "";
  parent.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  expect(await once(parent, "close")).toEqual([0, null]);
  expect(output).toBe("42\n");
});

test("kill -9 of the parent takes along what a worker has started that ends before its watchdog looks", async () => {
  const parent = runScript("leave-child");
  const pids: number[] = [];
  for await (const line of createInterface({ input: parent.stdout })) {
    const pid = /^pid (\d+)$/.exec(line)?.[1];
    if (pid !== undefined) pids.push(Number(pid));
    if (line === "left") break;
  }
  expect(pids).toHaveLength(2);
  parent.kill("SIGKILL");
  await expect.poll(() => pids.map(isGone), { timeout: 5_000, interval: 20 }).toEqual([true, true]);
});

test.each([0, 1, 2])("kill -9 of process %i of a chain whose last one is busy: everything below is gone within 5 s", async (victim) => {
  const parent = runScript("nest");
  const pids = [parent.pid ?? 0];
  for await (const line of createInterface({ input: parent.stdout })) {
    const pid = /^pid (\d+)$/.exec(line)?.[1];
    if (pid !== undefined) pids.push(Number(pid));
    if (line === "spinning") break;
  }
  expect(pids).toHaveLength(4);
  const killed = performance.now();
  process.kill(pids[victim] ?? 0, "SIGKILL");
  await expect.poll(() => pids.map(isGone), { timeout: 10_000, interval: 20 }).toEqual([true, true, true, true]);
  expect(performance.now() - killed).toBeLessThan(5_000);
});
