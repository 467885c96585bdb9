import { expect, it } from "vitest";
import { evaluate } from "../../test/reference/evaluate.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { elementCount } from "../engine/shape.js";
import type { TensorData } from "../engine/types.js";
import { RandomKey } from "../rng/random-key.js";
import { gpt2 } from "./gpt2.js";
import { llama } from "./llama.js";
import { buildModel, modelConfigSchema, type ModelPreset } from "./model-config.js";

it.each<[ModelPreset, number]>([
  // As published for GPT-2's vocabulary.
  ["gpt2-small", 124_439_808],
  ["gpt2-medium", 354_823_168],
  ["gpt2-large", 774_030_080],
  ["gpt2-xl", 1_557_611_200],
])("%s has %i parameters", (name, count) => {
  const model = buildModel(name, 50_257);
  expect(Object.values(model.parameters).reduce((sum, { shape }) => sum + elementCount(shape), 0)).toBe(count);
  expect(model.maxSequenceLength).toBe(1024);
});

it("builds a model from its fields, with the tokens' vocabulary where none is given", () => {
  const fields = { layers: 1, hiddenSize: 8, heads: 2, sequenceLength: 16 };
  expect(buildModel(modelConfigSchema.parse(fields), 40).config).toEqual(gpt2({ ...fields, vocabSize: 40 }).config);
  expect(buildModel(modelConfigSchema.parse({ ...fields, vocabSize: 64 }), 40).vocabSize).toBe(64);
});

it("builds a Llama by name or from its fields", () => {
  const fields = { type: "llama", layers: 1, hiddenSize: 8, intermediateSize: 12, heads: 2, keyValueHeads: 1, sequenceLength: 16, ropeScaling: "llama3", dropout: 0.1 } as const;
  const { type: _type, ...shape } = fields;
  expect(buildModel(modelConfigSchema.parse(fields), 40).config).toEqual(llama({ ...shape, vocabSize: 40 }).config);
  expect(buildModel("llama-mini", 8192)).toMatchObject({ type: "llama", maxSequenceLength: 512, transformer: { keyValueHeads: 2, gated: true } });
});

it.each([{ type: "llama", heads: 4, keyValueHeads: 3, hiddenSize: 16 }, { type: "llama", layerNormEpsilon: 1e-5 }, { type: "gpt2", keyValueHeads: 1 }, { type: "bigram" }])("refuses %j", (fields) => {
  expect(modelConfigSchema.safeParse(fields).success).toBe(false);
});

it.each(["gpt2-nano", "llama-nano"] as const)("%s gives a prefix's logits whatever follows, and however long the row is", async (name) => {
  const model = buildModel(name, 50);
  const engine = await OnnxEngine.create({ threads: 1 });
  const parameters = model.initialize(RandomKey.fromSeed(7));
  const named = Object.fromEntries(Object.entries(parameters).map(([name, data]) => [name, { shape: model.parameters[name]?.shape ?? [], data }]));
  const logitsOf = async (tokens: number[]): Promise<TensorData> => {
    const { logits } = await evaluate(engine, model.logits, { ...named, tokens: { shape: [1, tokens.length], data: Int32Array.from(tokens) } });
    return logits ?? new Float32Array();
  };
  const text = Array.from({ length: 40 }, (_unused, index) => (index * 7) % 50);
  const [whole, part] = [await logitsOf(text), await logitsOf(text.slice(0, 9))];
  const worst = Math.max(...Array.from(part, (value, index) => Math.abs(value - (whole[index] as number))));
  expect(worst).toBeLessThan(1e-5);
  await engine.dispose();
});
