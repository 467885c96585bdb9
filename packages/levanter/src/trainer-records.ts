import type { Logger } from "@marin/iris";
import type { SaveReport } from "./checkpoint/checkpointer.js";
import type { EvaluationResult } from "./eval/loss-evaluator.js";
import type { StepInfo } from "./step-info.js";
import { CompositeTracker } from "./tracker/composite-tracker.js";
import { MetricsLog, type MetricsRow } from "./tracker/metrics-log.js";
import type { TrackedMetrics, Tracker } from "./tracker/tracker.js";

/** Losses over the validation tokens after a step. */
export interface StepEvaluation {
  /** Of the parameters. */
  readonly validation: EvaluationResult;
  /** Of their moving average, where one is kept. */
  readonly emaValidation?: EvaluationResult | undefined;
}

/** Where the records of a run go. */
export interface RunRecordsOptions {
  /** The run's own file, `metrics.jsonl`. */
  readonly metrics: string;
  /** The step that the run goes on from, 0 for a new run: records of later ones are forgotten. */
  readonly step: number;
  readonly trackers: readonly Tracker[];
  readonly log?: Logger | undefined;
}

/** The records of a run: its own metrics file, without which it does not go on, and its trackers, without which it does. */
export class RunRecords {
  readonly #metrics: MetricsLog;
  readonly #trackers: CompositeTracker;

  private constructor(metrics: MetricsLog, trackers: CompositeTracker) {
    this.#metrics = metrics;
    this.#trackers = trackers;
  }

  /** Opens the metrics file. File errors are those of `MetricsLog.open`. */
  static async open({ metrics, step, trackers, log }: RunRecordsOptions): Promise<RunRecords> {
    return new RunRecords(await MetricsLog.open(metrics, step), new CompositeTracker(trackers, log));
  }

  /** Takes the options of a new run. */
  async begin(hyperparameters: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#trackers.logHyperparameters(hyperparameters);
  }

  /** Takes what is known after a step. */
  async append(info: StepInfo, throughput: TrackedMetrics): Promise<void> {
    await this.#metrics.append(rowOf(info, throughput));
    const { step, loss, learningRate, gradientNorm } = info;
    await this.#trackers.log(step, { "train/loss": loss, "train/gradient_norm": gradientNorm, "optim/learning_rate": learningRate, ...throughput });
  }

  /** Adds an evaluation over the store of this fingerprint to what is known of a step. */
  async addEvaluation(info: StepInfo, evaluation: StepEvaluation, validationData: string): Promise<void> {
    const last = this.#metrics.last;
    await this.#metrics.amend({ ...(last?.step === info.step ? last : rowOf(info, {})), ...evaluation, validationData });
    const { validation, emaValidation } = evaluation;
    await this.#trackers.log(info.step, { ...evaluationMetrics("eval", validation), ...(emaValidation === undefined ? {} : evaluationMetrics("eval/ema", emaValidation)) });
  }

  /** Takes what a checkpoint asks of memory and time. */
  async addCheckpoint({ step, snapshotBytes, blockedSeconds }: SaveReport): Promise<void> {
    await this.#trackers.log(step, { "checkpoint/snapshot_bytes": snapshotBytes, "checkpoint/blocked_seconds": blockedSeconds });
  }

  /** The evaluation that was made after a step over the store of this fingerprint, where it is the last one on record. */
  evaluationOf(step: number, validationData: string): StepEvaluation | undefined {
    const row = this.#metrics.last;
    return row?.step === step && row["validationData"] === validationData ? (row as unknown as StepEvaluation) : undefined;
  }

  /** Flushes the metrics file to the disk. */
  async sync(): Promise<void> {
    await this.#metrics.sync();
  }

  /** Tells trackers what the run came to. */
  async summarize(values: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#trackers.logSummary(values);
  }

  /** Closes everything. */
  async close(): Promise<void> {
    await this.#trackers.finish();
    await this.#metrics.close();
  }
}

function rowOf(info: StepInfo, throughput: TrackedMetrics): MetricsRow {
  const { steps: _steps, secondsLeft: _secondsLeft, skipped, tokensPerSecond, ...numbers } = info;
  return { ...numbers, ...(skipped ? { skipped } : {}), ...(Number.isFinite(tokensPerSecond) ? { tokensPerSecond } : {}), ...throughput };
}

function evaluationMetrics(prefix: string, { loss, bitsPerByte }: EvaluationResult): TrackedMetrics {
  return { [`${prefix}/loss`]: loss, [`${prefix}/bpb`]: bitsPerByte };
}
