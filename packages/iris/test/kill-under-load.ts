import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { Channel } from "@marin/ducky";
import { expect } from "vitest";
import type { IrisApi, SubmittedJob } from "../src/client/iris-api.js";
import { remoteIrisApi } from "../src/client/iris-service.js";
import { resumingApi } from "../src/client/resuming-api.js";
import { checkJobSpec } from "../src/jobs/job-spec.js";
import { entry } from "../src/platform.js";
import type { tellsItsRun } from "./fixtures/tasks.js";
import { gone, processesWith } from "./processes.js";

const script = fileURLToPath(new URL("./fixtures/killed-controller.ts", import.meta.url));
const tasks = new URL("./fixtures/tasks.ts", import.meta.url);

/** Lines that each task logs. */
const lines = 40;

/**
 * Kills a controller again and again while jobs are submitted, run and followed, and checks that in the end each task has run exactly once, that what ended
 * meanwhile has ended, and that followers have missed and repeated nothing.
 *
 * @param kills - how often
 */
export async function killUnderLoad(kills: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "iris-kill-"));
  const mark = `MARIN_TEST_MARK=${randomUUID()}`;
  const start = (): ChildProcess => {
    const [name = "", value] = mark.split("=");
    return spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, directory], { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, [name]: value } });
  };
  const channel = new Channel({ resolve: () => readFile(join(directory, "address"), "utf8"), maxWaitMs: 120_000, backoff: { initialMs: 20, maxMs: 200 } });
  const api = resumingApi((signal) => channel.connected({ signal }), remoteIrisApi);
  let controller = start();
  let over = false;
  try {
    const submitting = submitUntil(api, join(directory, "runs"), () => over);
    for (let kill = 0; kill < kills; kill += 1) {
      await channel.connected();
      await delay(Math.random() * 1_500);
      controller.kill("SIGKILL");
      await once(controller, "exit");
      // Tasks end while nobody is there.
      await delay(Math.random() * 500);
      controller = start();
    }
    over = true;
    const jobs = await submitting;
    expect(jobs.length).toBeGreaterThan(kills);
    const runs = new Map<string, number>();
    for (const { job, followed } of jobs) {
      const { state, error } = await api.wait({ job: job.uid });
      expect(state, `${job.id}: ${error?.error.message ?? ""}`).toBe("SUCCEEDED");
      expect(await followed).toEqual(Array.from({ length: lines }, (_, line) => `${job.id} line ${String(line)}`));
    }
    for (const line of (await readFile(join(directory, "runs"), "utf8")).trimEnd().split("\n")) runs.set(line, (runs.get(line) ?? 0) + 1);
    expect([...runs.keys()].sort()).toEqual(jobs.map(({ job }) => `${job.id} 0`).sort());
    expect(new Set(runs.values())).toEqual(new Set([1]));
    // The worker of a controller that has nothing to do ends with it.
    controller.kill("SIGTERM");
    await once(controller, "exit");
    await gone(processesWith(mark), 20_000);
  } finally {
    over = true;
    controller.kill("SIGKILL");
    await channel.close();
    for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL");
    await gone(processesWith(mark), 20_000);
    await rm(directory, { recursive: true });
  }
}

interface Followed {
  readonly job: SubmittedJob;
  readonly followed: Promise<string[]>;
}

async function submitUntil(api: IrisApi, file: string, over: () => boolean): Promise<Followed[]> {
  const jobs: Followed[] = [];
  for (let count = 0; !over(); count += 1) {
    const work = entry<typeof tellsItsRun>(tasks, "tellsItsRun");
    const { args: _, ...spec } = checkJobSpec({ name: `run-${String(count).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}`, entry: work, isolation: "warm", resources: { cpu: 1 } });
    const job = await api.submit({ spec: { ...spec, args: serialize([file, lines, Math.random() * 600]) }, submissionId: String(count), onExisting: "error" });
    jobs.push({ job, followed: follow(api, job) });
    await delay(Math.random() * 250);
  }
  return jobs;
}

async function follow(api: IrisApi, job: SubmittedJob): Promise<string[]> {
  const seen: string[] = [];
  for await (const batch of api.logs({ job: job.uid, follow: true })) seen.push(...batch.lines.filter(({ source }) => source === "log").map(({ message }) => message));
  return seen;
}
