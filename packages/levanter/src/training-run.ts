import { MarinError, type Logger } from "@marin/iris";
import { newestCheckpoint, pruneCheckpoints, restoreCheckpoint, saveCheckpoint } from "./checkpoint/checkpoints.js";
import { requireSameRun, type RunIdentity } from "./checkpoint/metadata.js";
import { TokenBatches } from "./data/token-batches.js";
import type { TokenStore } from "./data/token-store.js";
import type { Engine } from "./engine/types.js";
import { LossEvaluator, type EvaluationResult } from "./eval/loss-evaluator.js";
import type { LanguageModel } from "./models/language-model.js";
import { learningRateSchedule } from "./optim/learning-rate.js";
import { clipFactor } from "./optim/gradients.js";
import { RandomKey } from "./rng/random-key.js";
import { MetricsLog, type MetricsRow } from "./tracker/metrics-log.js";
import type { TrainerConfig } from "./trainer-config.js";
import type { ScheduledHook, StepInfo, TrainResult } from "./trainer.js";
import { TrainingState } from "./training-state.js";
import { StepClock } from "./step-clock.js";

/** Everything one run needs, settled by the trainer. */
export interface TrainingRunOptions {
  readonly engine: Engine;
  readonly config: TrainerConfig;
  readonly model: LanguageModel;
  readonly tokens: TokenStore;
  readonly validation?: TokenStore | undefined;
  /** Compared with the checkpoint's on resume. */
  readonly identity: RunIdentity;
  /** Directory of checkpoints. */
  readonly checkpoints: string;
  /** The metrics file. */
  readonly metrics: string;
  readonly signal?: AbortSignal | undefined;
  readonly log?: Logger | undefined;
  readonly hooks: readonly ScheduledHook[];
}

/** One call of `Trainer.train`: the loop, from the newest checkpoint to the last step. The directory's lock is held by the caller. */
export class TrainingRun {
  readonly #options: TrainingRunOptions;
  readonly #batches: TokenBatches;
  readonly #learningRate: (step: number) => number;
  #evaluator: LossEvaluator | undefined;
  /** The newest checkpoint, and its step; step 0 for none. */
  #saved: { readonly step: number; readonly directory: string } = { step: 0, directory: "" };

