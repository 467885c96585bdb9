import { join } from "node:path";
import { getIrisCtx, lockDirectory, MarinError, type IrisContext, type Logger } from "@marin/iris";
import { modelIdentity, type RunIdentity } from "./checkpoint/metadata.js";
import { requireLength, requireText, requireVocabulary } from "./data/fit.js";
import { TokenStore } from "./data/token-store.js";
import type { Engine } from "./engine/types.js";
import { selectEngine } from "./engine/select.js";
import type { EvaluationResult } from "./eval/loss-evaluator.js";
import type { LanguageModel } from "./models/language-model.js";
import { buildModel } from "./models/model-config.js";
import { parseTrainerConfig, type TrainerConfig, type TrainerConfigInput } from "./trainer-config.js";
import { TrainingRun } from "./training-run.js";

/** What is known after a step. */
export interface StepInfo {
  /** The step just finished, from 1. */
  readonly step: number;
  /** Steps of the whole run. */
  readonly steps: number;
  /** Mean loss of the step's batch before its update, in nats per token. */
  readonly loss: number;
  /** Learning rate of the step's update. */
  readonly learningRate: number;
  /** Global norm of the step's gradient before clipping. */
  readonly gradientNorm: number;
  /** Tokens computed on so far, over all restarts; the padding of short last windows counts. */
  readonly tokens: number;
  /** Speed over the last steps, validation and checkpoints not counted. */
  readonly tokensPerSecond: number;
  /** Time that the remaining steps will take at this speed, in seconds. */
  readonly secondsLeft: number;
}

/** Called after steps; the next step waits for it. An error it throws ends the run. */
export type StepHook = (info: StepInfo) => void | Promise<void>;

/** A hook with its cadence. */
export interface ScheduledHook {
  readonly hook: StepHook;
  /** Steps between calls, at least 1; the last step always calls. */
  readonly every: number;
}

/** Settings of a {@link Trainer} that are not options of the run. */
export interface TrainerOptions {
  /** Computes; it stays the caller's. Default: chosen by the configuration and released after each run. */
  readonly engine?: Engine | undefined;
  /** Takes warnings. Default: the log of the iris context, where there is one. */
  readonly log?: Logger | undefined;
}

/** What to train on, and where to keep it. */
export interface TrainOptions {
  /** Default: the one that the configuration names, with the vocabulary of the tokens. */
  readonly model?: LanguageModel | undefined;
  /** Tokens to train on. Default: the store in the directory that the configuration names as `dataset`. */
  readonly tokens?: TokenStore | undefined;
  /** Tokens to validate on, whole, every `evaluateEvery` steps and at the end. */
  readonly validation?: TokenStore | undefined;
  /** Directory of this run alone: `checkpoints/` and `metrics.jsonl`. A run found there is resumed. */
  readonly directory: string;
  /** Stops the run after the current step, with a checkpoint. Default: the signal of the iris context, where there is one. */
  readonly signal?: AbortSignal | undefined;
  /** Called after every step. */
  readonly onStep?: StepHook | undefined;
}

/** The end of a run. */
export interface TrainResult {
  /** Steps made in all: the configured ones. */
  readonly step: number;
  /** The checkpoint's step that this call went on from; 0 for a new run. */
  readonly resumedFrom: number;
  /** Mean loss of the last step's batch, in nats per token; NaN for a finished run whose metrics were removed. */
  readonly loss: number;
  /** Loss over the validation tokens after the last step, where there are any. */
  readonly validation: EvaluationResult | undefined;
  /** Directory of the last checkpoint. */
  readonly checkpoint: string;
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

  /** Has `hook` called after every `every` steps (default 1), and after the last. Returns the trainer. */
  addHook(hook: StepHook, { every = 1 }: { readonly every?: number } = {}): this {
    if (!Number.isInteger(every) || every < 1) throw new RangeError(`every must be a positive integer, got ${String(every)}`);
    this.#hooks.push({ hook, every });
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
    const { directory } = options;
    const tokens = options.tokens ?? (await TokenStore.open(this.#named("dataset", "tokens")));
    const model = options.model ?? buildModel(this.#named("model", "model"), tokens.vocabSize);
    requireLength(model, this.config.sequenceLength);
    requireVocabulary(model, tokens);
    if (options.validation !== undefined) {
      requireVocabulary(model, options.validation);
      requireText(options.validation);
    }
    const context = getIrisCtx();
    const lock = await lockDirectory(directory);
    try {
      const log = this.#options.log ?? context?.log;
      const engine = this.#options.engine ?? (await startEngine(this.config, log));
      try {
        const run = new TrainingRun({
          ...options,
          model,
          tokens,
          engine,
          config: this.config,
          identity: runIdentity(this.config, model, tokens),
          checkpoints: join(directory, "checkpoints"),
          metrics: join(directory, "metrics.jsonl"),
          signal: options.signal ?? context?.signal,
          log,
          hooks: [...this.#hooks, ...[context && reportTo(context), options.onStep].flatMap((hook) => (hook ? [{ hook, every: 1 }] : []))],
        });
        return await run.train();
      } finally {
        if (this.#options.engine === undefined) await engine.dispose();
      }
    } finally {
      await lock.release();
    }
  }

  /** What the configuration names. Throws `LEVANTER_CONFIG` where it doesn't. */
  #named<F extends "model" | "dataset">(field: F, option: string): NonNullable<TrainerConfig[F]> {
    const value = this.config[field];
    if (value !== undefined) return value;
    throw new MarinError("LEVANTER_CONFIG", `there is no ${option} to train: name it in the trainer's configuration as "${field}", or hand it to train() as "${option}"`, { data: { field } });
  }
}

/** Passes each step on to the context that the run is a task of. */
function reportTo(context: IrisContext): StepHook {
  return ({ step, steps, loss, learningRate, gradientNorm, tokensPerSecond }) => {
    context.metrics.report({ loss, learningRate, gradientNorm, tokensPerSecond }, step);
    const speed = Math.round(tokensPerSecond).toLocaleString("en-US");
    context.progress({ done: step, total: steps, unit: "steps", detail: `loss ${loss.toFixed(3)}, ${speed} tokens/s` });
  };
}

function startEngine({ engine, threads }: TrainerConfig, log: Logger | undefined): Promise<Engine> {
  return selectEngine({
    engine,
    threads: threads === 0 ? undefined : threads,
    onNotice: log === undefined ? undefined : (line) => { log.warn(line); },
  });
}

/** Options that may change between the starts of one run: its numbers do not depend on them. */
const FREE_OPTIONS: ReadonlySet<string> = new Set(["evaluateEvery", "checkpointEvery", "keepCheckpoints", "logEvery", "engine", "threads"] satisfies (keyof TrainerConfig)[]);

/** Names that stand for something with an identity of its own: the model's fields, the tokens' fingerprint. AdamW is the one optimizer. */
const NAMES: ReadonlySet<string> = new Set(["model", "optimizer", "dataset"] satisfies (keyof TrainerConfig)[]);

/** Everything that the numbers of a run depend on. */
function runIdentity(config: TrainerConfig, model: LanguageModel, tokens: TokenStore): RunIdentity {
  const deciding = Object.entries(config).filter(([name, value]) => value !== undefined && !FREE_OPTIONS.has(name) && !NAMES.has(name));
  const options = deciding.map(([name, value]) => [`trainer.${name}`, value]);
  return { ...modelIdentity(model), ...(Object.fromEntries(options) as RunIdentity), "data.fingerprint": tokens.fingerprint };
}
