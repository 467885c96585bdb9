import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DECAY_SHAPES, type DecayShapeInput } from "./decay-shapes.js";
import { learningRateSchedule, type LearningRateSchedule } from "./learning-rate.js";

function expectRates(schedule: LearningRateSchedule, rates: Record<number, number>): void {
  const rate = learningRateSchedule(schedule);
  for (const [step, expected] of Object.entries(rates)) {
    expect(Math.abs(rate(Number(step)) - expected), `step ${step}`).toBeLessThan(1e-6 * schedule.peak);
  }
}

const refused = expect.objectContaining({ code: "LEVANTER_CONFIG" }) as Error;

// Reference values of Levanter's schedules.
describe("learningRateSchedule", () => {
  const cosine = { steps: 1000, peak: 1e-2, warmup: 0.1, minRatio: 0.1, shape: "cosine" } as const;

  it("warms up and decays by a cosine", () => {
    expectRates(cosine, { 0: 0, 50: 0.005, 100: 0.01, 325: 0.008681981, 550: 0.0055, 775: 0.002318019, 999: 0.001000027, 1000: 0.001, 5000: 0.001 });
    expectRates({ ...cosine, warmup: 100 }, { 0: 0, 50: 0.005, 100: 0.01, 325: 0.008681981 });
  });

  it("keeps stable stretches and starts cycles with a jump (WSD-S)", () => {
    expectRates(
      { steps: 1000, peak: 1e-3, warmup: 0.01, minRatio: 0.1, shape: "cosine", decay: 0.1, cycles: [300, 700] },
      { 269: 1e-3, 285: 5.5e-4, 299: 1.02465e-4, 300: 1e-3, 680: 5.5e-4, 699: 1.01387e-4 },
    );
  });

  it("warms up again from where the cycle before ended", () => {
    expectRates(
      { steps: 1000, peak: 1e-2, warmup: 0.2, minRatio: 0.2, shape: "linear", cycles: 2, rewarmup: 0.05 },
      { 300: 0.006, 500: 0.002, 512: 0.00584, 525: 0.01, 1000: 0.002 },
    );
  });

  it("cuts a warm-up to the run", () => {
    expectRates({ steps: 200, peak: 3e-3, warmup: 1000, minRatio: 0.1, shape: "cosine" }, { 160: 0.0024, 200: 0.003 });
    expectRates({ steps: 200, peak: 3e-3, warmup: 1, minRatio: 0.1, shape: "cosine" }, { 100: 0.0015 });
  });

  it("starts at the peak without a warm-up, and stays there when constant", () => {
    expectRates({ ...cosine, warmup: 0 }, { 0: 0.01 });
    expectRates({ ...cosine, warmup: 0, shape: "constant" }, { 0: 0.01, 999: 0.01 });
  });

  it("refuses stage lengths that are neither fractions nor whole steps", () => {
    for (const warmup of [-0.1, 1.5]) expect(() => learningRateSchedule({ ...cosine, warmup })).toThrow(refused);
  });
});

