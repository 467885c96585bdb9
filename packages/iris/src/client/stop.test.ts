import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type * as tasks from "../../test/fixtures/tasks.js";
import { gone, runs } from "../../test/processes.js";
import type { JobSpec } from "../jobs/job-spec.js";
import type { LogLine } from "../jobs/job-status.js";
import { entry } from "../platform.js";
import { IrisClient } from "./client.js";
import type { Job } from "./job.js";

const module = new URL("../../test/fixtures/tasks.ts", import.meta.url);
const task = <K extends keyof typeof tasks>(name: K): JobSpec["entry"] => entry(module, name);

let client: IrisClient;
beforeAll(() => {
  client = IrisClient.local({ cpus: 2 });
});
afterAll(() => client.close(), 60_000);

async function lineOf(job: Job, message: string): Promise<LogLine> {
  for await (const line of job.logs({ follow: true })) if (line.message === message) return line;
  throw new Error(`${job.id} ended without "${message}": ${String((await job.wait()).error)}`);
}

describe.concurrent("stopping", { timeout: 120_000 }, () => {
  test("a cancelled task has time to clean up, and what it returns then is no success", async () => {
    const job = await client.submit({ name: "polite", entry: task("stopsWhenAsked"), resources: { cpu: 0 } });
    await lineOf(job, "waiting");
    await job.cancel(new Error("no longer needed"));
    expect(await job.wait()).toMatchObject({ state: "KILLED", value: undefined, error: { code: "IRIS_CANCELLED", cause: { message: "no longer needed" } } });
    expect((await collect(job.logs())).map(({ message }) => message)).toEqual(["waiting", "cleaned up", "first asked, last run"]);
    await job.cancel();
  });

  test("Cancel leaves nothing: the signal given to submit cancels the job; that of wait ends the waiting only", async () => {
    const controller = new AbortController();
    const job = await client.submit({ name: "signalled", entry: task("stopsWhenAsked"), resources: { cpu: 0 } }, { signal: controller.signal });
    await lineOf(job, "waiting");
    await expect(job.wait({ signal: AbortSignal.abort(new Error("impatient")) })).rejects.toThrow("impatient");
    expect((await job.status()).state).toBe("RUNNING");
    controller.abort(new Error("over"));
    expect((await job.wait()).state).toBe("KILLED");
  });

  test("a task that ignores its signal, with a child that ignores TERM, is gone with all it started within the grace and two seconds", async () => {
    const job = await client.submit({ name: "stubborn", entry: task("doesNotStop"), resources: { cpu: 0 } });
    const { fields } = await lineOf(job, "running");
    const pids = [Number(fields?.["pid"]), Number(fields?.["child"])];
    expect(pids.map(runs)).toEqual([true, true]);
    const start = performance.now();
    await job.cancel();
    expect(performance.now() - start).toBeGreaterThan(3_900);
    expect(performance.now() - start).toBeLessThan(9_000);
    expect(pids.map(runs)).toEqual([false, false]);
    expect((await job.status()).state).toBe("KILLED");
  });

  test("a job that waits is cancelled without having started; one behind it that fits does not wait for it", async () => {
    const holder = await client.submit({ name: "holder", entry: task("stopsWhenAsked"), resources: { cpu: 1.5 } });
    const waiting = await client.submit({ name: "waiting", entry: task("add"), args: [1, 1], resources: { cpu: 1 } });
    const passing = await client.submit({ name: "passing", entry: task("add"), args: [2, 2], resources: { cpu: 0.5 } });
    expect(await waiting.status()).toMatchObject({ state: "PENDING", pendingReason: expect.stringContaining("waits for cpu: asks 1, free 0") as string, tasks: [{ state: "PENDING" }] });
    expect((await passing.wait()).value).toBe(4);
    expect((await waiting.status()).state).toBe("PENDING");
    const second = await client.submit({ name: "freed", entry: task("add"), args: [3, 3], resources: { cpu: 2 } });
    await waiting.cancel();
    expect(await waiting.wait()).toMatchObject({ state: "KILLED" });
    await lineOf(holder, "waiting");
    await holder.cancel();
    expect((await second.wait()).value).toBe(6);
  });

  test("within five seconds of a controller's kill -9 no process of its jobs is left, busy or not", async () => {
    const script = fileURLToPath(new URL("../../test/fixtures/controller.ts", import.meta.url));
    const controller = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(createInterface(controller.stdout), "line")) as [string];
    const pids = JSON.parse(line) as number[];
    expect(pids).toHaveLength(5);
    expect(pids.every(runs)).toBe(true);
    controller.kill("SIGKILL");
    expect(await gone(pids, 5_000)).toBeLessThan(5_000);
  });
});
