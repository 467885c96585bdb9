import { describe, expect, test } from "vitest";
import { runs } from "../../test/processes.js";
import { daemonOfEachTest } from "../../test/worker-daemon.js";
import { Desk, orderOf, valueOf } from "../../test/worker-harness.js";

const daemon = daemonOfEachTest();

describe("a worker in a process of its own", { timeout: 120_000 }, () => {
  test("killed with -9: nothing of it is left running; what had ended is told by the next one, what ran is lost, and neither is started again", async () => {
    const first = await daemon.connect();
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
    const second = await daemon.connect();
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
