import { describe, expect, it } from "vitest";
import { learningRateSchedule, type LearningRateSchedule } from "./learning-rate.js";

function expectRates(schedule: LearningRateSchedule, rates: Record<number, number>): void {
  const rate = learningRateSchedule(schedule);
  for (const [step, expected] of Object.entries(rates)) {
    expect(Math.abs(rate(Number(step)) - expected), `step ${step}`).toBeLessThan(1e-6 * schedule.peak);
  }
}

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
    for (const warmup of [-0.1, 1.5]) {
      expect(() => learningRateSchedule({ ...cosine, warmup })).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG" }));
    }
  });
});