// Each form written out by hand at its beginning, in its middle and at its end: 1000 steps, warm-up 100, so T = 900.
describe("forms of the decay", () => {
  const at = (shape: DecayShapeInput, rates: Record<number, number>, more: Partial<LearningRateSchedule> = {}): void => {
    expectRates({ steps: 1000, peak: 0.01, warmup: 100, minRatio: 0.1, shape, ...more }, { 0: 0, 50: 0.005, ...rates });
  };

  it("linear", () => {
    at("linear", { 100: 0.01, 550: 0.0055, 1000: 0.001 });
  });

  it("cosine with an exponent", () => {
    at({ shape: "cosine", exponent: 2 }, { 100: 0.01, 550: 0.01 * (0.9 * 0.25 + 0.1), 1000: 0.001 });
    at({ shape: "cosine", exponent: 1 }, { 325: 0.008681981 });
  });

  it("polynomial", () => {
    at("polynomial", { 100: 0.01, 550: 0.01 * (0.9 * 0.25 + 0.1), 1000: 0.001 });
    at({ shape: "polynomial", power: 3 }, { 550: 0.01 * (0.9 * 0.125 + 0.1) });
  });

  it("inverse square root, which counts the warm-up", () => {
    at({ shape: "inv_sqrt", timescale: 400 }, { 100: 0.01, 400: 0.01, 500: 0.01 * Math.sqrt(400 / 500), 900: 0.01 * (2 / 3) });
    at("inv_sqrt", { 100: 0.01, 1000: 0.01 });
    at("inv_sqrt", { 10_000: 0.01, 40_000: 0.005 }, { steps: 40_000 });
    expect(learningRateSchedule({ steps: 4_000_000, peak: 0.01, warmup: 100, minRatio: 0.25, shape: "inv_sqrt" })(1_000_000)).toBe(0.0025);
  });

  it("inverse", () => {
    at("inv", { 101: 0.01 / (9 / 900 + 1), 100: 0.01 / (9 / 900 + 1), 550: 0.01 / 5.5, 1000: 0.001 });
    expect(() => learningRateSchedule({ steps: 10, peak: 1, warmup: 0, minRatio: 0, shape: "inv" })).toThrow(/above 0/);
  });

  it("inverse square root of the share of the decay", () => {
    at("inv_sqrt_decay", { 100: 0.01, 550: 0.01 / Math.sqrt(15.3), 1000: 0.01 / Math.sqrt(29.6) });
    at({ shape: "inv_sqrt_decay", c: 1e6 }, { 1000: 0.001 });
  });

  it("power of the tokens seen", () => {
    const sizes = { batchSize: 16, sequenceLength: 128 };
    const rate = (t: number, a = 4.6, b = -0.51): number => 16 * a * (t * 16 * 128) ** b;
    at({ shape: "power", a: 0.01, b: -0.3 }, { 100: 0.01, 600: rate(500, 0.01, -0.3), 1000: rate(900, 0.01, -0.3) }, sizes);
    at("power", { 100: 0.01, 40_000: rate(39_900) }, { ...sizes, steps: 40_000 });
    expect(() => learningRateSchedule({ steps: 10, peak: 1, warmup: 0, minRatio: 0, shape: "power" })).toThrow(/"power" needs one batchSize/);
  });
});

describe("cycles", () => {
  // The cycles' ends show in a line that falls to 0 before each of them.
  const ends = (schedule: Partial<LearningRateSchedule>, steps = 1000): number[] => {
    const rate = learningRateSchedule({ steps, peak: 1, warmup: 0, minRatio: 0, shape: "linear", ...schedule });
    return Array.from({ length: steps }, (_, i) => i + 1).filter((step) => step === steps || rate(step) > rate(step - 1));
  };

  it("are equal, end at given steps, or have given lengths", () => {
    expect(ends({})).toEqual([1000]);
    expect(ends({ cycles: 3 })).toEqual([333, 666, 1000]);
    expect(ends({ cycles: [300, 700] })).toEqual([300, 700, 1000]);
    expect(ends({ cycles: [300, 1000] })).toEqual([300, 1000]);
    expect(ends({ cycleLength: [300, 400] })).toEqual([300, 700, 1000]);
    expect(ends({ cycleLength: 250 })).toEqual([250, 500, 750, 1000]);
    expect(ends({ cycleLength: 0.25 })).toEqual([250, 500, 750, 1000]);
    expect(ends({ cycleLength: 5000 })).toEqual([1000]);
  });

  it("of one length leave the remainder to the last, which is longer by it", () => {
    expect(ends({ cycleLength: 300 })).toEqual([300, 600, 1000]);
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.integer({ min: 2, max: 300 }), (steps, cycleLength) => {
        const found = ends({ cycleLength }, steps);
        expect(found).toHaveLength(Math.max(1, Math.floor(steps / cycleLength)));
        const last = steps - (found.at(-2) ?? 0);
        if (steps >= cycleLength) expect(last).toBe(cycleLength + (steps % cycleLength));
      }),
    );
  });

  it("must ascend and stay in the run", () => {
    for (const cycles of [[700, 300], [300, 300], [300, 1001], [0, 5], [2.5]]) expect(() => ends({ cycles })).toThrow(refused);
    expect(() => ends({ cycleLength: [600, 600] })).toThrow(refused);
    expect(() => ends({ cycles: 2000 })).toThrow(refused);
    expect(() => ends({ cycles: 2, cycleLength: 500 })).toThrow(/either cycles or cycleLength/);
  });
});

