import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { encodeMetadata, readCheckpointMetadata } from "../src/checkpoint/metadata.js";
import { storeOf, zipfDocuments } from "./token-stores.js";

/** A narrow GPT-2 with dropout: 0.06 M parameters. */
export const KILL_TEST_MODEL = { vocabSize: 1024, sequenceLength: 64, hiddenSize: 32, layers: 2, heads: 2, dropout: 0.1 };

/** Its run: T 64, batches that grow, accumulated; two cycles of the rate; averaged parameters; permanent checkpoints and temporary ones in time. */
export const KILL_TEST_RUN = {
  steps: 60,
  batchSize: [{ start: 0, value: 4 }, { start: 20, value: 8 }],
  microbatchSize: 2,
  sequenceLength: 64,
  learningRate: 3e-3,
  warmup: 4,
  cycles: [35],
  schedule: "linear" as const,
  emaBeta: 0.9,
  skipBadSteps: true,
  checkpointEvery: 4,
  keepCheckpoints: 2,
  saveIntervalSeconds: 0.1,
  evaluateEvery: 0,
  engine: "onnx" as const,
};

/** Its data: two stores, whose shares change after step 32. */
export const KILL_TEST_MIXTURE = {
  blockSize: 8,
  weights: [{ start: 0, weights: { plain: 3, other: 1 } }, { start: 32, weights: { plain: 1, other: 1 } }],
};

const CHILD = fileURLToPath(new URL("train-child.ts", import.meta.url));
const OPTIMIZER_FILE = "optimizer.safetensors";

/** Writes the two token stores into a directory. */
export async function killTestTokens(directory: string): Promise<void> {
  await storeOf(join(directory, "plain"), zipfDocuments(1, 20_000, KILL_TEST_MODEL.vocabSize), KILL_TEST_MODEL.vocabSize);
  await storeOf(join(directory, "other"), zipfDocuments(2, 6_000, KILL_TEST_MODEL.vocabSize), KILL_TEST_MODEL.vocabSize);
}

/** What a process printed before it ended or was killed. */
interface ProcessReport {
  /** Steps that the checkpoint it went on from had made; undefined where it was killed before its first step was reported. */
  readonly start: number | undefined;
  /** The last step that it reported. */
  readonly last: number | undefined;
  readonly killed: boolean;
}

/** When a process is killed: so many milliseconds after it has reported so many steps; with 0 steps, after it was started. */
interface Kill {
  readonly afterSteps: number;
  readonly delayMs: number;
}

/** Trains in a process of its own; with `kill`, sends SIGKILL to its process group. */
async function trainInProcess(directory: string, tokens: string, threads: number, kill?: Kill): Promise<ProcessReport> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", CHILD, directory, tokens, String(threads)], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const closed = new Promise<{ code: number | null; signal: string | null }>((resolve) => child.once("close", (code, signal) => { resolve({ code, signal }); }));
  let start: number | undefined;
  let last: number | undefined;
  let reported = 0;
  const cancel = new AbortController();
  let killing: Promise<void> | undefined;
  const killAfter = (delayMs: number): void => {
    killing = setTimeout(delayMs, undefined, { signal: cancel.signal }).then(
      () => {
        process.kill(-(child.pid ?? 0), "SIGKILL");
      },
      () => undefined,
    );
  };
  if (kill?.afterSteps === 0) killAfter(kill.delayMs);
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, step] = line.split(" ");
    if (word === "start") start = Number(step);
    if (word !== "step") continue;
    last = Number(step);
    reported += 1;
    if (reported === kill?.afterSteps) killAfter(kill.delayMs);
  }
  const { code, signal } = await closed;
  // It may have ended before its time.
  cancel.abort();
  await killing;
  if (code !== 0 && (kill === undefined || signal !== "SIGKILL")) throw new Error(`the training process ended with code ${String(code)}, signal ${String(signal)}: ${errors}`);
  return { start, last, killed: signal === "SIGKILL" };
}

