import { isMarinError, MarinError } from "@marin/iris";
import { addCounters } from "../context.js";
import type { Fingerprints } from "../plan/fingerprint.js";
import type { ShardPlan, Stage } from "../plan/stage.js";
import { finishWrite } from "../writers/write-spec.js";
import type { StageResult } from "./hand-over.js";
import type { Settings, StageReport } from "./options.js";
import { claimOutput, finishClaim, sweepAttempt, sweepOutputs } from "./output-claims.js";
import type { ProgressTeller } from "./progress.js";
import type { Scratch } from "./scratch.js";
import { type EarlierStages, readyShard } from "./shard-input.js";
import type { ShardOutcome, ShardTask, TaskOutput } from "./shard-task.js";

/** Works on a task somewhere: in this process, or in a worker. */
export type RunTask = (task: ShardTask, signal: AbortSignal) => Promise<ShardOutcome>;

/** What a stage runs with. */
export interface StageEnvironment {
  readonly settings: Settings;
  readonly scratch: Scratch;
  readonly fingerprints: Fingerprints;
  readonly earlier: EarlierStages;
  readonly runTask: RunTask;
  readonly progress: ProgressTeller | undefined;
}

/**
 * How many shards of a stage are needed, by those that are finished: the first ones that have enough records together, where that is asked for, else
 * all. Undefined while that is not known. It does not depend on how many are worked on at a time.
 */
export function shardsNeeded({ output, shards }: Stage, finished: ReadonlyMap<number, ShardOutcome>): number | undefined {
  const enough = output.kind === "records" ? output.enough : undefined;
  if (enough === undefined) return finished.size === shards.length ? shards.length : undefined;
  let records = 0;
  for (let shard = 0; shard < shards.length; shard += 1) {
    if (records >= enough) return shard;
    const outcome = finished.get(shard);
    if (outcome === undefined) return undefined;
    records += recordsOf(outcome.output) ?? 0;
  }
  return shards.length;
}

/** Runs the shards of a stage that are not finished yet, several at a time where there are workers. */
export class StageRun {
  readonly #stage: Stage;
  readonly #environment: StageEnvironment;
  readonly #finished: Map<number, ShardOutcome>;
  readonly #resumed: number;
  readonly #failures = new Map<number, unknown>();
  readonly #stop = new AbortController();
  #skipped = 0;
  #workerLosses = 0;

  /** @param finished - shards that an earlier execution has finished; more are added */
  constructor(stage: Stage, finished: Map<number, ShardOutcome>, environment: StageEnvironment) {
    this.#stage = stage;
    this.#environment = environment;
    this.#finished = finished;
    this.#resumed = finished.size;
  }

