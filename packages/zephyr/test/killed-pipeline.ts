import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RunSettings } from "./fixtures/run-pipeline.js";

const script = fileURLToPath(new URL("fixtures/run-pipeline.ts", import.meta.url));

/** What came of a pipeline under fire. */
export interface KilledRun {
  /** Coordinators and workers that were killed. */
  readonly kills: { readonly coordinators: number; readonly workers: number };
  /** What the last coordinator has counted. */
  readonly counters: unknown;
}

/** Starts a pipeline in a process of its own. */
export function startPipeline(settings: RunSettings, env: Readonly<Record<string, string>> = {}): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, JSON.stringify(settings)], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
}

/**
 * Runs a pipeline in processes of its own, and kills the coordinator or one of the workers with -9 at random moments; a coordinator that was killed
 * is started again. After the kills it is left to finish.
 *
 * @param settings - without a name
 * @param kills - how many
 * @param delayMs - most time before a kill
 * @param random - between 0 and 1
 */
export async function runUnderFire(settings: Omit<RunSettings, "name">, { kills, delayMs, coordinator, random }: { kills: number; delayMs: number; coordinator: number; random: () => number }): Promise<KilledRun> {
  const done = { coordinators: 0, workers: 0 };
  for (;;) {
    const name = `fire-${randomUUID()}`;
    const child = startPipeline({ ...settings, name });
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    let over = false;
    void ended.then(() => (over = true));
    while (!over && done.coordinators + done.workers < kills) {
      // Only what already works is worth killing: until then nothing is at stake.
      while (!over && processesOf(`${name}-`, child.pid).length === 0) await setTimeout(100);
      await setTimeout(random() * delayMs);
      const workers = processesOf(`${name}-`, child.pid);
      if (over || workers.length === 0) continue;
      if (random() < coordinator) {
        done.coordinators += 1;
        child.kill("SIGKILL");
        break;
      }
      done.workers += 1;
      try {
        process.kill(workers[Math.floor(random() * workers.length)] as number, "SIGKILL");
      } catch {
        // It has ended by itself meanwhile.
        done.workers -= 1;
      }
    }
    const code = await ended;
    if (code === 0) return { kills: done, counters: JSON.parse(output) as unknown };
    if (code !== null) throw new Error(`the coordinator ended with ${String(code)}: ${errors}`);
  }
}

/** Pids of living processes, but one, whose command line names the tag. */
function processesOf(tag: string, but: number | undefined): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8", maxBuffer: 2 ** 24 });
  return table
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((row) => row !== null && row[3]?.includes(tag) === true && row[2]?.startsWith("Z") === false)
    .map((row) => Number(row?.[1]))
    .filter((pid) => pid !== but);
}

/** The files in a directory, by name; those whose names begin with a dot are left out. */
export async function tree(directory: string): Promise<Record<string, string>> {
  const entries = (await readdir(directory, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
  return Object.fromEntries(await Promise.all(entries.map(async ({ name }) => [name, await readFile(join(directory, name), "utf8")] as const)));
}
