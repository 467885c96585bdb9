import type { Dataset } from "../dataset.js";
import { addCounters } from "../context.js";
import { explain } from "../plan/describe.js";
import { Fingerprints } from "../plan/fingerprint.js";
import type { Plan, ShardPlan, Stage } from "../plan/stage.js";
import { readRecordFile } from "../shuffle/record-file.js";
import { existingOutput } from "../writers/write-spec.js";
import { HandOver, type StageResult } from "./hand-over.js";
import { Interruption } from "./interruption.js";
import { makePlan } from "./make-plan.js";
import { type ExecuteOptions, type ExecuteResult, type Settings, settingsOf, type StageReport } from "./options.js";
import { ProgressTeller } from "./progress.js";
import { requireNamed } from "./require-named.js";
import { inProcess, WorkerTasks } from "./run-task.js";
import { Scratch } from "./scratch.js";
import type { ShardOutcome } from "./shard-task.js";
import { type RunTask, shardsNeeded, StageRun } from "./stage-run.js";

/**
 * Runs a dataset: stage after stage, the shards of each side by side in workers, or one after the other in this process. Results, outputs and counts
 * are the same for any number of workers, and after any number of lost ones.
 *
 * @param dataset - what to run
 * @param options - see {@link ExecuteOptions}
 * @returns the dataset's items, in memory; of one that ends in a write, the files written
 * @throws MarinError ZEPHYR_SHARD_FAILED naming stage, shard and input, with what a function, reader or writer threw as its cause: it is not tried
 * again; ZEPHYR_POISON_SHARD when a shard has lost too many workers; ZEPHYR_PLAN_CHANGED when the scratch directory, or an output with `skipExisting`,
 * belongs to another plan; ZEPHYR_INLINE_FUNCTION and ZEPHYR_LOCAL_SOURCE for what cannot be sent to workers; ZEPHYR_BAD_OPTION; what planning throws
 */
export async function execute<T>(dataset: Dataset<T>, options: ExecuteOptions = {}): Promise<ExecuteResult<T>> {
  const given = settingsOf(options);
  const { workers, storage } = given;
  given.signal?.throwIfAborted();
  // Without workers functions keep this process busy, and only the system can end one that does not return.
  using interruption = workers === 0 ? undefined : new Interruption();
  const settings = interruption === undefined ? given : { ...given, signal: AbortSignal.any([interruption.signal, ...(given.signal === undefined ? [] : [given.signal])]) };
  const plan = await makePlan(dataset, settings);
  if (workers > 0) requireNamed(plan, workers);
  const fingerprints = new Fingerprints(plan, storage);
  await using scratch =
    settings.scratch === undefined ? await Scratch.temporary(storage) : await Scratch.open(settings.scratch, storage, { fingerprint: () => fingerprints.plan(), text: () => explain(plan) });
  await using tasks = workers === 0 ? undefined : new WorkerTasks(settings, Math.max(...plan.stages.map(({ shards }) => shards.length)));
  const { last, reports } = await runStages({ plan, settings, scratch, fingerprints, runTask: tasks?.run ?? inProcess(settings) });
  return {
    results: (await collect(last, settings)) as T[],
    counters: addCounters(...reports.map(({ counters }) => counters)),
    stages: reports,
  };
}

interface Running {
  readonly plan: Plan;
  readonly settings: Settings;
  readonly scratch: Scratch;
  readonly fingerprints: Fingerprints;
  readonly runTask: RunTask;
}

async function runStages({ plan, settings, scratch, fingerprints, runTask }: Running): Promise<{ readonly last: StageResult; readonly reports: StageReport[] }> {
  const finished = await finishedShards(plan, scratch, settings);
  const results = new Map<number, StageResult>();
  const reports: StageReport[] = [];
  const earlier = new HandOver(async (stage) => results.get(stage) as StageResult);
  using progress = new ProgressTeller(settings, plan.stages);
  for (const stage of plan.stages) {
    const before = finished.get(stage.index);
    if (before === undefined) {
      progress.begin(stage, stage.shards.length);
      reports.push(await scratch.report(stage));
      continue;
    }
    const { result, report } = await new StageRun(stage, before, { settings, scratch, fingerprints, earlier, runTask, progress }).run();
    results.set(stage.index, result);
    reports.push(report);
    await scratch.saveReport(report);
    // What was written stays known: it would have to be made again from stages that are gone.
    for (const index of inputsOf(stage)) if (plan.stages[index]?.output.kind !== "write") await scratch.removeStage(index);
  }
  return { last: results.get(plan.stages.length - 1) as StageResult, reports };
}

/** The finished shards of all stages that are needed: a stage whose shards are finished needs none before it. */
async function finishedShards({ stages }: Plan, scratch: Scratch, settings: Settings): Promise<Map<number, Map<number, ShardOutcome>>> {
  const needed = new Map<number, Map<number, ShardOutcome>>();
  const need = async (index: number): Promise<void> => {
    const stage = stages[index] as Stage;
    const finished = await scratch.finished(index);
    if (stage.output.kind === "write") await retractMissing(stage, finished, scratch, settings);
    needed.set(index, finished);
    if (shardsNeeded(stage, finished) === undefined) for (const before of inputsOf(stage)) await need(before);
  };
  await need(stages.length - 1);
  return needed;
}

/** An output that somebody has removed since is written again. */
async function retractMissing({ index, output }: Stage, finished: Map<number, ShardOutcome>, scratch: Scratch, { storage, signal }: Settings): Promise<void> {
  if (output.kind !== "write") return;
  for (const shard of [...finished.keys()]) {
    if ((await existingOutput(output.write, output.paths[shard] as string, { storage, signal })) !== undefined) continue;
    await scratch.retract(index, shard);
    finished.delete(shard);
  }
}

/** The stages that a stage reads from. */
export function inputsOf({ shards }: Stage): Set<number> {
  const stages = new Set<number>();
  const look = ({ input }: ShardPlan): void => {
    if ("stage" in input) stages.add(input.stage);
    if (input.kind === "join") {
      look(input.left);
      look(input.right);
    }
  };
  shards.forEach(look);
  return stages;
}

async function collect({ outcomes, written }: StageResult, { storage, signal }: Settings): Promise<unknown[]> {
  if (written !== undefined) return [...written];
  const results: unknown[] = [];
  for (const { output } of outcomes) {
    if (output.kind === "records") for await (const record of readRecordFile(output.file.path, { storage, signal })) results.push(record);
  }
  return results;
}
