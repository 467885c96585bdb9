import { MarinError, type Logger } from "@marin/iris";
import { z } from "zod";
import { Checkpointer, type CheckpointContent } from "./checkpoint/checkpointer.js";
import type { RunIdentity } from "./checkpoint/metadata.js";
import { corruptFile } from "./checkpoint/safetensors.js";
import { snapshotBytesOf } from "./checkpoint/write-checkpoint.js";
import { batchSchedule, microbatchSizeOf, type BatchSchedule } from "./data/batch-schedule.js";
import type { Batch } from "./data/batch.js";
import type { TokenStore } from "./data/token-store.js";
import type { Engine } from "./engine/types.js";
import { LossEvaluator } from "./eval/loss-evaluator.js";
import type { FaultInjection } from "./fault-injection.js";
import type { LanguageModel } from "./models/language-model.js";
import { adamcWeightDecay, decayedParameters } from "./optim/decay-mask.js";
import { clipFactor } from "./optim/gradients.js";
import { learningRateOf } from "./optim/optimizer-config.js";
import { SkipRule } from "./optim/skip-rule.js";
import type { RandomKey } from "./rng/random-key.js";
import { streamKey } from "./rng/streams.js";
import { StepClock } from "./step-clock.js";
import type { StepInfo } from "./step-info.js";
import { stepThroughput } from "./step-throughput.js";
import type { Tracker } from "./tracker/tracker.js";
import type { TrainerConfig } from "./trainer-config.js";
import type { TrainingData } from "./trainer-data.js";
import { RunHooks, type ScheduledHook } from "./trainer-hooks.js";
import { RunRecords, type StepEvaluation } from "./trainer-records.js";
import type { TrainResult } from "./trainer.js";
import { TrainingState } from "./training-state.js";

/** Everything one run needs, settled by the trainer. */
export interface TrainingRunOptions {
  readonly engine: Engine;
  readonly config: TrainerConfig;
  readonly model: LanguageModel;
  readonly data: TrainingData;
  readonly validation?: TokenStore | undefined;
  /** Compared with the checkpoint's on resume. */
  readonly identity: RunIdentity;
  /** Directory of checkpoints. */
  readonly checkpoints: string;
  /** The metrics file. */
  readonly metrics: string;
  /** The journal of hooks that have ended. */
  readonly journal: string;
  readonly signal?: AbortSignal | undefined;
  readonly log?: Logger | undefined;
  /** Hooks that show progress. */
  readonly reports: readonly ScheduledHook[];
  /** Hooks that make something of a step. */
  readonly hooks: readonly ScheduledHook[];
  /** Opens the trackers of a run that goes on from a step, 0 for a new one. */
  readonly openTrackers: (step: number) => Promise<readonly Tracker[]>;
  readonly faults: FaultInjection;
  /** Peak rate in FLOP/s that utilization is told against, where it is known. */
  readonly peakFlops: number | undefined;
}

/** What a checkpoint keeps besides tensors. Everything else follows from the step. */
const runStateSchema = z.strictObject({
  loss: z.number(),
  learningRate: z.number(),
  gradientNorm: z.number(),
  skipped: z.boolean(),
  /** The skip rule's history, where bad steps are skipped. */
  skipRule: z.json(),
  /** Hooks that were due at the step and had not ended. */
  pending: z.array(z.string()),
});

/** One call of `Trainer.train`: the loop, from the newest checkpoint to the last step. The directory's lock is held by the caller. */
export class TrainingRun {
  readonly #options: TrainingRunOptions;
  readonly #schedule: BatchSchedule;
  readonly #learningRate: (step: number) => number;
  /** Each step's dropout masks follow from this, where the model drops anything. */
  readonly #dropout: RandomKey;
  readonly #clock = new StepClock();
  readonly #state: TrainingState;
  readonly #checkpointer: Checkpointer;
  #skipRule: SkipRule | undefined;
  #evaluator: LossEvaluator | undefined;
  /** The step made last; undefined before the first. */
  #last: StepInfo | undefined;
  #upcoming: { readonly step: number; readonly batch: Batch } | undefined;
  #records: RunRecords | undefined;
  #hooks: RunHooks | undefined;
  /** The hooks that were due at the step that the run goes on from, and had not ended. */
  #pending: readonly string[] = [];

