import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gone, runs } from "../../test/processes.js";
import { Desk, noApi, orderOf, valueOf } from "../../test/worker-harness.js";
import { workerDaemon } from "./daemon.js";
import type { WorkerLink } from "./link.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-worker-"));
});
afterEach(async () => {
  // Whatever a failed test has left.
  const link = await connect().catch(() => undefined);
  await link?.shutdown(1_000);
  await gone([link?.info.pid ?? 0], 60_000);
  await rm(directory, { recursive: true, force: true });
}, 120_000);

const connect = (): Promise<WorkerLink> => workerDaemon({ name: "d", directory, capacity: { cpu: 4, memoryBytes: 2 ** 32, diskBytes: 0 } }, () => noApi);

describe("a worker in a process of its own", { timeout: 120_000 }, () => {
  test("killed with -9: nothing of it is left running; what had ended is told by the next one, what ran is lost, and neither is started again", async () => {
    const first = await connect();
    const before = new Desk(first, 1);
    const ended = await before.order(orderOf("add", [2, 3]));
    await before.ended(ended);
    const what = orderOf("leavesItsGroup");
    const running = await before.order(what);
    const { fields } = await before.line(running, "running");
    const pids = ["pid", "inside", "outside"].map((name) => Number(fields?.[name]));
    process.kill(first.info.pid, "SIGKILL");
    await first.closed;
    await before.leave().catch(() => undefined);
    const second = await connect();
    expect(second.info.incarnation).not.toBe(first.info.incarnation);
    expect(second.info.name).toBe("d");
    expect(pids.map(runs)).toEqual([false, false, false]);
    const after = new Desk(second, 2);
    after.want(ended);
    await after.order(what, running);
    expect(valueOf(await after.ended(ended))).toBe(5);
    expect((await after.ended(running)).outcome).toMatchObject({ kind: "failed", cause: { kind: "node-lost", worker: "d" } });
    expect(after.lines(running)).toEqual(["running"]);
    expect(after.reports.get(running)?.filter(({ type }) => type === "started")).toHaveLength(1);
    await after.leave();
  });
});
