import { describe, expect, it } from "vitest";
import { calibrationVoids } from "./calibration.js";
import { compare, lossesDiffer, summarize } from "./comparison.js";
import type { TrainReport } from "./peers/protocol.js";
import { formatTrainRow } from "./table.js";

function reportOf(stepMilliseconds: number[], peakBytes: number, losses = [5, 4, 3, 2, 1]): TrainReport {
  return { version: "test", threads: 1, losses, stepMilliseconds, peakBytes };
}

const slow = summarize([reportOf([900, 200, 220], 400), reportOf([800, 240, 260], 300)], 1, 1024);
const fast = summarize([reportOf([500, 100, 120], 200)], 1, 1024);

describe("a training comparison", () => {
  it("takes medians and minima over all rounds without their warm-up, and the largest peak", () => {
    expect(slow).toMatchObject({ medianMilliseconds: 230, minimumMilliseconds: 200, peakBytes: 400 });
    expect(slow.tokensPerSecond).toBeCloseTo(1024 / 0.23);
  });

  it("states speed so that more is better, memory so that less is", () => {
    const { speedByMedian, speedByMinimum, memory } = compare(fast, slow);
    expect([speedByMedian, speedByMinimum, memory]).toEqual([230 / 110, 2, 0.5]);
  });

  it("is void when one of the first five losses differs by more than 1e-3, is not a number or is missing", () => {
    const side = (losses: number[]): typeof fast => summarize([reportOf([1], 1, losses)], 0, 1);
    expect(lossesDiffer(side([5, 4, 3, 2, 1]), side([5, 4, 3, 2.0009, 1, 7]))).toBeUndefined();
    expect(lossesDiffer(side([5, 4, 3, 2, 1]), side([5, 4, 3, 2.0011, 1]))).toContain("step 3");
    expect(lossesDiffer(side([5, 4, Number.NaN, 2, 1]), side([5, 4, Number.NaN, 2, 1]))).toContain("step 2");
    expect(lossesDiffer(side([5, 4]), side([5, 4]))).toContain("fewer than 5");
  });

  it("is void on two threads when a calibration product scales below 1.6", () => {
    const calibration = { engine: { oneThread: 100, twoThreads: 170 }, torch: { oneThread: 100, twoThreads: 150 } };
    expect(calibrationVoids(calibration, 1)).toBeUndefined();
    expect(calibrationVoids(calibration, 2)).toContain("1.50 times");
    expect(calibrationVoids({ engine: calibration.engine }, 2)).toBeUndefined();
  });

  it("prints a void row as void, and why a peer was not measured", () => {
    const workload = {
      shape: { vocabulary: 16, width: 8, layers: 1, heads: 2, batch: 2, length: 4 },
      optimizer: { learningRate: 0, beta1: 0, beta2: 0, epsilon: 0, weightDecay: 0, clipNorm: 0 },
      parameters: [],
    };
    const head = { benchmark: "train", peer: "torch", threads: 1 } as const;
    const calibration = { engine: { oneThread: 100, twoThreads: 200 } };
    expect(formatTrainRow({ ...head, void: "losses differ", calibration, ...compare(fast, slow) }, workload)).toContain("VOID: losses differ");
    expect(formatTrainRow({ ...head, unmeasured: "no PyTorch" }, workload)).toContain("unmeasured: no PyTorch");
  });
});
