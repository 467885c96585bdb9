import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type * as tasks from "../../test/fixtures/tasks.js";
import { gone } from "../../test/processes.js";
import { noApi } from "../../test/worker-harness.js";
import { chaos } from "../chaos/chaos.js";
import { IrisClient } from "../client/client.js";
import type { Job } from "../client/job.js";
import { Iris } from "../iris.js";
import type { JobSpec } from "../jobs/job-spec.js";
import { entry } from "../platform.js";
import { workerDaemon } from "./daemon.js";

const module = new URL("../../test/fixtures/tasks.ts", import.meta.url);
const task = <K extends keyof typeof tasks>(name: K): NonNullable<JobSpec["entry"]> => entry(module, name);
const none = { cpu: 0 };
const soon = { backoff: { initialMs: 1 } };

async function until(job: Job, message: string): Promise<void> {
  for await (const line of job.logs({ follow: true })) if (line.message === message) return;
  throw new Error(`${job.id} ended without "${message}": ${String((await job.wait()).error)}`);
}

describe("on a local client", { timeout: 120_000 }, () => {
  let client: IrisClient;
  beforeAll(() => {
    client = IrisClient.local({ cpus: 2 });
  });
  afterAll(() => client.close(), 60_000);
  afterEach(() => chaos.reset());

  describe.concurrent("budgets", () => {
    test("Truthful causes: a lack of memory is the program's own, charged to maxRetriesFailure, and repeated after the backoff", async () => {
      const initialMs = 700;
      const job = await client.submit({ name: "oom", entry: task("holdsMemory"), args: [600 * 2 ** 20], resources: { cpu: 0, memoryBytes: 300 * 2 ** 20 }, maxRetriesFailure: 1, maxRetriesPreemption: 100, backoff: { initialMs } });
      const result = await job.wait();
      expect(result).toMatchObject({ state: "FAILED", error: { code: "IRIS_OOM" } });
      expect(await job.status()).toMatchObject({ cause: { kind: "oom", limitBytes: 300 * 2 ** 20 }, tasks: [{ attempt: 1, state: "FAILED", cause: { kind: "oom" } }] });
      const lines = await collect(job.logs());
      const ended = lines.filter(({ attempt, source }) => attempt === 0 && source === "iris").at(-1);
      const again = lines.find(({ attempt }) => attempt === 1);
      expect(Date.parse(again?.time ?? "") - Date.parse(ended?.time ?? "")).toBeGreaterThanOrEqual(initialMs);
    });

    test("Truthful causes: an exit code is charged to maxRetriesFailure; infrastructure's budget is left alone", async () => {
      const job = await client.submit({ name: "exits", entry: task("exits"), args: [3], resources: none, maxRetriesFailure: 1, maxRetriesPreemption: 0, ...soon });
      expect(await job.wait()).toMatchObject({ state: "FAILED", error: { code: "IRIS_TASK_EXITED", data: { exitCode: 3 } } });
      expect((await job.status()).tasks).toMatchObject([{ attempt: 1, cause: { kind: "exit", code: 3 } }]);
    });

    test("Truthful causes: what runs out of time is not repeated", async () => {
      const job = await client.submit({ name: "late", command: ["/bin/sh", "-c", "sleep 600"], resources: none, timeoutMs: 200, maxRetriesFailure: 5, ...soon });
      expect(await job.wait()).toMatchObject({ state: "FAILED", error: { code: "IRIS_TIMEOUT" } });
      expect((await job.status()).tasks).toMatchObject([{ attempt: 0, cause: { kind: "timeout", timeoutMs: 200 } }]);
    });

    test("Truthful causes: a setup that fails names its exit code", async () => {
      const job = await client.submit({ name: "setup", command: ["true"], setup: ["exit 4"], resources: none });
      expect(await job.wait()).toMatchObject({ state: "FAILED", error: { code: "IRIS_SETUP_FAILED", message: expect.stringContaining("exit code 4") as string } });
    });

    test("Truthful causes: who cancelled it, and why; whatever its function returned then", async () => {
      const job = await client.submit({ name: "cancelled", entry: task("stopsWhenAsked"), resources: none });
      await until(job, "waiting");
      await job.cancel("no longer needed");
      expect(await job.wait()).toMatchObject({ state: "KILLED", error: { code: "IRIS_CANCELLED" } });
      const { cause } = await job.status();
      expect(cause).toMatchObject({ kind: "cancelled", by: expect.any(String) as string });
      expect(JSON.stringify(cause)).toContain("no longer needed");
    });
  });

  test("Truthful causes: a process that cannot be started is infrastructure's: n - 1 failures and a budget of n - 1 are a success", async () => {
    chaos.inject("process.start", { maxCount: 2 });
    const job = await client.submit({ name: "starts", entry: task("add"), args: [1, 2], resources: none, maxRetriesFailure: 0, maxRetriesPreemption: 2, ...soon });
    expect(await job.wait()).toMatchObject({ state: "SUCCEEDED", value: 3 });
    chaos.inject("process.start", { maxCount: 2 });
    const other = await client.submit({ name: "starts-not", entry: task("add"), args: [1, 2], resources: none, maxRetriesFailure: 9, maxRetriesPreemption: 1, ...soon });
    expect(await other.wait()).toMatchObject({ state: "WORKER_FAILED" });
    expect((await other.status()).cause).toMatchObject({ kind: "start-failed", message: "A failure on purpose at process.start." });
  });

  test("Truthful causes: one that makes place for another is told so, charged to infrastructure, and runs again", async () => {
    const batch = await client.submit({ name: "batch", entry: task("stopsWhenAsked"), resources: { cpu: 2 }, band: "BATCH", maxRetriesFailure: 0, ...soon });
    await until(batch, "waiting");
    const urgent = await client.submit({ name: "urgent", entry: task("add"), args: [2, 2], resources: { cpu: 2 }, band: "PRODUCTION" });
    expect(await urgent.wait()).toMatchObject({ state: "SUCCEEDED", value: 4 });
    const waiting = (await batch.status()).tasks[0];
    expect([waiting?.attempt, waiting?.state === "PENDING" ? waiting.cause?.kind : "preempted"]).toEqual([1, "preempted"]);
    for await (const event of batch.events()) if (event.type === "log" && event.line.attempt === 1 && event.line.message === "waiting") break;
    await batch.cancel();
  });
});