  /**
   * @throws MarinError ZEPHYR_SHARD_FAILED, ZEPHYR_POISON_SHARD, ZEPHYR_PLAN_CHANGED; of several shards that fail the one that comes first is told
   */
  async run(): Promise<{ readonly result: StageResult; readonly report: StageReport }> {
    const { settings, scratch, progress } = this.#environment;
    const { index, name, shards, output } = this.#stage;
    progress?.begin(this.#stage, this.#finished.size);
    const waiting = [...shards.keys()].filter((shard) => !this.#finished.has(shard)).values();
    const lanes = Array.from({ length: Math.max(1, settings.workers) }, () => this.#lane(waiting));
    await Promise.all(lanes);
    settings.signal?.throwIfAborted();
    const needed = shardsNeeded(this.#stage, this.#finished);
    const first = [...this.#failures.keys()].sort((a, b) => a - b)[0];
    if (first !== undefined && first < (needed ?? Infinity)) throw this.#failures.get(first);
    const outcomes = shards.slice(0, needed).map((_, shard) => this.#finished.get(shard) as ShardOutcome);
    if (scratch.kept) await scratch.removeStrays(index, this.#finished.values());
    const files = outcomes.flatMap((outcome) => (outcome.output.kind === "write" ? [outcome.output.file] : []));
    const written = output.kind === "write" ? await finishWrite(output.write, files, { storage: settings.storage, signal: settings.signal }) : undefined;
    if (output.kind === "write") await sweepOutputs(output.paths);
    const report = {
      stage: index,
      name,
      shards: shards.length,
      resumed: this.#resumed,
      skipped: this.#skipped,
      workerLosses: this.#workerLosses,
      records: outcomes.reduce<number | undefined>((sum, { output: each }) => plus(sum, recordsOf(each)), 0),
      counters: addCounters(...outcomes.map(({ counters }) => counters)),
    };
    return { result: { outcomes, written }, report };
  }

  /** Takes one waiting shard after the other. */
  async #lane(waiting: Iterator<number>): Promise<void> {
    const { settings } = this.#environment;
    const signal = settings.signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, settings.signal]);
    while (!signal.aborted && this.#failures.size === 0 && shardsNeeded(this.#stage, this.#finished) === undefined) {
      const next = waiting.next();
      if (next.done === true) return;
      const shard = next.value;
      try {
        await this.#shard(shard, signal);
      } catch (error) {
        // What fails because the work was stopped says nothing of itself.
        if (!signal.aborted) this.#failures.set(shard, error);
        // Shards before this one may have enough, and then it was not needed.
        if (!this.#mayEndEarly) this.#stop.abort(error);
      }
    }
  }

  get #mayEndEarly(): boolean {
    const { output } = this.#stage;
    return output.kind === "records" && output.enough !== undefined;
  }

  async #shard(shard: number, signal: AbortSignal): Promise<void> {
    const { settings, scratch, progress, fingerprints } = this.#environment;
    const plan = this.#stage.shards[shard] as ShardPlan;
    const output = this.#outputOf(shard);
    const claimed = output.kind === "write" ? { write: output.write, path: output.path, fingerprint: output.write.skipExisting ? await fingerprints.shard(plan) : "" } : undefined;
    const existing = claimed === undefined ? undefined : await claimOutput(claimed, settings.storage);
    if (existing !== undefined) this.#skipped += 1;
    const outcome =
      existing === undefined
        ? await this.#attempts(shard, plan, output, signal)
        : { stage: this.#stage.index, shard, attempt: scratch.attempt(this.#stage.index, shard).attempt, output: { kind: "write" as const, file: existing }, counters: {} };
    if (existing === undefined && claimed !== undefined && outcome.output.kind === "write") await finishClaim(claimed, outcome.output.file, settings.storage);
    this.#finished.set(shard, scratch.kept ? await scratch.publish(outcome) : outcome);
    progress?.finished(shard);
  }

  async #attempts(shard: number, plan: ShardPlan, output: TaskOutput, signal: AbortSignal): Promise<ShardOutcome> {
    const { settings, scratch, earlier, runTask, progress } = this.#environment;
    const { name, memoryBytes, maxWorkerLosses } = settings;
    const { index: stage, shards } = this.#stage;
    const work = await readyShard(plan, earlier);
    for (let losses = 0; ; ) {
      const { attempt, prefix } = scratch.attempt(stage, shard);
      progress?.started(shard, work.label);
      try {
        return await runTask({ run: scratch.run, name, stage, shard, shards: shards.length, attempt, work, output, prefix, memoryBytes }, signal);
      } catch (error) {
        if (output.kind === "write") await sweepAttempt(output.path);
        if (signal.aborted || !isMarinError(error, "FRAY_WORKER_LOST")) throw error;
        losses += 1;
        this.#workerLosses += 1;
        progress?.lost(shard);
        settings.log.warn("a worker was lost", { name, stage, shard, input: work.label, losses, reason: error.message });
        if (losses > maxWorkerLosses) throw this.#poison(shard, work.label, losses, error);
      }
    }
  }

  #outputOf(shard: number): TaskOutput {
    const { output } = this.#stage;
    return output.kind === "write" ? { kind: "write", write: output.write, path: output.paths[shard] as string } : output;
  }

  #poison(shard: number, label: string, losses: number, cause: MarinError): MarinError {
    const { name } = this.#environment.settings;
    const { index: stage, shards } = this.#stage;
    return new MarinError(
      "ZEPHYR_POISON_SHARD",
      `"${name}" has lost ${String(losses)} workers in stage ${String(stage)} at shard ${String(shard)} of ${String(shards.length)} (${label}): its input crashes them, or they lack memory. ${cause.message}`,
      { data: { ...cause.data, name, stage, shard, shards: shards.length, input: label, losses }, cause },
    );
  }
}

function recordsOf(output: ShardOutcome["output"]): number | undefined {
  return output.kind === "scatter" ? output.scattered.records : output.file.records;
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}
