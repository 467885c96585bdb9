import { describe, expect, it } from "vitest";
import { z } from "zod";
import { batchSizeSchema } from "../data/batch-schedule.js";
import { learningRateOf, optimizerFields, scheduleFields } from "./optimizer-config.js";

const schema = z.strictObject({ ...scheduleFields, ...optimizerFields, steps: z.int().default(1000), batchSize: batchSizeSchema.default(8), sequenceLength: z.int().default(128) });

describe("learningRateOf", () => {
  it("is by default a warm-up of 1 % and a cosine to a tenth", () => {
    const rate = learningRateOf(schema.parse({}));
    expect([0, 5, 10, 505, 1000].map(rate).map((x) => x / 6e-4)).toEqual([0, 0.5, 1, expect.closeTo(0.55, 9), expect.closeTo(0.1, 9)]);
  });

  it("takes a form by its name or with parameters", () => {
    const at = (schedule: unknown, step: number): number => learningRateOf(schema.parse({ schedule, warmup: 0, learningRate: 1, minLearningRateRatio: 0 }))(step);
    expect(at("cosine", 500)).toBeCloseTo(0.5, 9);
    expect(at({ shape: "cosine" }, 500)).toBeCloseTo(0.5, 9);
    expect(at({ shape: "cosine", exponent: 3 }, 500)).toBeCloseTo(0.125, 9);
    expect(at("power", 10)).toBeCloseTo(Math.min(1, 8 * 4.6 * (10 * 8 * 128) ** -0.51), 9);
    expect(() => learningRateOf(schema.parse({ schedule: "power", batchSize: [{ start: 0, value: 4 }] }))).toThrow(/one batchSize/);
  });

  it("takes cycles", () => {
    const rate = learningRateOf(schema.parse({ cycles: [300, 700], decay: 0.1, learningRate: 1e-3 }));
    expect([285, 300, 680].map(rate)).toEqual([5.5e-4, 1e-3, 5.5e-4].map((x) => expect.closeTo(x, 9) as number));
  });
});

it.each([
  { schedule: "cosin" },
  { schedule: { shape: "cosine", power: 2 } },
  { schedule: { shape: "polynomial", power: 0 } },
  { warmup: 1.5 },
  { cycleLength: 1.5 },
  { cycles: [] },
  { emaBeta: 1 },
  { skipBadSteps: { rollingLength: 1 } },
  { weightDecayModules: [] },
])("refuses %j", (config) => {
  expect(schema.safeParse(config).success).toBe(false);
});

it("says which schedules there are", () => {
  expect(schema.safeParse({ schedule: "cosin" }).error?.issues[0]?.message).toMatch(/one of cosine, linear, constant, .* or \{ shape/);
});