/** What a run ended in. */
export interface RunOutcome {
  /** SHA-256 of each file of the last checkpoint. */
  readonly digests: Readonly<Record<string, string>>;
  /** Steps of the metrics file, in order. */
  readonly steps: readonly number[];
  /** Losses of the metrics file. */
  readonly losses: readonly number[];
  /** Steps that the hook has run after, each once however often it ran. */
  readonly exports: readonly number[];
}

async function newestOf(directory: string): Promise<string> {
  const checkpoints = join(directory, "checkpoints");
  return join(checkpoints, (await readdir(checkpoints)).filter((name) => name.startsWith("step-")).sort().at(-1) ?? "");
}

async function outcomeOf(directory: string): Promise<RunOutcome> {
  const newest = await newestOf(directory);
  const digests: Record<string, string> = {};
  for (const name of (await readdir(newest)).sort()) digests[name] = createHash("sha256").update(await readFile(join(newest, name))).digest("hex");
  const lines = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { step: number; loss: number });
  const exports = (await readFile(join(directory, "exports.txt"), "utf8")).trimEnd().split("\n").map(Number);
  return { digests, steps: rows.map((row) => row.step), losses: rows.map((row) => row.loss), exports: [...new Set(exports)].sort((a, b) => a - b) };
}

/** Trains to the end undisturbed. */
export async function uninterruptedRun(directory: string, tokens: string, threads: number): Promise<RunOutcome> {
  await trainInProcess(directory, tokens, threads);
  return outcomeOf(directory);
}

/**
 * Trains with SIGKILLs at random moments, before the first step as well as after steps, and resumes after each. Throws when a process does not go on
 * from where it must: what was finished before the newest checkpoint was begun, at most two intervals before the kill, is never lost.
 */
export async function killedRun(directory: string, tokens: string, threads: number, kills: number): Promise<RunOutcome> {
  const { checkpointEvery, steps } = KILL_TEST_RUN;
  const most = Math.max(1, Math.floor((2 * steps) / (kills + 1)) - 2);
  let [reached, started] = [0, 0];
  for (let killed = 0; ; ) {
    const afterSteps = Math.floor((most + 1) * Math.random());
    const kill = killed < kills ? { afterSteps, delayMs: (afterSteps === 0 ? 3000 : 60) * Math.random() } : undefined;
    const { start, last, killed: wasKilled } = await trainInProcess(directory, tokens, threads, kill);
    if (start !== undefined && (start < started || reached - start > 2 * checkpointEvery)) {
      throw new Error(`killed after step ${String(reached)}, started before from ${String(started)}, the run went on from step ${String(start)}`);
    }
    started = start ?? started;
    reached = Math.max(reached, last ?? 0);
    if (!wasKilled) return outcomeOf(directory);
    killed += 1;
  }
}

/** Trains to about the middle, then to the end without what the optimizer remembered. */
export async function forgetfulRun(directory: string, tokens: string): Promise<RunOutcome> {
  await trainInProcess(directory, tokens, 1, { afterSteps: 30, delayMs: 0 });
  await Promise.all((await readdir(directory)).includes("temporary") ? (await checkpointsUnder(join(directory, "temporary"))).map(forgetOptimizer) : []);
  await Promise.all((await checkpointsUnder(join(directory, "checkpoints"))).map(forgetOptimizer));
  await trainInProcess(directory, tokens, 1);
  return outcomeOf(directory);
}

async function checkpointsUnder(root: string): Promise<string[]> {
  return (await readdir(root)).filter((name) => name.startsWith("step-")).map((name) => join(root, name));
}

/** Sets the moments of a checkpoint to zero, digests and all. */
async function forgetOptimizer(checkpoint: string): Promise<void> {
  const path = join(checkpoint, OPTIMIZER_FILE);
  const bytes = await readFile(path);
  bytes.fill(0, 8 + Number(bytes.readBigUInt64LE()));
  await writeFile(path, bytes);
  const metadata = await readCheckpointMetadata(checkpoint);
  Object.assign(metadata.files[OPTIMIZER_FILE] ?? {}, { sha256: createHash("sha256").update(bytes).digest("hex") });
  await writeFile(join(checkpoint, "metadata.json"), encodeMetadata(metadata));
}