test("Truthful causes: a worker that is lost is neither the program's fault nor hidden; its tasks run again as often as their spec allows", { timeout: 240_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), "iris-lost-"));
  const capacity = { cpu: 2, memoryBytes: 2 ** 32, diskBytes: 0 };
  const client = await Iris.open({ dir, worker: { capacity } });
  const again = await client.submit({ name: "again", entry: task("killsItself"), args: [0], resources: none, ...soon });
  expect(await again.wait()).toMatchObject({ state: "SUCCEEDED", value: 0 });
  const jobs = await Promise.all([1, 0].map((maxRetriesPreemption) => client.submit({ name: `lost-${String(maxRetriesPreemption)}`, entry: task("stopsWhenAsked"), resources: none, maxRetriesFailure: 0, maxRetriesPreemption, ...soon })));
  for (const job of jobs) await until(job, "waiting");
  const daemon = await workerDaemon({ name: "local", directory: join(dir, "worker"), capacity }, () => noApi);
  process.kill(daemon.info.pid, "SIGKILL");
  const [retried, ended] = jobs as [Job, Job];
  expect(await ended.wait()).toMatchObject({ state: "WORKER_FAILED", error: { code: "IRIS_WORKER_LOST" } });
  expect((await ended.status()).cause).toMatchObject({ kind: "node-lost", worker: "local" });
  for await (const event of retried.events()) if (event.type === "log" && event.line.attempt === 1 && event.line.message === "waiting") break;
  expect((await retried.status()).tasks).toMatchObject([{ attempt: 1 }]);
  await retried.cancel();
  const last = await workerDaemon({ name: "local", directory: join(dir, "worker"), capacity }, () => noApi);
  await client.close();
  await last.shutdown(Number.MAX_SAFE_INTEGER).catch(() => undefined);
  await gone([last.info.pid], 60_000);
  await rm(dir, { recursive: true, force: true });
});
