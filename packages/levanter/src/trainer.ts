import { join } from "node:path";
import { getIrisCtx, lockDirectory, MarinError, type IrisContext, type Logger } from "@marin/iris";
import { modelIdentity, type RunIdentity } from "./checkpoint/metadata.js";
import { requireLength, requireText, requireVocabulary } from "./data/fit.js";
import type { TokenStore } from "./data/token-store.js";
import type { Engine } from "./engine/types.js";
import { selectEngine } from "./engine/select.js";
import type { EvaluationResult } from "./eval/loss-evaluator.js";
import { FaultInjection } from "./fault-injection.js";
import { measuredPeakFlops } from "./measured-peak.js";
import type { LanguageModel } from "./models/language-model.js";
import { devicePeakFlops } from "./models/device-peaks.js";
import { buildModel } from "./models/model-config.js";
import { TensorBoardTracker } from "./tracker/tensorboard-tracker.js";
import type { Tracker } from "./tracker/tracker.js";
import { parseTrainerConfig, type TrainerConfig, type TrainerConfigInput } from "./trainer-config.js";
import { openTrainingData, type TokenMixtureSources, type TrainingData } from "./trainer-data.js";
import type { ScheduledHook, StepHook } from "./trainer-hooks.js";
import { TrainingRun } from "./training-run.js";

/** Opens a tracker for a run in `directory` that goes on from `step`, 0 for a new one. */
export type TrackerFactory = (run: { readonly directory: string; readonly step: number }) => Tracker | Promise<Tracker>;

/** How a hook is called. */
export interface HookOptions {
  /** Steps between calls, at least 1; the last step always calls. Default: 1. */
  readonly every?: number | undefined;
  /** Names it in errors, and in the run's journal of hooks that have ended. Default: the function's name, or its number. */
  readonly name?: string | undefined;
}

/** Settings of a {@link Trainer} that are not options of the run. */
export interface TrainerOptions {
  /** Computes; it stays the caller's. Default: chosen by the configuration and released after each run. */
  readonly engine?: Engine | undefined;
  /** Takes warnings. Default: the log of the iris context, where there is one. */
  readonly log?: Logger | undefined;
  /** Opens trackers beside those that the configuration names. */
  readonly trackers?: readonly TrackerFactory[] | undefined;
}

/** What to train on, and where to keep it. */
export interface TrainOptions {
  /** Default: the one that the configuration names, with the vocabulary of the tokens. */
  readonly model?: LanguageModel | undefined;
  /** Tokens to train on: a store, or several with the share of each. Default: what the configuration names as `dataset` or `mixture`. */
  readonly tokens?: TokenStore | TokenMixtureSources | undefined;
  /** Tokens to validate on, whole, every `evaluateEvery` steps and at the end. */
  readonly validation?: TokenStore | undefined;
  /** Directory of this run alone: `checkpoints/` and `metrics.jsonl`. A run found there is resumed. */
  readonly directory: string;
  /** Stops the run after the current step, with a checkpoint. Default: the signal of the iris context, where there is one. */
  readonly signal?: AbortSignal | undefined;
  /** Called after every step to show progress; not called for a step that was made before the run was resumed. */
  readonly onStep?: StepHook | undefined;
}

/** The end of a run. */
export interface TrainResult {
  /** Steps made in all: the configured ones. */
  readonly step: number;
  /** The checkpoint's step that this call went on from; 0 for a new run. */
  readonly resumedFrom: number;
  /** Mean loss of the last step's batch, in nats per token. */
  readonly loss: number;
  /** Loss over the validation tokens after the last step, where there are any. */
  readonly validation: EvaluationResult | undefined;
  /** The same of the parameters' moving average, where one is kept (`emaBeta`). */
  readonly emaValidation: EvaluationResult | undefined;
  /** Directory of the last checkpoint. */
  readonly checkpoint: string;
  /** Host memory that the copy for a checkpoint takes until it is written, in bytes. */
  readonly snapshotBytes: number;
}

