import type { TrainReport } from "./peers/protocol.js";
import { median, minimum } from "./statistics.js";

/** Steps whose losses must agree, from the first. */
const COMPARED_STEPS = 5;
/** Largest difference of a loss, in nats. */
const LOSS_TOLERANCE = 1e-3;

/** One side of a comparison, over all rounds. */
export interface Side {
  readonly version: string;
  readonly medianMilliseconds: number;
  readonly minimumMilliseconds: number;
  /** By the median. */
  readonly tokensPerSecond: number;
  /** The largest of all rounds. */
  readonly peakBytes: number;
  readonly losses: readonly number[];
}

/** Levanter's compiled step against another implementation of the same step. Ratios above 1 speak for levanter, except memory's. */
export interface Comparison {
  readonly levanter: Side;
  readonly other: Side;
  /** The other's time over levanter's, by the median and by the minimum of all steps. */
  readonly speedByMedian: number;
  readonly speedByMinimum: number;
  /** Levanter's peak memory over the other's. */
  readonly memory: number;
}

/** Summarizes one side: the first `warmup` steps of each round are left out. */
export function summarize(reports: readonly TrainReport[], warmup: number, tokensPerStep: number): Side {
  const times = reports.flatMap(({ stepMilliseconds }) => stepMilliseconds.slice(warmup));
  const medianMilliseconds = median(times);
  return {
    version: reports[0]?.version ?? "",
    medianMilliseconds,
    minimumMilliseconds: minimum(times),
    tokensPerSecond: (tokensPerStep * 1000) / medianMilliseconds,
    peakBytes: Math.max(...reports.map(({ peakBytes }) => peakBytes)),
    losses: (reports[0]?.losses ?? []).slice(0, COMPARED_STEPS),
  };
}

/** Puts two sides beside each other. */
export function compare(levanter: Side, other: Side): Comparison {
  return {
    levanter,
    other,
    speedByMedian: other.medianMilliseconds / levanter.medianMilliseconds,
    speedByMinimum: other.minimumMilliseconds / levanter.minimumMilliseconds,
    memory: levanter.peakBytes / other.peakBytes,
  };
}

/** Why two sides did not compute the same thing, or nothing. */
export function lossesDiffer(levanter: Side, other: Side): string | undefined {
  for (let step = 0; step < COMPARED_STEPS; step++) {
    const [own, theirs] = [levanter.losses[step], other.losses[step]];
    if (own === undefined || theirs === undefined) return `fewer than ${COMPARED_STEPS} steps were run`;
    // Written so that a NaN differs.
    if (!(Math.abs(own - theirs) <= LOSS_TOLERANCE)) return `losses of step ${step} differ: ${own} and ${theirs}`;
  }
  return undefined;
}
