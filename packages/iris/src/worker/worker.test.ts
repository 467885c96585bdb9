import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Desk, noApi, order, orderOf, valueOf } from "../../test/worker-harness.js";
import { gone, runs } from "../../test/processes.js";
import type { Identity } from "../../test/fixtures/tasks.js";
import { chaos } from "../chaos/chaos.js";
import { MarinError } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import { Journal } from "./journal.js";
import { ReportStream } from "./report-stream.js";
import { Worker } from "./worker.js";

const capacity = { cpu: 4, memoryBytes: 2 ** 32, diskBytes: 0, device: { kind: "gpu" as const, count: 2 } };

let worker: Worker;
let desk: Desk;
beforeAll(() => {
  worker = new Worker({ name: "w", capacity, api: () => noApi });
  desk = new Desk(worker);
});
afterAll(async () => {
  await worker.close();
  await desk.leave();
}, 60_000);
afterEach(() => chaos.reset());

const warm = { isolation: "warm" as const };
const sh = (script: string) => ({ kind: "command" as const, argv: ["/bin/sh", "-c", script] });

describe.concurrent("a worker", { timeout: 120_000 }, () => {
  test("runs a function in a process of its own and tells of it in order, without gaps, the end last", async () => {
    const uid = await desk.order(orderOf("whoAmI", [], { jobId: "/a", taskIndex: 1, numTasks: 3, attempt: 2, ports: ["http", "rpc"] }));
    const ended = await desk.ended(uid);
    const reports = desk.reports.get(uid) ?? [];
    const started = reports.find((report) => report.type === "started");
    expect(reports.map(({ type }) => type)).toEqual(["building", "started", "ended"]);
    expect(valueOf(ended)).toEqual({ jobId: "/a", attempt: 2, taskIndex: 1, numTasks: 3, ports: started?.ports, pid: started?.pid });
    expect(Object.keys(started?.ports ?? {})).toEqual(["http", "rpc"]);
    expect(runs(started?.pid ?? 0)).toBe(false);
  });

  test("an order that comes again starts nothing; an attempt that it does not know is missing; one that is no longer wanted is stopped and forgotten", async () => {
    const what = orderOf("stopsWhenAsked");
    const uid = await desk.order(what, "twice");
    desk.want("unknown");
    expect((await desk.reconcile()).attempts).toContainEqual({ attemptUid: "unknown", state: "missing", lastSeq: 0, memoryBytes: 0 });
    await desk.drop("unknown");
    expect((await desk.order(what, uid))).toBe(uid);
    await desk.line(uid, "waiting");
    const { pid } = desk.reports.get(uid)?.find((report) => report.type === "started") ?? {};
    expect((await desk.drop(uid)).attempts.map(({ attemptUid }) => attemptUid)).not.toContain(uid);
    await gone([pid ?? 0], 60_000);
    expect((desk.reports.get(uid) ?? []).filter(({ type }) => type === "started")).toHaveLength(1);
  });

  test("a controller that was started earlier is refused", async () => {
    const own = new Worker({ name: "own", capacity, api: () => noApi });
    await own.reconcile({ epoch: 3, desired: [] });
    await expect(own.reconcile({ epoch: 2, desired: [] })).rejects.toMatchObject({ code: "IRIS_STALE_CONTROLLER", data: { epoch: 2, latest: 3 } });
    await own.close();
    await expect(own.reconcile({ epoch: 3, desired: [] })).rejects.toMatchObject({ code: "IRIS_CLOSED" });
  });

  test("nothing that a task reports, prints or returns keeps its worker from telling what follows", async () => {
    const uid = await desk.order(orderOf("reportsNonsense"));
    expect((await desk.ended(uid)).outcome).toMatchObject({ kind: "failed", cause: { kind: "threw", failure: { error: { code: "IRIS_VALUE_TOO_LARGE", data: { limit: 2 ** 25 } } } } });
    const reports = desk.reports.get(uid) ?? [];
    expect(reports.filter(({ type }) => type === "metrics" || type === "progress")).toMatchObject([{ values: { loss: 2 }, step: 1 }]);
    const lines = reports.filter((report) => report.type === "log");
    for (const problem of [/progress was not taken: progress\.total: /, /progress was not taken: progress\.unit: /, /metrics was not taken: values\.loss: /, /metrics was not taken: step: /, /"garbled".* and more$/]) {
      expect(lines.filter(({ message }) => problem.test(message))).toHaveLength(1);
    }
    expect(lines.filter(({ message }) => message.includes("long ")).map(({ message }) => message).join("")).toBe("long ".repeat(300_000));
    expect(lines.find(({ message }) => message === "fields")?.fields).toEqual({ "left out": expect.stringMatching(/^fields of 1\d{6} characters$/) as string });
  });

  test("an error of any length fits into a message", () => {
    const { error, stacks } = failureToWire(new MarinError("USER_LONG", "long ".repeat(300_000), { data: { path: "a" } }));
    expect(error).toMatchObject({ name: "MarinError", code: "USER_LONG", message: expect.stringMatching(/^(long )+l?o?n?g? \[shortened: the error had \d{7} characters in all\]$/) as string, data: {} });
    expect(JSON.stringify({ error, stacks }).length).toBeLessThan(2 ** 17);
  });

  test("attempts with much to say are not told in one message", async () => {
    const stream = new ReportStream();
    const journals = ["a", "b", "c"].map((name) => {
      const journal: Journal = new Journal(name, undefined, () => stream.changed(journal));
      journal.end({ outcome: { kind: "returned", value: new Uint8Array(5 * 2 ** 20) }, peakMemoryBytes: 0 });
      return journal;
    });
    const stop = new AbortController();
    const batches: number[] = [];
    for await (const batch of stream.read(stop.signal, true)) if (batches.push(batch.length) === journals.length) stop.abort();
    expect(batches).toEqual([1, 1, 1]);
  });

  test("an attempt for which the disk has no place has that for its cause, and others go on", async () => {
    const directory = await mkdtemp(join(tmpdir(), "iris-worker-"));
    const own = new Worker({ name: "own", capacity, directory, api: () => noApi });
    const its = new Desk(own);
    await writeFile(join(directory, "attempts", "blocked"), "");
    expect((await its.ended(await its.order(order(sh("true")), "blocked"))).outcome).toMatchObject({ kind: "failed", cause: { kind: "start-failed", worker: "own", message: expect.stringContaining("EEXIST") as string } });
    expect((await its.run(order(sh("true")))).outcome.kind).toBe("returned");
    await own.close();
    await its.leave();
    await rm(directory, { recursive: true });
  });

  test("a command finds its place in variables; its setup runs before it", async () => {
    const uid = await desk.order(order(sh('echo "$IRIS_JOB_ID $IRIS_TASK_INDEX $IRIS_NUM_TASKS $IRIS_ATTEMPT $IRIS_PORT_MY_PORT"'), { jobId: "/c", taskIndex: 1, numTasks: 2, ports: ["my-port"], setup: ["echo first", "echo second >&2"] }));
    expect((await desk.ended(uid)).outcome.kind).toBe("returned");
    const port = desk.reports.get(uid)?.find((report) => report.type === "started")?.ports["my-port"];
    expect([...desk.lines(uid)].sort()).toEqual([`/c 1 2 0 ${String(port)}`, "first", "second"].sort());
  });

  test.each([
    ["what a function throws", () => orderOf("throwsLate"), { kind: "threw", failure: { error: { code: "USER_BROKEN" } } }],
    ["a command's exit code, with its last words", () => order(sh("echo why >&2; exit 7")), { kind: "exit", code: 7, stderrTail: "why" }],
    ["its time is up", () => order(sh("sleep 600"), { timeoutMs: 300 }), { kind: "timeout", timeoutMs: 300 }],
    ["no such bundle", () => order(sh("true"), { bundle: { digest: "sha256-0", root: "file:///w/" } }), { kind: "setup-failed", message: expect.stringContaining("sha256-0") as string }],
    ["no such device", () => order(sh("true"), { resources: { cpu: 0, memoryBytes: 0, diskBytes: 0, device: { kind: "gpu", count: 3 } } }), { kind: "start-failed", worker: "w" }],
  ])("Truthful causes: %s", async (_what, make, cause) => {
    expect((await desk.run(make())).outcome).toMatchObject({ kind: "failed", cause });
  });

  test("Cancel leaves nothing: a process tree whose children and grandchildren ignore TERM, have left the group, or cleared their environment too, is gone within the grace and a second; ports and devices are free", async () => {
    const device = { kind: "gpu" as const, count: 1 };
    const uid = await desk.order(orderOf("leavesItsGroup", [true], { ports: ["a"], resources: { cpu: 0, memoryBytes: 0, diskBytes: 0, device } }));
    const { fields } = await desk.line(uid, "running");
    const pids = ["pid", "inside", "outside", "bare"].map((name) => Number(fields?.[name]));
    expect(pids.map(runs)).toEqual([true, true, true, true]);
    const graceMs = 500;
    const start = performance.now();
    await desk.stop(uid, graceMs);
    const { outcome } = await desk.ended(uid);
    expect(outcome).toEqual({ kind: "stopped" });
    expect(pids.map(runs)).toEqual([false, false, false, false]);
    expect(performance.now() - start).toBeGreaterThan(graceMs);
    expect((await desk.run(order(sh("true"), { resources: { cpu: 0, memoryBytes: 0, diskBytes: 0, device } }))).outcome.kind).toBe("returned");
  });

  test("Cancel leaves nothing: an attempt that is stopped before its process has started never starts", async () => {
    const uid = await desk.order(orderOf("whoAmI"));
    await desk.stop(uid, 0);
    expect((await desk.ended(uid)).outcome).toEqual({ kind: "stopped" });
    expect(desk.reports.get(uid)?.map(({ type }) => type)).not.toContain("started");
  });

  test("attempts of equal environment share one; of others, and fresh ones, do not; one that failed is not used again", async () => {
    const pidOf = async (...args: Parameters<typeof orderOf>): Promise<number> => (valueOf(await desk.run(orderOf(...args))) as Identity).pid;
    const first = await pidOf("whoAmI", [], warm);
    expect(await pidOf("whoAmI", [], warm)).toBe(first);
    expect(await pidOf("whoAmI", [], { ...warm, env: { A: "1" } })).not.toBe(first);
    expect(await pidOf("whoAmI", [])).not.toBe(first);
    await desk.run(orderOf("throwsLate", [], warm));
    const second = await pidOf("whoAmI", [], warm);
    expect(second).not.toBe(first);
    await gone([first], 60_000);
  });
});

describe("a worker with chaos", { timeout: 120_000 }, () => {
  test("Truthful causes: a process that cannot be started", async () => {
    chaos.inject("process.start", { maxCount: 1 });
    expect((await desk.run(order(sh("true")))).outcome).toMatchObject({ kind: "failed", cause: { kind: "start-failed", worker: "w", message: "A failure on purpose at process.start." } });
  });
});