/**
 * Trains a language model: batches in an order given by seed and step, accumulated gradients, clipping, AdamW, hooks, metrics, validation, checkpoints.
 * A run is resumed from its newest checkpoint and then computes the very numbers it would have computed uninterrupted. Inside an iris context it reports
 * each step to it, and stops on its signal.
 */
export class Trainer {
  /** The validated options. */
  readonly config: TrainerConfig;
  readonly #options: TrainerOptions;
  readonly #hooks: ScheduledHook[] = [];

  /** Throws `LEVANTER_CONFIG` naming the field when an option is unknown or out of range. */
  constructor(config: TrainerConfigInput = {}, options: TrainerOptions = {}) {
    this.config = parseTrainerConfig(config);
    this.#options = options;
  }

  /**
   * Has `hook` called after every `every` steps (default 1), and after the last. A step's checkpoint is made first: where a crash or an error has kept
   * the hook from ending, it is called again after the run was resumed. Throws `RangeError` for a cadence below 1, or a name that is taken. Returns the trainer.
   */
  addHook(hook: StepHook, { every = 1, name }: HookOptions = {}): this {
    if (!Number.isInteger(every) || every < 1) throw new RangeError(`every must be a positive integer, got ${String(every)}`);
    const isTaken = (candidate: string): boolean => this.#hooks.some((other) => other.name === candidate);
    if (name !== undefined && isTaken(name)) throw new RangeError(`there is a hook named "${name}" already`);
    const unnamed = hook.name === "" || isTaken(hook.name) ? `hook ${String(this.#hooks.length + 1)}` : hook.name;
    this.#hooks.push({ name: name ?? unnamed, hook, every });
    return this;
  }

