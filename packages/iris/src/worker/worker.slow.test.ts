import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Desk, noApi, order, orderOf, valueOf } from "../../test/worker-harness.js";
import { attemptVariable, markedProcesses } from "./processes.js";
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

const warm = { isolation: "warm" as const };
const sh = (script: string) => ({ kind: "command" as const, argv: ["/bin/sh", "-c", script] });

describe.concurrent("a worker", { timeout: 120_000 }, () => {
  test("graphics processors are given by number, and come back", async () => {
    const device = { kind: "gpu" as const, count: 1 };
    for (let round = 0; round < 2; round += 1) {
      const uid = await desk.order(order(sh('echo "$CUDA_VISIBLE_DEVICES"'), { resources: { cpu: 0, memoryBytes: 0, diskBytes: 0, device } }));
      await desk.ended(uid);
      expect(desk.lines(uid)).toEqual([expect.stringMatching(/^[01]$/)]);
    }
  });

  test.each([
    ["an exit before the answer", () => orderOf("exits", [3]), { kind: "exit", code: 3 }],
    ["a process that is killed, with its last words", () => orderOf("killsItself"), { kind: "signal", signal: "SIGKILL", stderrTail: "these are my last words" }],
    ["a command that is killed", () => order(sh("kill -SEGV $$")), { kind: "signal", signal: "SIGSEGV" }],
    ["setup fails", () => order(sh("echo never"), { setup: ["echo setting up", "false", "echo not reached"] }), { kind: "setup-failed", message: expect.stringContaining("exit code 1") as string }],
    ["no such program", () => order({ kind: "command", argv: ["/nonexistent/program"] }), { kind: "setup-failed", message: expect.stringContaining("/nonexistent/program") as string }],
  ])("Truthful causes: %s", async (_what, make, cause) => {
    expect((await desk.run(make())).outcome).toMatchObject({ kind: "failed", cause });
  });

  test("Truthful causes: more memory than the attempt may hold: the group is ended at once, with what it held", async () => {
    const limitBytes = 300 * 2 ** 20;
    const { outcome, peakMemoryBytes } = await desk.run(orderOf("holdsMemory", [2 * limitBytes], { resources: { cpu: 0, memoryBytes: limitBytes, diskBytes: 0 } }));
    expect(outcome).toMatchObject({ kind: "failed", cause: { kind: "oom", limitBytes } });
    expect(peakMemoryBytes).toBeGreaterThan(limitBytes);
  });

  test("Truthful causes: a full heap of V8 is a lack of memory, too", async () => {
    const { outcome } = await desk.run(orderOf("fillsItsHeap", [], { env: { NODE_OPTIONS: "--max-old-space-size=64" } }));
    expect(outcome).toMatchObject({ kind: "failed", cause: { kind: "oom" } });
  });

  test("Cancel leaves nothing: an attempt that is asked to stop cleans up, and what it returns then is no success", async () => {
    const uid = await desk.order(orderOf("stopsWhenAsked"));
    await desk.line(uid, "waiting");
    await desk.stop(uid, 60_000);
    expect((await desk.ended(uid)).outcome).toEqual({ kind: "stopped" });
    expect(desk.lines(uid)).toEqual(["waiting", "cleaned up", "first asked, last run"]);
  });

  test("Context never leaks: each attempt of a warm process has its own; what one says after its end is not taken for the next", async () => {
    const pid = valueOf(await desk.run(orderOf("speaksLater", [], { ...warm, jobId: "/early" })));
    const uid = await desk.order(orderOf("logs", [200], { ...warm, jobId: "/later" }));
    await desk.ended(uid);
    expect(desk.reports.get(uid)?.find((report) => report.type === "started")?.pid).toBe(pid);
    const lines = desk.lines(uid);
    expect(lines.filter((line) => line.startsWith("late"))).toEqual([]);
    expect(lines.filter((line) => /^(printed|logged) \d+$/.test(line))).toHaveLength(400);
    expect(lines).toContain("the last line");
  });

  test("Cancel leaves nothing: what a command leaves behind ends with it, in its group or not; the next command sees neither its variables nor its ports", async () => {
    const left = await desk.order(order(sh("sleep 600 & setsid sleep 601 & echo $! >&2; echo $OWN; exit 0"), { env: { OWN: "own" }, ports: ["left"] }));
    expect((await desk.ended(left)).outcome.kind).toBe("returned");
    expect(desk.lines(left)).toContain("own");
    const pids = markedProcesses(attemptVariable, left);
    expect(pids).toEqual([]);
    for (let round = 0; round < 3; round += 1) {
      const uid = await desk.order(order(sh('echo "$OWN.$IRIS_PORT_LEFT.$PATH"')));
      await desk.ended(uid);
      expect(desk.lines(uid)).toEqual([`..${process.env["PATH"] ?? ""}`]);
    }
  });
});
