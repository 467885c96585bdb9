import { createHash } from "node:crypto";
import { appendFile, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { isMarinError } from "@marin/iris";
import type { TokenStore } from "../src/data/token-store.js";
import type { Engine } from "../src/engine/types.js";
import { Trainer, type TrainResult } from "../src/trainer.js";
import { bigram } from "./bigram.js";
import { withFault, type Fault } from "./faulty-files.js";

/** Tokens of the vocabulary that the run is made for. */
export const FAULTS_VOCABULARY = 30;

const model = bigram(FAULTS_VOCABULARY, 4);

/** A run whose file operations are made to fail. */
export interface FaultyRun {
  readonly engine: Engine;
  readonly tokens: TokenStore;
  /** Made by the run. */
  readonly directory: string;
}

/** Trains 5 steps with checkpoints, validation, averages and a hook, from wherever the directory stands. */
export function trainFaulty({ engine, tokens, directory }: FaultyRun): Promise<TrainResult> {
  const config = { steps: 5, batchSize: 2, sequenceLength: 8, warmup: 0, checkpointEvery: 2, evaluateEvery: 0, keepCheckpoints: 1, emaBeta: 0.5 };
  const trainer = new Trainer(config, { engine }).addHook(({ step }) => appendFile(join(directory, "exports.txt"), `${String(step)}\n`), { every: 2, name: "export" });
  return trainer.train({ model, tokens, validation: tokens, directory });
}

/** What a run has left: its last checkpoint, its metrics without times, the steps that its hook has seen, and what else shows. */
export async function outcomeOfFaulty(directory: string): Promise<unknown> {
  const checkpoint = join(directory, "checkpoints", "step-00000005");
  const hashes = await Promise.all((await readdir(checkpoint)).sort().map(async (name) => createHash("sha256").update(await readFile(join(checkpoint, name))).digest("hex")));
  const rows = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line) as object);
  const timeless = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith("throughput/") && name !== "tokensPerSecond")));
  const exports = new Set((await readFile(join(directory, "exports.txt"), "utf8")).trimEnd().split("\n"));
  return { hashes, rows: timeless, exports: [...exports].sort(), visible: (await readdir(join(directory, "checkpoints"))).filter((name) => !name.endsWith(".tmp")) };
}

/** A run of which one operation fails as on a full disk, or all do from there on; then the same again, undisturbed. Returns what the first one threw. */
export async function trainThroughFault(run: FaultyRun, fault: Fault): Promise<unknown> {
  const { error } = await withFault(fault, () => trainFaulty(run));
  // A process that crashed would be gone, and its lock with it; this one lives on.
  await rm(join(run.directory, ".lock"), { force: true });
  await trainFaulty(run);
  return error;
}

/** Whether an error says that the disk is full, itself or as what made a hook fail. */
export function saysDiskFull(error: unknown): boolean {
  return isMarinError(error, "RIGGING_DISK_FULL") || (isMarinError(error, "LEVANTER_HOOK") && (error.cause as NodeJS.ErrnoException).code === "ENOSPC");
}
