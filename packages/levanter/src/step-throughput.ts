import { modelFlopsUtilization } from "./models/device-peaks.js";
import { trainingFlopsPerToken } from "./models/flops.js";
import type { LanguageModel } from "./models/language-model.js";
import type { StepClock } from "./step-clock.js";
import type { TrackedMetrics } from "./tracker/tracker.js";

/** What the throughput of one step is computed from. */
export interface ThroughputInput {
  readonly clock: StepClock;
  readonly model: LanguageModel;
  /** Tokens a row. */
  readonly sequenceLength: number;
  /** Rows of the step's batch. */
  readonly rows: number;
  /** Tokens computed on so far, over all restarts. */
  readonly totalTokens: number;
  /** Peak rate of what computes, in FLOP/s, where it is known. */
  readonly peakFlops: number | undefined;
}

/**
 * Measurements of a step's speed, under the names that Levanter's dashboards use: `throughput/duration` (seconds of the step without waiting for its batch),
 * `tokens_per_second`, `examples_per_second`, `total_tokens`, the seconds of its parts (`loading_time`, `gradient_time`, `optimizer_time`), the seconds
 * spent on other things since the last call (`hook_time`, `evaluation_time`, `checkpoint_time`); for a model whose operations are counted `total_gflops` and
 * `gflops_per_second`; where the peak is known `mfu`, in percent (`modelFlopsUtilization`).
 */
export function stepThroughput({ clock, model, sequenceLength, rows, totalTokens, peakFlops }: ThroughputInput): TrackedMetrics {
  const seconds = clock.duration;
  const tokens = rows * sequenceLength;
  const parts = clock.takeParts();
  const flopsPerToken = model.transformer === undefined ? undefined : trainingFlopsPerToken(model.transformer, sequenceLength);
  return {
    "throughput/tokens_per_second": tokens / seconds,
    "throughput/examples_per_second": rows / seconds,
    "throughput/duration": seconds,
    "throughput/total_tokens": totalTokens,
    "throughput/loading_time": parts.loading,
    "throughput/gradient_time": parts.gradients,
    "throughput/optimizer_time": parts.optimizer,
    "throughput/hook_time": parts.hooks,
    "throughput/evaluation_time": parts.evaluation,
    "throughput/checkpoint_time": parts.checkpoint,
    ...(flopsPerToken === undefined
      ? {}
      : { "throughput/total_gflops": (flopsPerToken * totalTokens) / 1e9, "throughput/gflops_per_second": (flopsPerToken * tokens) / seconds / 1e9 }),
    ...(flopsPerToken === undefined || peakFlops === undefined ? {} : { "throughput/mfu": modelFlopsUtilization({ flopsPerToken, tokens, seconds, peakFlops }) }),
  };
}
