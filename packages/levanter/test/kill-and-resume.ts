import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A GPT-2 that is narrow but has a real vocabulary: 0.2 M parameters. */
export const KILL_TEST_MODEL = { vocabSize: 4096, sequenceLength: 128, hiddenSize: 32, layers: 2, heads: 2 };

/** Its run: B 8, T 128. */
export const KILL_TEST_RUN = { steps: 40, batchSize: 8, sequenceLength: 128, learningRate: 3e-3, warmup: 4, checkpointEvery: 4, evaluateEvery: 0, engine: "onnx" as const };

const CHILD = fileURLToPath(new URL("train-child.ts", import.meta.url));

/** What a process printed before it ended or was killed. */
interface ProcessReport {
  /** Steps that the checkpoint it went on from had made. */
  readonly start: number;
  /** The last step that it reported. */
  readonly last: number;
}

/** Trains in a process of its own; with `kill`, sends SIGKILL to its process group some time after it has reported that many steps. */
async function trainInProcess(directory: string, tokens: string, threads: number, kill?: { afterSteps: number; delayMs: number }): Promise<ProcessReport> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", CHILD, directory, tokens, String(threads)], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const closed = new Promise<{ code: number | null; signal: string | null }>((resolve) => child.once("close", (code, signal) => { resolve({ code, signal }); }));
  let [start, last, reported] = [-1, 0, 0];
  let killing: Promise<void> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, step] = line.split(" ");
    if (word === "start") start = Number(step);
    if (word !== "step") continue;
    last = Number(step);
    reported += 1;
    if (reported === kill?.afterSteps) {
      killing = setTimeout(kill.delayMs).then(() => {
        process.kill(-(child.pid ?? 0), "SIGKILL");
      });
    }
  }
  await killing;
  const { code, signal } = await closed;
  if (kill === undefined ? code !== 0 : signal !== "SIGKILL") throw new Error(`the training process ended with code ${String(code)}, signal ${String(signal)}: ${errors}`);
  return { start, last };
}

/** What a run ended in. */
export interface RunOutcome {
  /** SHA-256 of each file of the last checkpoint. */
  readonly digests: Readonly<Record<string, string>>;
  /** Steps of the metrics file, in order. */
  readonly steps: readonly number[];
  /** Losses of the metrics file. */
  readonly losses: readonly number[];
}

async function outcomeOf(directory: string): Promise<RunOutcome> {
  const checkpoints = join(directory, "checkpoints");
  const newest = join(checkpoints, (await readdir(checkpoints)).filter((name) => name.startsWith("step-")).sort().at(-1) ?? "");
  const digests: Record<string, string> = {};
  for (const name of (await readdir(newest)).sort()) digests[name] = createHash("sha256").update(await readFile(join(newest, name))).digest("hex");
  const lines = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { step: number; loss: number });
  return { digests, steps: rows.map((row) => row.step), losses: rows.map((row) => row.loss) };
}

/** Trains to the end undisturbed. */
export async function uninterruptedRun(directory: string, tokens: string, threads: number): Promise<RunOutcome> {
  await trainInProcess(directory, tokens, threads);
  return outcomeOf(directory);
}

/**
 * Trains with three SIGKILLs at random moments and resumes after each. Throws when a process does not go on from a checkpoint at most one interval
 * before the kill.
 */
export async function killedRun(directory: string, tokens: string, threads: number): Promise<RunOutcome> {
  let killedAt = 0;
  for (let kills = 0; kills <= 3; kills++) {
    const kill = kills < 3 ? { afterSteps: 5 + Math.floor(6 * Math.random()), delayMs: 60 * Math.random() } : undefined;
    const report = await trainInProcess(directory, tokens, threads, kill);
    const repeated = killedAt - report.start;
    if (report.start % KILL_TEST_RUN.checkpointEvery !== 0 || repeated > KILL_TEST_RUN.checkpointEvery || (kills > 0 && report.start === 0)) {
      throw new Error(`killed after step ${String(killedAt)}, the run went on from step ${String(report.start)}`);
    }
    killedAt = report.last;
  }
  return outcomeOf(directory);
}
