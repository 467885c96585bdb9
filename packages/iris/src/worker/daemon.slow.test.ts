import { spawnSync } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { gone } from "../../test/processes.js";
import { daemonOfEachTest } from "../../test/worker-daemon.js";
import { Desk, order, orderOf } from "../../test/worker-harness.js";

const daemon = daemonOfEachTest();

describe("a worker in a process of its own", { timeout: 120_000 }, () => {
  test("outlives its controller: what ran goes on, what ended meanwhile is told, once and whole; its directory goes when it is acknowledged", async () => {
    const first = await daemon.connect();
    const before = new Desk(first, 1);
    const running = await before.order(orderOf("stopsWhenAsked"));
    await before.line(running, "waiting");
    const ending = await before.order(orderOf("logs", [5_000], { env: { SECRET_TOKEN: "hunter2-and-more" } }));
    await before.line(ending, "printed 10");
    // The controller is gone, in the middle of it: what it had not stored comes again.
    const stored = (before.reports.get(ending) ?? []).slice(0, 5);
    await before.leave();
    const second = await daemon.connect();
    expect(second.info.incarnation).toBe(first.info.incarnation);
    const after = new Desk(second, 2, new Map([[running, before.reports.get(running) ?? []], [ending, stored]]));
    for (const uid of [running, ending]) after.want(uid);
    await after.reconcile();
    await expect(first.reconcile({ epoch: 1, desired: [] })).rejects.toMatchObject({ code: "IRIS_STALE_CONTROLLER" });
    expect((await after.ended(ending)).outcome.kind).toBe("returned");
    expect(after.lines(ending).filter((line) => line.startsWith("printed"))).toEqual(Array.from({ length: 5_000 }, (_, line) => `printed ${String(line)}`));
    // Standard error has a pipe of its own: its one line may come anywhere among those of standard output.
    expect(after.lines(ending).filter((line) => line === "an error")).toHaveLength(1);
    expect(after.lines(ending).findLast((line) => line !== "an error")).toBe("the last line");
    expect(await readdir(join(daemon.directory, "attempts"))).toEqual(expect.arrayContaining([running, ending]));
    expect(spawnSync("grep", ["-r", "hunter2", daemon.directory]).status).toBe(1);
    await after.drop(ending);
    await after.stop(running, 60_000);
    expect((await after.ended(running)).outcome.kind).toBe("stopped");
    await after.drop(running);
    for (let left = [""]; left.length > 0; await delay(10)) left = await readdir(join(daemon.directory, "attempts"));
    await after.leave();
  });

  test("without a controller for too long it stops its attempts and ends; their fate is told by the next one", async () => {
    const first = await daemon.connect(1_500);
    const before = new Desk(first, 1);
    const uid = await before.order(order({ kind: "command", argv: ["/bin/sh", "-c", "echo running; sleep 600"] }));
    const heard = setInterval(() => void before.reconcile(), 300);
    await before.line(uid, "running");
    clearInterval(heard);
    const { pid = 0 } = before.reports.get(uid)?.find((report) => report.type === "started") ?? {};
    await before.leave();
    await gone([pid, first.info.pid], 120_000);
    expect(await readFile(join(daemon.directory, "attempts", uid, "exit.json"), "utf8")).toContain("heard no controller for 1500 ms");
    const after = new Desk(await daemon.connect(), 2);
    after.want(uid);
    await after.reconcile();
    expect((await after.ended(uid)).outcome).toMatchObject({ kind: "failed", cause: { kind: "node-lost" } });
    await after.leave();
  });
});
