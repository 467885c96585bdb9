import { isMarinError } from "@marin/iris";
import { Fingerprints } from "../plan/fingerprint.js";
import type { AnyDataset } from "../plan/ops.js";
import type { Plan, Stage } from "../plan/stage.js";
import { HandOver, type StageResult } from "./hand-over.js";
import { makePlan } from "./make-plan.js";
import { type Settings, settingsOf } from "./options.js";
import { inProcess } from "./run-task.js";
import { Scratch } from "./scratch.js";
import { type ReadyInput, readyShard, shardRecords } from "./shard-input.js";
import { StageRun } from "./stage-run.js";

/** The items of a dataset, made in this process as they are asked for: only what has to be sorted, shared out or written goes through files before. */
export async function* iterate(dataset: AnyDataset): AsyncGenerator<unknown> {
  const settings = settingsOf({});
  const plan = await makePlan(dataset, settings);
  await using iteration = new Iteration(plan, settings);
  yield* iteration.stage(plan.stages.length - 1);
}

class Iteration implements AsyncDisposable {
  readonly #plan: Plan;
  readonly #settings: Settings;
  readonly #results = new Map<number, Promise<StageResult>>();
  readonly #finished: HandOver;
  #scratch: Promise<Scratch> | undefined;

  constructor(plan: Plan, settings: Settings) {
    this.#plan = plan;
    this.#settings = settings;
    this.#finished = new HandOver((stage) => this.#materialize(stage));
  }

  /** The records of shards of a stage, one shard after the other. */
  async *stage(index: number, start = 0, end = Infinity): AsyncGenerator<unknown> {
    const stage = this.#plan.stages[index] as Stage;
    if (stage.output.kind === "write") {
      const { written = [] } = await this.#materialize(index);
      yield* written.slice(start, end);
      return;
    }
    for (const shard of stage.shards.slice(start, end)) {
      const { storage, memoryBytes, signal } = this.#settings;
      const ready = await readyShard(shard, this);
      const prefix = ready.input.kind === "groups" || ready.input.kind === "join" ? (await this.#openScratch()).attempt(index, 0).prefix : "";
      yield* await shardRecords(ready, { prefix, memoryBytes, storage, signal });
    }
  }

  /** Records of an earlier stage are made while they are read. */
  async records(stage: number, start: number, end: number): Promise<ReadyInput> {
    return { kind: "iterable", iterate: () => this.stage(stage, start, end) };
  }

  share(stage: number, shard: number, shards: number): Promise<ReadyInput> {
    return this.#finished.share(stage, shard, shards);
  }

  scattered(stage: number): ReturnType<HandOver["scattered"]> {
    return this.#finished.scattered(stage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const scratch = await this.#scratch;
    await scratch?.[Symbol.asyncDispose]();
  }

  /** Runs all shards of a stage, through files. */
  #materialize(index: number): Promise<StageResult> {
    let known = this.#results.get(index);
    if (known === undefined) {
      known = this.#run(this.#plan.stages[index] as Stage);
      this.#results.set(index, known);
    }
    return known;
  }

  async #run(stage: Stage): Promise<StageResult> {
    const settings = this.#settings;
    const run = new StageRun(stage, new Map(), {
      settings,
      scratch: await this.#openScratch(),
      fingerprints: new Fingerprints(this.#plan, settings.storage),
      earlier: this,
      runTask: inProcess(settings),
      progress: undefined,
    });
    try {
      return (await run.run()).result;
    } catch (error) {
      // What a function throws comes through unchanged in this process.
      throw isMarinError(error, "ZEPHYR_SHARD_FAILED") ? error.cause : error;
    }
  }

  #openScratch(): Promise<Scratch> {
    return (this.#scratch ??= Scratch.temporary(this.#settings.storage));
  }
}
