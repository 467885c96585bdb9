import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Calls of sbatch at a time: one client's, as the other side's are. */
const CONCURRENT = 4;

/** Longest time that jobs may take, in milliseconds. */
const TIMEOUT_MS = 300_000;

/** There is no Slurm, or it does not do as expected. The message says why, in one line. */
export class SlurmError extends Error {
  override readonly name = "SlurmError";
}

/** Submits one job to an idle cluster; how many milliseconds later its script runs, by the time of the file that it writes. */
export async function submitToRunning(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "marin-bench-slurm-"));
  try {
    const mark = join(directory, "mark");
    const start = Date.now();
    const id = await sbatch(`#!/bin/sh\n: > '${mark}'\n`);
    const deadline = start + TIMEOUT_MS;
    for (;;) {
      const written = await stat(mark).catch(() => undefined);
      if (written !== undefined) {
        await waitForAll(deadline);
        return Math.max(0, written.mtimeMs - start);
      }
      if (Date.now() > deadline) throw new SlurmError(`job ${id} did not run within ${String(TIMEOUT_MS / 1_000)} s`);
      await delay(2);
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Submits so many jobs and waits until the queue is empty; how many seconds that takes. */
export async function submitAndWait(jobs: number): Promise<number> {
  const start = performance.now();
  let next = 0;
  const submit = async (): Promise<void> => {
    while (next < jobs) {
      next += 1;
      await sbatch("#!/bin/sh\ntrue\n");
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, submit));
  await waitForAll(Date.now() + TIMEOUT_MS);
  return (performance.now() - start) / 1_000;
}

async function sbatch(script: string): Promise<string> {
  const submitted = command("sbatch", ["--parsable", "--output=/dev/null", "--ntasks=1"], script);
  return (await submitted).trim();
}

async function waitForAll(deadline: number): Promise<void> {
  while ((await command("squeue", ["--noheader", "--me", "--format=%i"])).trim() !== "") {
    if (Date.now() > deadline) throw new SlurmError(`jobs had not ended after ${String(TIMEOUT_MS / 1_000)} s`);
    await delay(20);
  }
}

async function command(program: string, args: readonly string[], input = ""): Promise<string> {
  try {
    const child = run(program, args, { timeout: 30_000 });
    child.child.stdin?.end(input);
    return (await child).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new SlurmError(`${program} is not on the PATH: infra/local/slurm.sh sets up a Slurm on this machine`);
    const { stderr } = error as { readonly stderr?: string };
    throw new SlurmError(`${program} failed: ${stderr?.trim().split("\n").at(-1) ?? (error as Error).message}`, { cause: error });
  }
}
