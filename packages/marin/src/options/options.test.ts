import { isMarinError } from "@marin/rigging";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { optionFields } from "./fields.js";
import { nearest, nearestPath } from "./nearest.js";
import { withPresets } from "./presets.js";
import { resolveOptions } from "./resolve.js";

const train = z.strictObject({
  steps: z.int().min(1).default(300).describe("Optimizer steps."),
  learningRate: z.number().positive().default(1e-3).describe("Peak learning rate."),
  engine: z.enum(["auto", "cpu"]).default("auto").describe("What computes."),
  shuffle: z.boolean().default(true).describe("Shuffle."),
  clip: z.number().positive().nullable().default(1).describe("Largest gradient norm."),
});
const schema = z.strictObject({
  documents: z.strictObject({ source: z.string().min(1).default("builtin").describe("Where text comes from.") }),
  train: withPresets(train, { quick: { steps: 200 }, long: { steps: 6000, learningRate: 5e-4 } }, "quick"),
  sample: z
    .strictObject({ prompt: z.string().default("").describe("Start."), threads: z.union([z.literal("auto"), z.int().min(1)]).default("auto").describe("Threads.") })
    .refine((s) => s.prompt !== "x", { path: ["prompt"], error: "x is no prompt" }),
});

function failure(...assignments: string[]): { code: string; message: string } {
  try {
    resolveOptions(schema, assignments);
  } catch (error) {
    if (isMarinError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("resolved, though it should not");
}

describe("resolveOptions", () => {
  it("fills defaults, the default preset's values in place of the schema's", () => {
    expect(resolveOptions(schema, [])).toEqual({
      documents: { source: "builtin" },
      train: { steps: 200, learningRate: 1e-3, engine: "auto", shuffle: true, clip: 1 },
      sample: { prompt: "", threads: "auto" },
    });
  });

  it("types values by the schema", () => {
    const options = resolveOptions(schema, [
      "documents.source=./a=b",
      "train.learningRate=3e-4",
      "train.shuffle=false",
      "train.engine=cpu",
      "train.clip=null",
      "sample.prompt=12",
      "sample.threads=2",
    ]);
    expect(options.documents.source).toBe("./a=b");
    expect(options.train).toMatchObject({ learningRate: 3e-4, shuffle: false, engine: "cpu", clip: null });
    expect(options.sample).toEqual({ prompt: "12", threads: 2 });
  });

  it("lets what is set win over the preset, in any order", () => {
    for (const assignments of [
      ["train.preset=long", "train.steps=7"],
      ["train.steps=7", "train.preset=long"],
    ]) {
      expect(resolveOptions(schema, assignments).train).toMatchObject({ steps: 7, learningRate: 5e-4 });
    }
  });

  it("takes the last of two assignments of one option", () => {
    expect(resolveOptions(schema, ["train.steps=7", "train.steps=8"]).train.steps).toBe(8);
  });

  it("names the nearest path for an unknown one", () => {
    expect(failure("train.step=3")).toEqual({ code: "MARIN_UNKNOWN_OPTION", message: expect.stringContaining("did you mean train.steps?") as string });
    expect(failure("steps=3").message).toContain("did you mean train.steps?");
    expect(failure("train.lerningRate=3").message).toContain("did you mean train.learningRate?");
    expect(failure("train=3").message).toContain("it is a section; set one of train.preset, train.steps");
  });

  it.each([
    ["train.steps=many", 'expected integer from 1, got "many"'],
    ["train.steps=2.5", 'expected integer from 1, got "2.5"'],
    ["train.steps=0", 'expected integer from 1, got "0"'],
    ["train.steps=", 'expected integer from 1, got ""'],
    ["train.learningRate=NaN", 'expected number above 0, got "NaN"'],
    ["train.shuffle=yes", 'expected boolean, got "yes"'],
    ["train.engine=gpu", 'expected auto | cpu, got "gpu"'],
    ["train.preset=slow", 'expected quick | long, got "slow"'],
    ["sample.threads=some", 'expected auto | integer from 1, got "some"'],
    ["documents.source=", 'expected non-empty text, got ""'],
    ["sample.prompt=x", "sample.prompt: x is no prompt"],
    ["train.steps", "expected path.to.option=value"],
  ])("refuses %s", (assignment, message) => {
    expect(failure(assignment)).toEqual({ code: "MARIN_OPTION_VALUE", message: expect.stringContaining(message) as string });
  });
});

describe("optionFields", () => {
  it("lists every option with type, default, description and the presets' defaults", () => {
    const fields = optionFields(schema).map(({ path, type, default: value, presetDefaults }) => [path, type, value, presetDefaults]);
    expect(fields).toEqual([
      ["documents.source", "non-empty text", "builtin", {}],
      ["train.preset", "quick | long", "quick", {}],
      ["train.steps", "integer from 1", 200, { long: 6000 }],
      ["train.learningRate", "number above 0", 1e-3, { long: 5e-4 }],
      ["train.engine", "auto | cpu", "auto", {}],
      ["train.shuffle", "boolean", true, {}],
      ["train.clip", "number above 0 | null", 1, {}],
      ["sample.prompt", "text", "", {}],
      ["sample.threads", "auto | integer from 1", "auto", {}],
    ]);
    expect(optionFields(schema).every((field) => field.description !== "")).toBe(true);
  });
});

describe("presets of a section that holds sections", () => {
  const nested = z.strictObject({
    train: withPresets(
      z.strictObject({
        steps: z.int().default(1).describe("Steps."),
        optimizer: z.strictObject({ rate: z.number().default(1).describe("Rate."), beta: z.number().default(0.9).describe("Beta.") }).prefault({}),
        labels: z.record(z.string(), z.int()).default({ a: 1 }).describe("Labels."),
      }),
      { quick: { optimizer: { rate: 2 }, labels: { b: 2 } }, long: { steps: 9, optimizer: { rate: 3, beta: 0.5 } } },
      "quick",
    ),
  });

  it("set fields inside them, and only those that are not given", () => {
    expect(resolveOptions(nested, [])).toEqual({ train: { steps: 1, optimizer: { rate: 2, beta: 0.9 }, labels: { b: 2 } } });
    expect(resolveOptions(nested, ["train.optimizer.beta=0.1", 'train.labels={"c":3}'])).toEqual({ train: { steps: 1, optimizer: { rate: 2, beta: 0.1 }, labels: { c: 3 } } });
    expect(resolveOptions(nested, ["train.preset=long", "train.optimizer.rate=4"]).train).toMatchObject({ steps: 9, optimizer: { rate: 4, beta: 0.5 } });
  });

  it("are told field by field", () => {
    expect(optionFields(nested).map(({ path, default: value, presetDefaults }) => [path, value, presetDefaults])).toEqual([
      ["train.preset", "quick", {}],
      ["train.steps", 1, { long: 9 }],
      ["train.optimizer.rate", 2, { long: 3 }],
      ["train.optimizer.beta", 0.9, { long: 0.5 }],
      ["train.labels", { b: 2 }, {}],
    ]);
  });

  it("are known by their own names only", () => {
    expect(() => nested.parse({ train: { preset: "constructor" } })).toThrow(/quick/);
  });
});

describe("nearest", () => {
  it("finds the candidate with the fewest edits", () => {
    expect(nearest("frst-lm", ["ten-lines", "first-lm"])).toBe("first-lm");
    expect(nearest("x", [])).toBeUndefined();
    expect(nearestPath("model.steps", ["model.layers", "train.steps", "sample.tokens"])).toBe("train.steps");
  });
});
