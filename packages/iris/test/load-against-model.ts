import { randomUUID } from "node:crypto";
import { readFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, vi } from "vitest";
import { type IrisClient, Iris, type Job, type JobSpec, type JobStatus, entry } from "../src/index.js";
import type * as tasks from "./fixtures/load-tasks.js";
import { gone, processesWith } from "./processes.js";

const work = <K extends keyof typeof tasks>(name: K): Pick<JobSpec, "entry"> => ({ entry: entry(new URL("./fixtures/load-tasks.ts", import.meta.url), name) });

/** What a kind of job is, and what the model says becomes of it. */
interface Kind {
  readonly spec: Omit<JobSpec, "name">;
  /** Whether somebody cancels it. */
  readonly cancelled?: true;
  readonly state: JobStatus["state"];
  /** Kinds of causes its attempts may end with, besides success. */
  readonly causes: readonly string[];
  /** Why the job ended, where it did not succeed. */
  readonly cause?: object;
}

/** Losing its worker or its place costs no job anything but time. */
const disturbances = ["node-lost", "preempted", "start-failed"];
const usual = { resources: { cpu: 1 }, isolation: "warm", backoff: { initialMs: 50, maxMs: 200 } } as const;

const kinds: readonly Kind[] = [
  { spec: { ...usual, ...work("works"), args: [150] }, state: "SUCCEEDED", causes: disturbances },
  { spec: { ...usual, ...work("works"), args: [400], band: "BATCH", replicas: 2 }, state: "SUCCEEDED", causes: disturbances },
  { spec: { ...usual, ...work("works"), args: [100], band: "PRODUCTION", resources: { cpu: 2 } }, state: "SUCCEEDED", causes: disturbances },
  { spec: { ...usual, ...work("works"), args: [200], replicas: 2, gang: {} }, state: "SUCCEEDED", causes: [...disturbances, "gang-restarted"] },
  { spec: { ...usual, ...work("fails") }, state: "FAILED", causes: [...disturbances, "threw"], cause: { kind: "threw" } },
  { spec: { ...usual, ...work("exits"), args: [3] }, state: "FAILED", causes: [...disturbances, "exit"], cause: { kind: "exit", code: 3 } },
  { spec: { ...usual, ...work("flaky"), maxRetriesFailure: 1 }, state: "SUCCEEDED", causes: [...disturbances, "threw"] },
  { spec: { ...usual, ...work("hangs"), timeoutMs: 1_500, isolation: "fresh" }, state: "FAILED", causes: [...disturbances, "timeout"], cause: { kind: "timeout", timeoutMs: 1_500 } },
  { spec: { ...usual, ...work("hangs"), band: "BATCH", isolation: "fresh" }, cancelled: true, state: "KILLED", causes: [...disturbances, "cancelled"], cause: { kind: "cancelled" } },
  { spec: { ...usual, ...work("works"), resources: { cpu: 64 } }, state: "UNSCHEDULABLE", causes: [], cause: { kind: "unschedulable", shortage: { dimension: "cpu" } } },
];

/**
 * Runs jobs of every kind while the worker is killed, the controller is opened anew, and jobs are cancelled; and holds what becomes of them against the model.
 *
 * @param jobs - how many
 * @param forMs - for about how long they are submitted, in milliseconds
 */
export async function loadAgainstModel(jobs: number, forMs: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "iris-load-"));
  const mark = randomUUID();
  vi.stubEnv("MARIN_TEST_MARK", mark);
  const open = (): Promise<IrisClient> => Iris.open({ dir: directory, worker: { capacity: { cpu: 4, memoryBytes: 2 ** 33, diskBytes: 2 ** 33 }, warm: 2, orphanMs: 60_000 } });
  let iris = await open();
  const submitted: { readonly kind: Kind; readonly uid: string; readonly id: string }[] = [];
  try {
    for (let count = 0; count < jobs; count += 1) {
      const kind = kinds[count % kinds.length] as Kind;
      const job: Job = await iris.submit({ ...kind.spec, name: `job-${String(count).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}` });
      submitted.push({ kind, uid: job.uid, id: job.id });
      await delay((Math.random() * 2 * forMs) / jobs);
      const cancelled = submitted.filter((each) => each.kind.cancelled);
      const victim = cancelled[Math.floor(Math.random() * cancelled.length)];
      if (count % 10 === 9 && victim !== undefined) await (await iris.get(victim.uid)).cancel("as planned");
      if (count % 20 === 14) await killWorker(directory);
      if (count % 40 === 29) {
        await iris.close();
        iris = await open();
      }
      await checkNow(iris, submitted.slice(-8).map(({ uid }) => uid));
    }
    for (const { kind, uid } of submitted) if (kind.cancelled) await (await iris.get(uid)).cancel("at the end");
    for (const { kind, uid, id } of submitted) {
      const job = await iris.get(uid);
      const { state, values } = await job.wait();
      const status = await job.status();
      expect(state, `${id}: ${JSON.stringify(status.cause)}`).toBe(kind.state);
      if (kind.cause !== undefined) expect(status.cause).toMatchObject(kind.cause);
      if (kind.spec.entry?.export === "works" && state === "SUCCEEDED") expect(values).toEqual(Array(kind.spec.replicas ?? 1).fill(id));
      checkHistory(status, kind);
      expect(await iris.resolve(`load${id}`)).toBeUndefined();
    }
    expect((await iris.workers()).map(({ used, attempts }) => ({ cpu: used.cpu, attempts }))).toEqual([{ cpu: 0, attempts: [] }]);
    await iris.close();
    // With nothing left to do the worker ends as well, and has kept nothing of what is stored.
    await gone(processesWith(mark), 30_000);
    expect(await readdir(join(directory, "worker", "attempts"))).toEqual([]);
  } finally {
    await iris.close();
    for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL");
    await gone(processesWith(mark), 20_000);
    vi.unstubAllEnvs();
    await rm(directory, { recursive: true });
  }
}

/** As somebody else might: without a word. */
async function killWorker(directory: string): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(directory, "worker", "worker.json"), "utf8")) as { pid: number };
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The one before it has not been replaced yet.
  }
}

/** What must hold at any moment. */
async function checkNow(iris: IrisClient, uids: readonly string[]): Promise<void> {
  for (const { used } of await iris.workers()) expect(used.cpu).toBeLessThanOrEqual(4);
  for (const uid of uids) {
    const { tasks, state } = await (await iris.get(uid)).status();
    for (const { attempts } of tasks) expect(attempts.slice(0, -1).every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    if (state === "SUCCEEDED") expect(tasks.every((task) => task.state === "SUCCEEDED")).toBe(true);
  }
}

/** What must hold in the end. */
function checkHistory({ tasks, id }: JobStatus, { causes, state, spec }: Kind): void {
  for (const { attempts } of tasks) {
    for (const [index, { number, cause, endedAt }] of attempts.entries()) {
      expect(number).toBe(index);
      expect(endedAt).toBeDefined();
      if (cause !== undefined) expect(causes, id).toContain(cause.kind);
      // What is run again was disturbed; of a gang, perhaps another task.
      if (index < attempts.length - 1 && spec.gang === undefined) expect(cause).toBeDefined();
    }
    if (state === "SUCCEEDED") expect(attempts.at(-1)?.state).toBe("SUCCEEDED");
  }
}