const stageLength = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 500 }));
const anySchedule = fc.record({
  steps: fc.integer({ min: 1, max: 400 }),
  peak: fc.double({ min: 1e-6, max: 10, noNaN: true }),
  warmup: stageLength,
  decay: fc.option(stageLength, { nil: undefined }),
  rewarmup: fc.option(stageLength, { nil: undefined }),
  minRatio: fc.double({ min: 0.001, max: 1, noNaN: true }),
  shape: fc.constantFrom(...DECAY_SHAPES),
  cycleLength: fc.option(fc.integer({ min: 2, max: 500 }), { nil: undefined }),
  batchSize: fc.constant(8),
  sequenceLength: fc.constant(64),
});

describe("laws of every schedule", () => {
  it("the rate is from 0 to the peak, never under the lowest where nothing warms up, and stays after the run", () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        const rate = learningRateSchedule(schedule);
        const slack = 1e-12 * schedule.peak;
        for (let step = 0; step <= schedule.steps + 3; step++) {
          expect(rate(step)).toBeGreaterThanOrEqual(0);
          expect(rate(step)).toBeLessThanOrEqual(schedule.peak + slack);
        }
        if (schedule.warmup === 0 && schedule.shape !== "power") {
          for (let step = 0; step <= schedule.steps; step++) expect(rate(step)).toBeGreaterThanOrEqual(schedule.minRatio * schedule.peak - slack);
        }
        expect(rate(schedule.steps + 1000)).toBe(rate(schedule.steps));
      }),
    );
  });

  it("stages join without a jump, in one cycle", () => {
    fc.assert(
      fc.property(anySchedule, fc.constantFrom("linear", "cosine", "polynomial", "constant"), fc.integer({ min: 20, max: 200 }), (drawn, shape, length) => {
        // Warm-up and decay of at least `length` steps: no step changes the rate by more than the steepest form allows, π/2 or the power's 2 over the length.
        const schedule = { ...drawn, steps: 3 * length, warmup: length, decay: length, cycleLength: undefined, shape };
        const rate = learningRateSchedule(schedule);
        for (let step = 1; step <= schedule.steps; step++) {
          expect(Math.abs(rate(step) - rate(step - 1))).toBeLessThanOrEqual((2 / length) * schedule.peak + 1e-12);
        }
        expect(rate(length)).toBe(schedule.peak);
        expect(rate(2 * length)).toBeCloseTo(schedule.peak, 9);
      }),
    );
  });

  it("a fraction is the number of steps that it comes to", () => {
    fc.assert(
      fc.property(anySchedule, fc.integer({ min: 2, max: 100 }), (drawn, percent) => {
        const schedule = { ...drawn, steps: 400, cycleLength: undefined };
        const fraction = learningRateSchedule({ ...schedule, warmup: percent / 100, decay: percent / 100 });
        const steps = Math.trunc((percent / 100) * 400);
        const counted = learningRateSchedule({ ...schedule, warmup: steps, decay: steps });
        for (let step = 0; step <= 400; step++) expect(fraction(step)).toBe(counted(step));
      }),
    );
  });

  it("does not rise in a decay, nor fall in a warm-up", () => {
    fc.assert(
      fc.property(anySchedule, (drawn) => {
        const schedule = { ...drawn, steps: 300, warmup: 100, decay: 100, cycleLength: undefined };
        const rate = learningRateSchedule(schedule);
        for (let step = 1; step <= 300; step++) {
          const change = rate(step) - rate(step - 1);
          if (step <= 100) expect(change).toBeGreaterThan(0);
          else expect(change).toBeLessThanOrEqual(1e-15);
        }
      }),
    );
  });
});
