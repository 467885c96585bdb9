import type { TrainReport } from "./peers/protocol.js";
import { median, minimum } from "./statistics.js";

/** Steps whose losses must agree, from the first. */
export const COMPARED_STEPS = 5;
/** Largest difference of a loss, in nats. */
export const LOSS_TOLERANCE = 1e-3;

/** What the measured step computes, and what the machine could. */
export interface Workmeter {
  readonly tokensPerStep: number;
  /** Operations of the model per token of a training step, by formula. */
  readonly flopsPerToken: number;
  /** Best product measured, FLOP/s. Absent where none was measured with so many threads. */
  readonly peakFlops?: number | undefined;
}

/** One side of a comparison, over all rounds. Null where a figure has no meaning for the side. */
export interface Side {
  readonly version: string;
  readonly threads: number;
  readonly medianMilliseconds: number;
  readonly minimumMilliseconds: number;
  /** By the median. */
  readonly tokensPerSecond: number;
  /** The model's operations per second, by the median, over those of the best product. */
  readonly fractionOfPeak: number | null;
  /** The largest of all rounds. */
  readonly peakBytes: number;
  /** Median over the rounds of the time for tracing and compiling; where that happens within the first step, what the first step took longer than the median step. */
  readonly compileMilliseconds: number | null;
  /** Median of the first steps: memory is touched for the first time. */
  readonly firstStepMilliseconds: number;
  /** Median share of a step in which no compiled program ran. */
  readonly outsideShare: number | null;
  /** Median milliseconds of a step by compiled program. */
  readonly programs: Readonly<Record<string, number>> | null;
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
export function summarize(reports: readonly TrainReport[], warmup: number, work: Workmeter): Side {
  const times = reports.flatMap(({ stepMilliseconds }) => stepMilliseconds.slice(warmup));
  const medianMilliseconds = median(times);
  const tokensPerSecond = (work.tokensPerStep * 1000) / medianMilliseconds;
  const firstStepMilliseconds = median(reports.map(({ stepMilliseconds }) => stepMilliseconds[0] ?? Number.NaN));
  const compiled = reports.flatMap(({ compileMilliseconds }) => compileMilliseconds ?? []);
  const lazy = reports.some(({ compilesInFirstStep }) => compilesInFirstStep === true);
  const outside = reports.flatMap(({ outsideMilliseconds, stepMilliseconds }) =>
    (outsideMilliseconds ?? []).slice(warmup).map((milliseconds, index) => milliseconds / (stepMilliseconds[warmup + index] ?? Number.NaN)),
  );
  return {
    version: reports[0]?.version ?? "",
    threads: reports[0]?.threads ?? Number.NaN,
    medianMilliseconds,
    minimumMilliseconds: minimum(times),
    tokensPerSecond,
    fractionOfPeak: work.peakFlops === undefined ? null : (tokensPerSecond * work.flopsPerToken) / work.peakFlops,
    peakBytes: Math.max(...reports.map(({ peakBytes }) => peakBytes)),
    compileMilliseconds: compiled.length > 0 ? median(compiled) : lazy ? Math.max(0, firstStepMilliseconds - medianMilliseconds) : null,
    firstStepMilliseconds,
    outsideShare: outside.length > 0 ? median(outside) : null,
    programs: programMedians(reports, warmup),
    losses: (reports[0]?.losses ?? []).slice(0, COMPARED_STEPS),
  };
}

function programMedians(reports: readonly TrainReport[], warmup: number): Record<string, number> | null {
  const names = Object.keys(reports[0]?.programMilliseconds ?? {});
  if (names.length === 0) return null;
  return Object.fromEntries(names.map((name) => [name, median(reports.flatMap(({ programMilliseconds }) => programMilliseconds?.[name]?.slice(warmup) ?? []))]));
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
    if (!(Math.abs(own - theirs) <= LOSS_TOLERANCE)) return `losses of step ${step} differ by more than ${LOSS_TOLERANCE}: ${own} and ${theirs}`;
  }
  return undefined;
}
