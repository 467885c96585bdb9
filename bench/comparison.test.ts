import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { calibrationVoids, productPeak } from "./calibration.js";
import { compare, lossesDiffer, summarize, type Side } from "./comparison.js";
import type { TrainReport } from "./peers/protocol.js";
import { median, minimum } from "./statistics.js";

const work = { tokensPerStep: 1024, flopsPerToken: 1e6, peakFlops: 1e11 };

function reportOf(stepMilliseconds: number[], peakBytes: number, more: Partial<TrainReport> = {}): TrainReport {
  return { version: "test", threads: 1, losses: [5, 4, 3, 2, 1], stepMilliseconds, peakBytes, ...more };
}

const slow = summarize([reportOf([900, 200, 220], 400), reportOf([800, 240, 260], 300)], 1, work);
const fast = summarize([reportOf([500, 100, 120], 200)], 1, work);

test("the median is the middle of the sorted values, whatever their order", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 1 }), (values) => {
      const [middle, least] = [median(values), minimum(values)];
      expect(values.filter((value) => value < middle).length).toBeLessThanOrEqual(values.length / 2);
      expect(values.filter((value) => value > middle).length).toBeLessThanOrEqual(values.length / 2);
      expect(values.every((value) => value >= least)).toBe(true);
      expect(values).toContain(least);
    }),
  );
  expect(median([3, 1, 2, 10])).toBe(2.5);
  expect([median([]), minimum([])]).toEqual([Number.NaN, Infinity]);
});

describe("a side of a training comparison", () => {
  it("takes medians and minima over all rounds without their warm-up, and the largest peak", () => {
    expect(slow).toMatchObject({ medianMilliseconds: 230, minimumMilliseconds: 200, peakBytes: 400, firstStepMilliseconds: 850 });
    expect(slow.tokensPerSecond).toBeCloseTo(1024 / 0.23);
  });

  it("states the model's operations per second as a fraction of the best product, where one was measured", () => {
    expect(fast.fractionOfPeak).toBeCloseTo((1024 * 1e6) / 0.11 / 1e11);
    expect(summarize([reportOf([1], 1)], 0, { ...work, peakFlops: undefined }).fractionOfPeak).toBeNull();
  });

  it("states the time to compile: as reported, or what the first step took longer, or none", () => {
    const compile = (...reports: TrainReport[]): number | null => summarize(reports, 1, work).compileMilliseconds;
    expect(compile(reportOf([500, 100], 1, { compileMilliseconds: 70 }), reportOf([500, 100], 1, { compileMilliseconds: 90 }))).toBe(80);
    expect(compile(reportOf([500, 100, 120], 1, { compilesInFirstStep: true }))).toBe(390);
    expect(compile(reportOf([500, 100], 1))).toBeNull();
  });

  it("states the share of a step outside compiled programs, and each program's time", () => {
    const side = summarize([reportOf([900, 100, 200], 1, { outsideMilliseconds: [500, 2, 2], programMilliseconds: { gradients: [400, 90, 190] } })], 1, work);
    expect(side.outsideShare).toBeCloseTo(0.015);
    expect(side.programs).toEqual({ gradients: 140 });
    expect([slow.outsideShare, slow.programs]).toEqual([null, null]);
  });
});

describe("a training comparison", () => {
  it("states speed so that more is better, memory so that less is", () => {
    const { speedByMedian, speedByMinimum, memory } = compare(fast, slow);
    expect([speedByMedian, speedByMinimum, memory]).toEqual([230 / 110, 2, 0.5]);
  });

  it("is invalid when one of the first five losses differs by more than 1e-3, is not a number or is missing", () => {
    const side = (losses: number[]): Side => summarize([reportOf([1], 1, { losses })], 0, work);
    expect(lossesDiffer(side([5, 4, 3, 2, 1]), side([5, 4, 3, 2.0009, 1, 7]))).toBeUndefined();
    expect(lossesDiffer(side([5, 4, 3, 2, 1]), side([5, 4, 3, 2.0011, 1]))).toContain("step 3");
    expect(lossesDiffer(side([5, 4, Number.NaN, 2, 1]), side([5, 4, Number.NaN, 2, 1]))).toContain("step 2");
    expect(lossesDiffer(side([5, 4]), side([5, 4]))).toContain("fewer than 5");
  });
});

describe("the calibration", () => {
  const engine = { oneThread: 100, twoThreads: 170 };
  const torch = { oneThread: 110, twoThreads: 165 };

  it("voids rows of two threads when a product scales below 1.6, or was not measured", () => {
    expect(calibrationVoids({ engine, torch }, 1)).toBeUndefined();
    expect(calibrationVoids({ engine, torch }, 2)).toContain("1.50 times");
    expect(calibrationVoids({ engine }, 2)).toBeUndefined();
    expect(calibrationVoids({ engine: { oneThread: 100, twoThreads: Number.NaN } }, 2)).toContain("not idle");
  });

  it("gives the better of both products as the peak, for the threads in use", () => {
    expect(productPeak({ engine, torch }, 1)).toBe(110e9);
    expect(productPeak({ engine, torch }, 2)).toBe(170e9);
    expect(productPeak({ engine }, 1)).toBe(100e9);
    expect(productPeak({ engine }, 4)).toBeUndefined();
  });
});