  private constructor(options: TrainingRunOptions, state: TrainingState, checkpointer: Checkpointer) {
    const { config } = options;
    this.#options = options;
    this.#schedule = batchSchedule(config.batchSize);
    this.#learningRate = learningRateOf(config);
    this.#dropout = streamKey(config.seed, "dropout");
    this.#state = state;
    this.#checkpointer = checkpointer;
    this.#skipRule = skipRuleOf(config, undefined);
  }

  /** Trains to the last step. */
  static async train(options: TrainingRunOptions): Promise<TrainResult> {
    const { engine, config, model, identity, log } = options;
    const { batchSize, sequenceLength } = config;
    const shape = { batchSize: batchSchedule(batchSize).largest, microbatchSize: microbatchSizeOf(batchSize, config.microbatchSize), sequenceLength };
    const state = await TrainingState.create(engine, model, shape, { emaBeta: config.emaBeta, decayed: decayedParameters(model, config) });
    try {
      const { checkpointEvery } = config;
      const checkpointer = await Checkpointer.open({
        directory: options.checkpoints,
        temporaryDirectory: config.temporaryCheckpointDirectory,
        permanentEvery: typeof checkpointEvery === "number" ? (checkpointEvery === 0 ? [] : [{ every: checkpointEvery }]) : checkpointEvery,
        saveIntervalSeconds: config.saveIntervalSeconds,
        keepTemporary: config.keepTemporaryCheckpoints,
        keepPermanent: config.keepCheckpoints,
        identity,
        engine,
        log,
        // The metrics of a checkpoint's steps must not be lost when the checkpoint is not.
        beforeSave: async () => run.#records?.sync(),
      });
      const run: TrainingRun = new TrainingRun(options, state, checkpointer);
      return await run.#train();
    } finally {
      state.release();
    }
  }

