import { MarinError } from "@marin/iris";

/** A learning-rate schedule: per cycle a linear warm-up, a stable stretch, and a decay. Counts above 1 are steps, others fractions of the cycle. */
export interface LearningRateSchedule {
  /** Steps of the whole run, N. */
  readonly steps: number;
  /** Learning rate after warm-up. */
  readonly peak: number;
  /** Length of the first cycle's warm-up: steps, or a fraction up to 1 of the cycle. 1 means all of it. */
  readonly warmup: number;
  /** Length of each decay: steps, or a fraction of the cycle. Left out: all that warm-up leaves, so nothing is stable. */
  readonly decay?: number | undefined;
  /** The decay ends at this fraction of the peak. */
  readonly minRatio: number;
  /** Form of the decay. `constant` does not decay. */
  readonly shape: "cosine" | "linear" | "constant";
  /** Number of equal cycles, or the steps at which cycles end. Default: 1. */
  readonly cycles?: number | readonly number[] | undefined;
  /** Length of later cycles' warm-ups, from the value that the cycle before ended with. Default: 0, a jump to the peak. */
  readonly rewarmup?: number | undefined;
}

interface Cycle {
  readonly start: number;
  readonly from: number;
  readonly warmup: number;
  readonly stable: number;
  readonly decay: number;
}

/**
 * The learning rate as a function of the steps already taken, from 0: with a warm-up the first update has rate 0. The stage rule is that of
 * Levanter's optimizer configurations. Throws `LEVANTER_CONFIG` for a length that is negative, or fractional and above 1.
 */
export function learningRateSchedule(schedule: LearningRateSchedule): (step: number) => number {
  const cycles = planCycles(schedule);
  return (step) => {
    const cycle = cycles.findLast((candidate) => step >= candidate.start) ?? cycles[0];
    return cycle === undefined ? schedule.peak : rateInCycle(schedule, cycle, step - cycle.start);
  };
}

function planCycles(schedule: LearningRateSchedule): Cycle[] {
  const { steps, peak } = schedule;
  const cycles: Cycle[] = [];
  const ends = cycleEnds(schedule);
  let start = 0;
  let from = 0;
  for (const end of ends) {
    const length = end - start;
    const warmup = Math.min(stageLength(cycles.length === 0 ? schedule.warmup : (schedule.rewarmup ?? 0), length, steps), length);
    const rest = length - warmup;
    const decay = schedule.decay === undefined ? rest : Math.min(stageLength(schedule.decay, length, steps), rest);
    cycles.push({ start, from, warmup, stable: rest - decay, decay });
    from = decay > 0 ? decayed(schedule, 1) : peak;
    start = end;
  }
  return cycles;
}

function cycleEnds({ steps, cycles = 1 }: LearningRateSchedule): number[] {
  const minima = typeof cycles === "number" ? Array.from({ length: cycles }, (_, i) => Math.trunc((steps / cycles) * (i + 1))) : cycles;
  return [...new Set([...minima, steps])].filter((end) => end > 0 && end <= steps).sort((a, b) => a - b);
}

function stageLength(value: number, length: number, steps: number): number {
  if (value < 0 || (value > 1 && !Number.isInteger(value))) {
    throw new MarinError(
      "LEVANTER_CONFIG",
      `a schedule's stage must be a fraction from 0 to 1 or a whole number of steps, got ${String(value)} in a run of ${String(steps)} steps`,
      { data: { value } },
    );
  }
  return value <= 1 ? Math.trunc(value * length) : value;
}

function rateInCycle(schedule: LearningRateSchedule, { from, warmup, stable, decay }: Cycle, t: number): number {
  const { peak } = schedule;
  if (t < warmup) return from + (peak - from) * (t / warmup);
  if (t < warmup + stable || decay === 0) return peak;
  return decayed(schedule, Math.min(1, (t - warmup - stable) / decay));
}

function decayed({ peak, minRatio, shape }: LearningRateSchedule, progress: number): number {
  switch (shape) {
    case "cosine":
      return peak * ((1 - minRatio) * 0.5 * (1 + Math.cos(Math.PI * progress)) + minRatio);
    case "linear":
      return peak * (1 - (1 - minRatio) * progress);
    case "constant":
      return peak;
  }
}