  constructor(options: TrainingRunOptions) {
    const { config, tokens } = options;
    this.#options = options;
    this.#batches = new TokenBatches({ ...config, store: tokens, key: RandomKey.fromSeed(config.seed).fold("data") });
    this.#learningRate = learningRateSchedule({
      steps: config.steps,
      peak: config.learningRate,
      warmup: config.warmup,
      decay: config.decay,
      minRatio: config.minLearningRateRatio,
      shape: config.schedule,
    });
  }

  /** Trains to the last step. */
  async train(): Promise<TrainResult> {
    const { engine, config, model, metrics } = this.#options;
    const { batchSize, sequenceLength, microbatchSize = batchSize } = config;
    const state = await TrainingState.create(engine, model, { batchSize, microbatchSize, sequenceLength });
    try {
      const resumedFrom = await this.#start(state);
      const log = await MetricsLog.open(metrics, resumedFrom);
      try {
        return { ...(await this.#loop(state, log, resumedFrom)), resumedFrom };
      } finally {
        await log.close();
      }
    } finally {
      this.#evaluator?.release();
      state.release();
    }
  }

  /** Restores the newest checkpoint, or sets initial values. Returns the number of steps already made. */
  async #start(state: TrainingState): Promise<number> {
    const { engine, config, model, identity, checkpoints, log } = this.#options;
    const newest = await newestCheckpoint(checkpoints);
    if (newest === undefined) {
      state.setParameters(model.initialize(RandomKey.fromSeed(config.seed).fold("model")));
      return 0;
    }
    const { directory, metadata } = newest;
    requireSameRun(directory, metadata.run, identity);
    if (metadata.engine !== engine.fingerprint) {
      log?.warn(`${directory} was written by "${metadata.engine}", this is "${engine.fingerprint}": the run goes on, but its numbers may differ in the last bits`);
    }
    await restoreCheckpoint(directory, metadata, state);
    await pruneCheckpoints(checkpoints, config.keepCheckpoints);
    this.#saved = { step: metadata.step, directory };
    return metadata.step;
  }

  async #loop(state: TrainingState, log: MetricsLog, start: number): Promise<Omit<TrainResult, "resumedFrom">> {
    const { config } = this.#options;
    const { steps } = config;
    const clock = new StepClock(config.batchSize * config.sequenceLength);
    // A run stopped in the middle of its validation has a checkpoint of that step but not the validation.
    let validation = start > 0 ? validationOf(log.last, start) : undefined;
    if (start > 0 && validation === undefined && this.#isDue(start, config.evaluateEvery)) validation = await this.#evaluate(state, log, { step: start });
    for (let done = start; done < steps; ) {
      await this.#stopIfAborted(state, log, done);
      const info = await this.#step(state, done, clock);
      done = info.step;
      for (const { hook, every } of this.#options.hooks) if (this.#isDue(done, every)) await hook(info);
      const evaluates = this.#options.validation !== undefined && this.#isDue(done, config.evaluateEvery);
      const row = { ...info, steps: undefined, secondsLeft: undefined };
      if (evaluates || this.#isDue(done, config.logEvery)) await log.append(row);
      validation = evaluates ? await this.#evaluate(state, log, row) : undefined;
      if (this.#isDue(done, config.checkpointEvery)) await this.#save(state, log, done);
    }
    const loss = log.last?.["loss"];
    return { step: steps, loss: typeof loss === "number" ? loss : Number.NaN, validation, checkpoint: this.#saved.directory };
  }

  /** Makes the step after `done` steps. */
  async #step(state: TrainingState, done: number, clock: StepClock): Promise<StepInfo> {
    const { config } = this.#options;
    clock.start();
    const batch = this.#batches.batch(done);
    const { loss, gradientNorm } = await state.computeGradients(batch);
    const step = done + 1;
    if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm)) {
      const last = this.#saved.step > 0 ? `The newest checkpoint is of step ${String(this.#saved.step)}.` : "There is no checkpoint yet.";
      throw new MarinError(
        "LEVANTER_NOT_FINITE",
        `step ${String(step)}: loss ${String(loss)}, gradient norm ${String(gradientNorm)}; nothing of this step was kept. ${last} Try a lower learningRate, a longer warmup or another seed.`,
        { data: { step, loss, gradientNorm, checkpointStep: this.#saved.step } },
      );
    }
    const learningRate = this.#learningRate(done);
    const { beta1, beta2, epsilon, weightDecay, maxGradientNorm } = config;
    const gradientScale = clipFactor(gradientNorm, maxGradientNorm) / batch.weightSum;
    await state.update({ update: step, learningRate, beta1, beta2, epsilon, weightDecay, gradientScale });
    clock.stop();
    return {
      step,
      steps: config.steps,
      loss,
      learningRate,
      gradientNorm,
      tokens: step * config.batchSize * config.sequenceLength,
      tokensPerSecond: clock.tokensPerSecond,
      secondsLeft: clock.secondsFor(config.steps - step),
    };
  }

  /** Validates, where there is anything to validate on, and adds the result to the metrics. A stop in the middle still saves the step. */
  async #evaluate(state: TrainingState, log: MetricsLog, row: MetricsRow): Promise<EvaluationResult | undefined> {
    const { engine, config, model, validation, signal } = this.#options;
    if (validation === undefined) return undefined;
    this.#evaluator ??= await LossEvaluator.create(engine, model, config.microbatchSize ?? config.batchSize, config.sequenceLength);
    const result = await this.#evaluator.evaluate(state.parameters, validation, { signal }).catch(async (error: unknown) => {
      await this.#stopIfAborted(state, log, row.step);
      throw error;
    });
    await log.amend({ ...(log.last?.step === row.step ? log.last : row), validation: result });
    return result;
  }

  async #stopIfAborted(state: TrainingState, log: MetricsLog, done: number): Promise<void> {
    if (this.#options.signal?.aborted !== true) return;
    if (done > this.#saved.step) await this.#save(state, log, done);
    const kept = done === 0 ? "before the first step" : `after step ${String(done)}, which is saved`;
    throw new MarinError("LEVANTER_INTERRUPTED", `training stopped ${kept}; start it again to go on`, {
      data: { step: done, checkpoint: this.#saved.directory },
      cause: this.#options.signal.reason,
    });
  }

  async #save(state: TrainingState, log: MetricsLog, step: number): Promise<void> {
    const { engine, config, identity, checkpoints } = this.#options;
    // The metrics of a checkpoint's steps must not be lost when the checkpoint is not.
    await log.sync();
    this.#saved = { step, directory: await saveCheckpoint(checkpoints, step, state, identity, engine.fingerprint) };
    await pruneCheckpoints(checkpoints, config.keepCheckpoints);
  }

  #isDue(step: number, every: number): boolean {
    return step === this.#options.config.steps || (every > 0 && step % every === 0);
  }
}

function validationOf(row: MetricsRow | undefined, step: number): EvaluationResult | undefined {
  return row?.step === step ? (row["validation"] as EvaluationResult | undefined) : undefined;
}
