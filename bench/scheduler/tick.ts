import { schedule } from "@marin/iris/testing";
import { median, minimum } from "../statistics.js";
import { MIXES, type TickSize } from "./mixes.js";

/** What one kind of decision takes. */
export interface TickRow {
  readonly mix: string;
  readonly tasks: number;
  readonly workers: number;
  /** Tasks that were given a place, attempts that were evicted, and jobs that were told why they wait. */
  readonly placed: number;
  readonly evicted: number;
  readonly reasons: number;
  /** The very first decision of the process: nothing is compiled yet. */
  readonly firstMilliseconds: number;
  readonly medianMilliseconds: number;
  readonly minimumMilliseconds: number;
  /** Processor time of the whole process for one decision, garbage collection included: what a busy machine does not lengthen. */
  readonly cpuMilliseconds: number;
}

/** Measures the scheduler's decisions. */
export function benchTicks(size: TickSize, rounds: number): TickRow[] {
  return Object.entries(MIXES).map(([mix, { snapshot }]) => {
    const question = snapshot(size);
    const times: number[] = [];
    const processor: number[] = [];
    let decision: ReturnType<typeof schedule> | undefined;
    for (let round = 0; round <= rounds; round += 1) {
      const before = process.cpuUsage();
      const start = performance.now();
      decision = schedule(question);
      times.push(performance.now() - start);
      const { user, system } = process.cpuUsage(before);
      processor.push((user + system) / 1_000);
    }
    const [firstMilliseconds = Number.NaN, ...later] = times;
    return {
      mix,
      ...size,
      placed: decision?.assign.reduce((sum, { places }) => sum + places.length, 0) ?? 0,
      evicted: decision?.preempt.length ?? 0,
      reasons: decision?.reasons.size ?? 0,
      firstMilliseconds,
      medianMilliseconds: median(later),
      minimumMilliseconds: minimum(later),
      cpuMilliseconds: minimum(processor.slice(1)),
    };
  });
}