  /**
   * Trains to the configured number of steps, going on from the newest checkpoint in `directory`.
   *
   * @throws MarinError LEVANTER_INTERRUPTED after the signal, the last step saved; LEVANTER_NOT_FINITE when loss or gradient is, nothing of that
   * step saved; LEVANTER_CHECKPOINT_CORRUPT, LEVANTER_CHECKPOINT_VERSION, LEVANTER_CHECKPOINT_MISMATCH when the newest checkpoint cannot be gone on
   * from; LEVANTER_CONFIG when model, tokens and options do not fit together; LEVANTER_TOKENS_EMPTY when there is nothing to train or to validate on;
   * RIGGING_LOCKED when another process trains in `directory`; file errors
   * (RIGGING_DISK_FULL, ...), the checkpoints before intact
   */
  async train(options: TrainOptions): Promise<TrainResult> {
    const { config } = this;
    const { directory, validation } = options;
    const data = await openTrainingData(options.tokens, config);
    const model = options.model ?? buildModel(this.#namedModel(), Math.max(...data.stores.map(({ vocabSize }) => vocabSize)));
    requireLength(model, config.sequenceLength);
    for (const store of data.stores) requireVocabulary(model, store);
    if (validation !== undefined) {
      requireVocabulary(model, validation);
      requireText(validation);
    }
    const context = getIrisCtx();
    const faults = new FaultInjection(process.env, directory);
    const lock = await lockDirectory(directory);
    try {
      const log = this.#options.log ?? context?.log;
      const engine = this.#options.engine ?? (await startEngine(config, log));
      try {
        return await TrainingRun.train({
          model,
          data,
          validation,
          engine,
          config,
          identity: runIdentity(config, model, data),
          checkpoints: join(directory, "checkpoints"),
          metrics: join(directory, "metrics.jsonl"),
          journal: join(directory, "hooks.jsonl"),
          signal: options.signal ?? context?.signal,
          log,
          hooks: this.#hooks,
          reports: [...(context === undefined ? [] : [everyStep("the task's context", reportTo(context))]), ...(options.onStep === undefined ? [] : [everyStep("onStep", options.onStep)])],
          openTrackers: (step) => this.#openTrackers(directory, step, log),
          faults,
          peakFlops: await peakFlops(config, engine),
        });
      } finally {
        if (this.#options.engine === undefined) await engine.dispose();
      }
    } finally {
      await lock.release();
    }
  }

  /** Opens the configured trackers and the caller's. One that cannot be opened is a warning: training does not depend on it. */
  async #openTrackers(directory: string, step: number, log: Logger | undefined): Promise<Tracker[]> {
    const configured: TrackerFactory[] = (this.config.trackers ?? []).map(() => () => TensorBoardTracker.open({ directory: join(directory, "tensorboard"), step }));
    const opened: Tracker[] = [];
    for (const open of [...configured, ...(this.#options.trackers ?? [])]) {
      try {
        const tracker: unknown = await open({ directory, step });
        if (typeof tracker !== "object" || tracker === null) throw new TypeError(`it was opened as ${String(tracker)}, which is no tracker`);
        opened.push(tracker as Tracker);
      } catch (error) {
        log?.warn("a tracker could not be opened; training goes on without it", { error });
      }
    }
    return opened;
  }

  #namedModel(): NonNullable<TrainerConfig["model"]> {
    if (this.config.model !== undefined) return this.config.model;
    throw new MarinError("LEVANTER_CONFIG", 'there is no model to train: name it in the trainer\'s configuration as "model", or hand it to train() as "model"', { data: { field: "model" } });
  }
}

function everyStep(name: string, hook: StepHook): ScheduledHook {
  return { name, hook, every: 1 };
}

/** Passes each step on to the context that the run is a task of. */
function reportTo(context: IrisContext): StepHook {
  return ({ step, steps, loss, learningRate, gradientNorm, tokensPerSecond }) => {
    context.metrics.report({ loss, learningRate, gradientNorm, tokensPerSecond }, step);
    const speed = Math.round(tokensPerSecond).toLocaleString("en-US");
    context.progress({ done: step, total: steps, unit: "steps", detail: `loss ${loss.toFixed(3)}, ${speed} tokens/s` });
  };
}

function startEngine({ engine, device, precision, threads }: TrainerConfig, log: Logger | undefined): Promise<Engine> {
  return selectEngine({
    engine,
    device,
    precision,
    threads: threads === 0 ? undefined : threads,
    onNotice: log === undefined ? undefined : (line) => { log.warn(line); },
  });
}

/** What utilization is told against: what is asked for, or a GPU's data sheet. */
async function peakFlops(config: TrainerConfig, engine: Engine): Promise<number | undefined> {
  if (config.peakFlops === "measure") return measuredPeakFlops(engine);
  const { device = "cpu", description } = engine;
  return config.peakFlops ?? (device === "cpu" ? undefined : devicePeakFlops(description));
}

/** Options that may change between the starts of one run: its numbers do not depend on them. */
const FREE_OPTIONS: ReadonlySet<string> = new Set([
  "evaluateEvery", "checkpointEvery", "keepCheckpoints", "saveIntervalSeconds", "keepTemporaryCheckpoints", "temporaryCheckpointDirectory", "logEvery", "trackers", "peakFlops", "engine", "device", "threads",
] satisfies (keyof TrainerConfig)[]);

/** Names that stand for something with an identity of its own: the model's fields, the tokens' fingerprint. AdamW is the one optimizer. */
const NAMES: ReadonlySet<string> = new Set(["model", "optimizer", "dataset", "mixture"] satisfies (keyof TrainerConfig)[]);

/** Everything that the numbers of a run depend on. */
function runIdentity(config: TrainerConfig, model: LanguageModel, data: TrainingData): RunIdentity {
  const deciding = Object.entries(config).filter(([name, value]) => value !== undefined && !FREE_OPTIONS.has(name) && !NAMES.has(name));
  const options = deciding.map(([name, value]) => [`trainer.${name}`, typeof value === "object" ? JSON.stringify(value) : value]);
  return { ...modelIdentity(model), ...(Object.fromEntries(options) as RunIdentity), "data.fingerprint": data.fingerprint };
}
