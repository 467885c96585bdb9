/** Measurements by name: `train/loss`, `throughput/tokens_per_second`, `eval/bpb`. */
export type TrackedMetrics = Readonly<Record<string, number>>;

/**
 * Where a run's measurements go beside its own `metrics.jsonl`: a dashboard, a file format, a service. Steps ascend; one step may be logged in several
 * calls with different names. A run that goes on after a crash repeats the steps since its checkpoint: a tracker is opened for the step it goes on
 * from, and forgets later ones.
 */
export interface Tracker {
  /** Names it in warnings. */
  readonly name: string;
  /** Takes the measurements of a step, from 1. */
  log(step: number, metrics: TrackedMetrics): void | Promise<void>;
  /** Takes the run's options, once, before the first step of a new run. JSON values. */
  logHyperparameters(values: Readonly<Record<string, unknown>>): void | Promise<void>;
  /** Takes what the whole run came to, once, after the last step. JSON values. */
  logSummary(values: Readonly<Record<string, unknown>>): void | Promise<void>;
  /** Flushes and closes. Nothing is called afterwards. */
  finish(): void | Promise<void>;
}
