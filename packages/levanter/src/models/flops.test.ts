import { describe, expect, it } from "vitest";
import { devicePeakFlops, modelFlopsUtilization } from "./device-peaks.js";
import { forwardFlopsPerToken, parameterCount, trainingFlopsPerToken, type TransformerShape } from "./flops.js";
import { gpt2 } from "./gpt2.js";
import type { LanguageModel } from "./language-model.js";

function shapeOf(model: LanguageModel): TransformerShape {
  if (model.transformer === undefined) throw new Error(`${model.type} has no shape`);
  return model.transformer;
}

function expectFigure(actual: number, published: number): void {
  expect(Math.abs(actual / published - 1)).toBeLessThan(1e-6);
}

describe("counts agree with published figures", () => {
  it("for GPT-2 124M", () => {
    const model = gpt2({ vocabSize: 50_257 });
    expectFigure(parameterCount(model.parameters), 124_439_808);
    expectFigure(forwardFlopsPerToken(shapeOf(model), 1024), 285_255_168);
    expectFigure(trainingFlopsPerToken(shapeOf(model), 1024), 855_765_504);
  });

  it("for levanter's gpt2_nano", () => {
    expectFigure(forwardFlopsPerToken(shapeOf(gpt2({ vocabSize: 50_257, hiddenSize: 32, heads: 4, layers: 2 })), 1024), 3_552_320);
  });
});

describe("utilization", () => {
  it("is what the model needs over what the device could do", () => {
    const step = { flopsPerToken: 855_765_504, tokens: 512 * 1024, seconds: 1, peakFlops: 989.5e12 };
    expect(modelFlopsUtilization(step)).toBeCloseTo(45.3425, 3);
    expect(modelFlopsUtilization({ ...step, devices: 2 })).toBeCloseTo(45.3425 / 2, 3);
  });

  it.each([
    ["NVIDIA H100 80GB HBM3", 989.5e12],
    ["NVIDIA H100 PCIe", 756.5e12],
    ["h200", 989.5e12],
    ["NVIDIA A100-SXM4-80GB", 312e12],
    ["NVIDIA A10G", 70e12],
    ["TPU v4", 275e12],
    ["v5p-8", 459e12],
    ["TPU v5 lite", 197e12],
    ["AMD EPYC 9B14", undefined],
  ])("knows the peak of %s", (name, peak) => {
    expect(devicePeakFlops(name)).toBe(peak);
  });
});
