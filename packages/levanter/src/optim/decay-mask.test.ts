import { describe, expect, it } from "vitest";
import { gpt2 } from "../models/gpt2.js";
import { adamcWeightDecay, decayedParameters } from "./decay-mask.js";

const model = gpt2({ vocabSize: 16, sequenceLength: 4, hiddenSize: 8, layers: 1, heads: 2 });
const PRODUCTS = ["h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight", "h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight"];

describe("decayedParameters", () => {
  it("are by default products' weights: no embeddings, norms and biases; sorted", () => {
    expect(decayedParameters(model)).toEqual(PRODUCTS);
  });

  it("are those whose names an expression matches from the beginning", () => {
    expect(decayedParameters(model, { weightDecayModules: "wte|h\\.\\d+\\.mlp.*weight" })).toEqual(["h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight", "wte.weight"]);
    expect(() => decayedParameters(model, { weightDecayModules: "mlp" })).toThrow(/"mlp" matches no parameter/);
  });

  it("are those whose names hold one of some parts", () => {
    expect(decayedParameters(model, { weightDecayModules: ["c_fc", "ln_f"] })).toEqual(["h.0.mlp.c_fc.bias", "h.0.mlp.c_fc.weight", "ln_f.bias", "ln_f.weight"]);
  });

  it("are both, where the model's rule is asked for as well", () => {
    expect(decayedParameters(model, { weightDecayModules: ["wte"], defaultWeightDecayMask: true })).toEqual([...PRODUCTS, "wte.weight"]);
  });

  it("refuses what names nothing: a misspelt name must not switch decay off", () => {
    for (const weightDecayModules of ["nothing", ["c_fc", "atn"], "h.(0"]) {
      expect(() => decayedParameters(model, { weightDecayModules })).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG" }));
    }
  });
});

it("AdamC's decay follows the rate", () => {
  expect(adamcWeightDecay(0.1, 6e-4, 6e-4)).toBeCloseTo(0.1, 12);
  expect(adamcWeightDecay(0.1, 3e-4, 6e-4)).toBeCloseTo(0.05, 12);
  expect(adamcWeightDecay(0.1, 0, 0)).toBe(0);
});