  async #train(): Promise<TrainResult> {
    const { metrics, log, openTrackers, config, reports, hooks, journal } = this.#options;
    const start = await this.#start();
    const records = await RunRecords.open({ metrics, step: start, trackers: await openTrackers(start), log });
    this.#records = records;
    try {
      if (start === 0) await records.begin(config);
      this.#hooks = await RunHooks.open({ reports, hooks, journal, step: start, pending: this.#pending, isDue: (step, every) => isDue(step, every, config.steps) });
      const result = await this.#loop(records, this.#hooks, start);
      if (result.step > start) await records.summarize({ ...result });
      return result;
    } catch (error) {
      // The write under way is worth having, and must not go on when the run has ended.
      await this.#checkpointer.settle().catch((failure: unknown) => log?.warn("the last checkpoint could not be written", { error: failure }));
      throw error;
    } finally {
      this.#evaluator?.release();
      await this.#hooks?.close();
      await records.close();
    }
  }

  /** Restores the newest checkpoint, or sets initial values. Returns the number of steps already made. */
  async #start(): Promise<number> {
    const { config, model } = this.#options;
    const newest = await this.#checkpointer.newest();
    if (newest === undefined) {
      this.#state.setParameters(model.initialize(streamKey(config.seed, "model")));
      return 0;
    }
    const { step } = newest.metadata;
    const kept = runStateSchema.safeParse(await this.#checkpointer.restore(newest, { groups: this.#state.groups }));
    if (!kept.success) throw corruptFile(newest.directory, "the trainer's state", "another one", kept.error);
    const { skipRule, pending, ...numbers } = kept.data;
    this.#pending = pending;
    this.#skipRule = skipRuleOf(config, skipRule ?? undefined);
    this.#last = { ...numbers, step, steps: config.steps, tokens: this.#tokensBefore(step), tokensPerSecond: Number.NaN, secondsLeft: Number.NaN };
    return step;
  }

  async #loop(records: RunRecords, hooks: RunHooks, start: number): Promise<TrainResult> {
    const { config, faults } = this.#options;
    const { steps } = config;
    let evaluation = await this.#resumeStep(records, hooks);
    for (let done = start; done < steps; ) {
      await this.#stopIfAborted();
      await faults.beforeStep(done + 1);
      const info = await this.#step(done);
      done = info.step;
      this.#last = info;
      const evaluates = this.#evaluatesAt(done);
      if (evaluates || isDue(done, config.logEvery, steps)) await records.append(info, this.#throughput(info));
      await this.#clock.time("hooks", () => hooks.begin(info));
      // Hooks and validation may take long: the step is saved before them, and a run that goes on from it makes up for those that had not ended.
      const saving = await this.#clock.time("checkpoint", () => this.#checkpointer.afterStep(this.#content(info), { force: done === steps }));
      if (saving !== undefined) await records.addCheckpoint(saving);
      await this.#clock.time("hooks", () => hooks.run(info, saving !== undefined));
      evaluation = evaluates ? await this.#evaluate(records, info) : undefined;
    }
    await this.#checkpointer.settle();
    await faults.finish();
    return {
      step: steps,
      resumedFrom: start,
      loss: this.#last?.loss ?? Number.NaN,
      validation: evaluation?.validation,
      emaValidation: evaluation?.emaValidation,
      checkpoint: this.#checkpointer.saved?.directory ?? "",
      snapshotBytes: snapshotBytesOf(this.#state.groups),
    };
  }

  /** Makes up for what the step that the run goes on from lacks: hooks and validation that had not ended. */
  async #resumeStep(records: RunRecords, hooks: RunHooks): Promise<StepEvaluation | undefined> {
    const info = this.#last;
    if (info === undefined) return undefined;
    await hooks.run(info, true);
    const { validation } = this.#options;
    if (validation === undefined) return undefined;
    return records.evaluationOf(info.step, validation.fingerprint) ?? (this.#evaluatesAt(info.step) ? this.#evaluate(records, info) : undefined);
  }

  /** Makes the step after `done` steps. */
  async #step(done: number): Promise<StepInfo> {
    const { config, faults } = this.#options;
    const step = done + 1;
    this.#clock.start();
    const batch = await this.#clock.time("loading", () => this.#batch(done));
    if (await faults.makesNotFinite(step)) batch.weights.fill(Number.NaN);
    const { loss, gradientNorm } = await this.#clock.time("gradients", () => {
      const computing = this.#state.computeGradients(batch, this.#dropout.fold(done));
      // The engine computes; meanwhile this thread is free.
      if (step < config.steps) this.#upcoming = { step, batch: this.#options.data.batch(step) };
      return computing;
    });
    if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm)) throw await this.#notFinite(step, loss, gradientNorm);
    const learningRate = this.#learningRate(done);
    const skipped = this.#skipRule?.observe(loss, gradientNorm).skip ?? false;
    if (!skipped) await this.#clock.time("optimizer", () => this.#update(step, batch.weightSum, learningRate, gradientNorm));
    const tokens = this.#tokensBefore(step);
    this.#clock.stop(tokens - this.#tokensBefore(done));
    return {
      step,
      steps: config.steps,
      loss,
      learningRate,
      gradientNorm,
      skipped,
      tokens,
      tokensPerSecond: this.#clock.tokensPerSecond,
      secondsLeft: this.#clock.secondsFor(this.#tokensBefore(config.steps) - tokens),
    };
  }

  async #update(step: number, weightSum: number, learningRate: number, gradientNorm: number): Promise<void> {
    const { config } = this.#options;
    const { beta1, beta2, epsilon, maxGradientNorm } = config;
    const weightDecay = config.adamcWeightDecay ? adamcWeightDecay(config.weightDecay, learningRate, config.learningRate) : config.weightDecay;
    const gradientScale = clipFactor(gradientNorm, maxGradientNorm) / weightSum;
    const update = step - (this.#skipRule?.skipped ?? 0);
    await this.#state.update({ update, learningRate, beta1, beta2, epsilon, weightDecay, gradientScale });
  }

  /** The batch of a step, which is a pure function of it: made ahead or now. */
  #batch(step: number): Batch {
    const upcoming = this.#upcoming;
    this.#upcoming = undefined;
    return upcoming?.step === step ? upcoming.batch : this.#options.data.batch(step);
  }

  #tokensBefore(step: number): number {
    return this.#schedule.rowsBefore(step) * this.#options.config.sequenceLength;
  }

  #throughput(info: StepInfo): ReturnType<typeof stepThroughput> {
    const { model, config, peakFlops } = this.#options;
    const rows = this.#schedule.batchSizeAt(info.step - 1);
    return stepThroughput({ clock: this.#clock, model, sequenceLength: config.sequenceLength, rows, totalTokens: info.tokens, peakFlops });
  }

  #content({ step, loss, learningRate, gradientNorm, skipped }: StepInfo): CheckpointContent {
    const state = { loss, learningRate, gradientNorm, skipped, skipRule: this.#skipRule === undefined ? null : { ...this.#skipRule.state }, pending: this.#hooks?.pending ?? [] };
    return { step, groups: this.#state.groups, state };
  }

  async #notFinite(step: number, loss: number, gradientNorm: number): Promise<MarinError> {
    await this.#checkpointer.settle();
    const { saved } = this.#checkpointer;
    const last = saved === undefined ? "There is no checkpoint yet." : `The newest checkpoint is of step ${String(saved.step)}.`;
    return new MarinError(
      "LEVANTER_NOT_FINITE",
      `step ${String(step)}: loss ${String(loss)}, gradient norm ${String(gradientNorm)}; nothing of this step was kept. ${last} Try a lower learningRate, a longer warmup or another seed.`,
      { data: { step, loss, gradientNorm, checkpointStep: saved?.step ?? 0 } },
    );
  }

  #evaluatesAt(step: number): boolean {
    const { validation, config } = this.#options;
    return validation !== undefined && isDue(step, config.evaluateEvery, config.steps);
  }

  /** Validates, and adds the result to the metrics. A stop in the middle still saves the step. */
  async #evaluate(records: RunRecords, info: StepInfo): Promise<StepEvaluation | undefined> {
    const { engine, config, model, validation: store, signal } = this.#options;
    if (store === undefined) return undefined;
    const { parameters, ema } = this.#state;
    this.#evaluator ??= await LossEvaluator.create(engine, model, microbatchSizeOf(config.batchSize, config.microbatchSize), config.sequenceLength);
    const evaluator = this.#evaluator;
    const evaluate = async (): Promise<StepEvaluation> => {
      const validation = await evaluator.evaluate(parameters, store, { signal });
      return ema === undefined ? { validation } : { validation, emaValidation: await evaluator.evaluate(ema, store, { signal }) };
    };
    const evaluation = await this.#clock.time("evaluation", evaluate).catch(async (error: unknown) => {
      await this.#stopIfAborted();
      throw error;
    });
    await records.addEvaluation(info, evaluation, store.fingerprint);
    return evaluation;
  }

  async #stopIfAborted(): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted !== true) return;
    const info = this.#last;
    if (info !== undefined) {
      this.#checkpointer.request();
      await this.#checkpointer.afterStep(this.#content(info));
      await this.#checkpointer.settle();
    }
    const kept = info === undefined ? "before the first step" : `after step ${String(info.step)}, which is saved`;
    throw new MarinError("LEVANTER_INTERRUPTED", `training stopped ${kept}; start it again to go on`, {
      data: { step: info?.step ?? 0, checkpoint: this.#checkpointer.saved?.directory ?? "" },
      cause: signal.reason,
    });
  }
}

function skipRuleOf({ skipBadSteps }: TrainerConfig, state: unknown): SkipRule | undefined {
  return skipBadSteps === false ? undefined : new SkipRule(skipBadSteps === true ? {} : skipBadSteps, state);
}

function isDue(step: number, every: number, steps: number): boolean {
  return step === steps || (every > 0 && step % every === 0);
}
