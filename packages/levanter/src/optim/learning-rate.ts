import { MarinError } from "@marin/iris";
import { decayOf, type Decay, type DecayContext, type DecayShapeInput } from "./decay-shapes.js";

/**
 * A learning-rate schedule: per cycle a linear warm-up, a stable stretch, and a decay. Lengths above 1 are steps, those from 0 to 1 fractions of the
 * cycle (of the run, for `cycleLength`); 1 means all of it.
 */
export interface LearningRateSchedule extends DecayContext {
  /** Steps of the whole run, N. */
  readonly steps: number;
  /** Learning rate after warm-up. */
  readonly peak: number;
  /** Length of the first cycle's warm-up, from rate 0; cut to the cycle. */
  readonly warmup: number;
  /** Length of each decay. Left out: all that warm-up leaves, so nothing is stable. */
  readonly decay?: number | undefined;
  /** The decay ends at this fraction of the peak, or stops there. */
  readonly minRatio: number;
  /** Form of the decay: its name, or its name with parameters. */
  readonly shape: DecayShapeInput;
  /** Number of equal cycles, or the steps at which cycles end, ascending. Default: 1. */
  readonly cycles?: number | readonly number[] | undefined;
  /** Length of each cycle, or lengths one after the other, instead of `cycles`. What is left of the run belongs to the last cycle, or is a cycle after the listed ones. */
  readonly cycleLength?: number | readonly number[] | undefined;
  /** Length of later cycles' warm-ups, from the rate that the cycle before ended with. Default: 0, a jump to the peak. */
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
 * The learning rate as a function of the steps already taken, from 0: with a warm-up the first update has rate 0. After the last step the rate stays.
 * The stage rule is that of Levanter's optimizer configurations. Throws `LEVANTER_CONFIG` for a length that is negative, or fractional and above 1, for
 * cycles that do not ascend or go past the run, and for a form whose parameters do not fit.
 */
export function learningRateSchedule(schedule: LearningRateSchedule): (step: number) => number {
  const decay = decayOf(schedule.shape, schedule);
  const cycles = planCycles(schedule, decay);
  return (step) => {
    const cycle = cycles.findLast((candidate) => step >= candidate.start) ?? cycles[0];
    return cycle === undefined ? schedule.peak : rateInCycle(schedule.peak, cycle, step - cycle.start, decay);
  };
}

function planCycles(schedule: LearningRateSchedule, decayRate: Decay): Cycle[] {
  const { steps, peak } = schedule;
  const cycles: Cycle[] = [];
  let start = 0;
  let from = 0;
  for (const end of cycleEnds(schedule)) {
    const length = end - start;
    const warmup = Math.min(stageLength(cycles.length === 0 ? schedule.warmup : (schedule.rewarmup ?? 0), length, steps), length);
    const rest = length - warmup;
    const decay = schedule.decay === undefined ? rest : Math.min(stageLength(schedule.decay, length, steps), rest);
    cycles.push({ start, from, warmup, stable: rest - decay, decay });
    from = decay > 0 ? decayRate(decay, decay, warmup) : peak;
    start = end;
  }
  return cycles;
}

/** The steps at which cycles end, ascending, N the last. */
function cycleEnds(schedule: LearningRateSchedule): number[] {
  const { steps } = schedule;
  const ends = listedEnds(schedule);
  ends.forEach((end, i) => {
    if (!Number.isInteger(end) || end <= (ends[i - 1] ?? 0) || end > steps) {
      throw new MarinError(
        "LEVANTER_CONFIG",
        `cycles must end at whole steps, each after the one before, none after the run's last step ${String(steps)}; got ${ends.join(", ")}`,
        { data: { ends, steps } },
      );
    }
  });
  return ends.at(-1) === steps ? ends : [...ends, steps];
}

function listedEnds({ steps, cycles, cycleLength }: LearningRateSchedule): number[] {
  if (cycleLength === undefined) {
    return typeof cycles === "object" ? [...cycles] : Array.from({ length: cycles ?? 1 }, (_, i) => Math.trunc((steps / (cycles ?? 1)) * (i + 1)));
  }
  if (cycles !== undefined) throw new MarinError("LEVANTER_CONFIG", "give either cycles or cycleLength, not both", { data: { cycles, cycleLength } });
  if (typeof cycleLength === "object") {
    let end = 0;
    return cycleLength.map((length) => (end += length));
  }
  const length = Math.max(1, stageLength(cycleLength, steps, steps));
  // The last cycle takes the remainder.
  return Array.from({ length: Math.max(0, Math.floor(steps / length) - 1) }, (_, i) => length * (i + 1));
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

function rateInCycle(peak: number, { from, warmup, stable, decay }: Cycle, t: number, decayRate: Decay): number {
  if (t < warmup) return from + (peak - from) * (t / warmup);
  if (t < warmup + stable || decay === 0) return peak;
  return decayRate(Math.min(decay, t - warmup - stable), decay, warmup);
}
