import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectClose, expectNormClose } from "../../test/reference/closeness.js";
import { evaluate, specsOf, type HostTensor } from "../../test/reference/evaluate.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { trace } from "../engine/trace.js";
import type { Engine, TensorFunction } from "../engine/types.js";
import { dropoutMasks } from "../rng/dropout.js";
import { RandomKey } from "../rng/random-key.js";
import { gpt2 } from "./gpt2.js";
import { lossAndGradients, type LanguageModel } from "./language-model.js";
import { llama } from "./llama.js";

const rows = { batchSize: 2, sequenceLength: 12 };
const V = 37;
const MODELS: Readonly<Record<string, (options: object) => LanguageModel>> = {
  "GPT-2": (options) => gpt2({ vocabSize: V, sequenceLength: 12, hiddenSize: 16, layers: 2, heads: 2, ...options }),
  Llama: (options) => llama({ vocabSize: V, sequenceLength: 12, hiddenSize: 16, intermediateSize: 24, layers: 2, heads: 4, keyValueHeads: 2, ...options }),
};

describe.each(Object.entries(MODELS))("%s", (_name, create) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await OnnxEngine.create({ threads: 1 });
  });
  afterAll(() => engine.dispose());

  const plain = create({});
  const inputs: Record<string, HostTensor> = {};
  // Weights so large that caps and normalisers matter.
  const factor = plain.type === "gpt2" ? 4 : 1;
  for (const [name, data] of Object.entries(plain.initialize(RandomKey.fromSeed(3)))) inputs[name] = { shape: plain.parameters[name]?.shape ?? [], data: data.map((value) => value * factor) };
  const shape = [rows.batchSize, rows.sequenceLength];
  const sequence = (step: number): Int32Array => Int32Array.from({ length: 24 }, (_unused, index) => (index * 5 + step) % V);
  inputs["tokens"] = { shape, data: sequence(0) };
  const lossInputs = { ...inputs, targets: { shape, data: sequence(5) }, weights: { shape, data: Float32Array.from({ length: 24 }, (_unused, index) => (index % 3) / 2) } };
  const masksOf = (model: LanguageModel, step: number): Record<string, HostTensor> => {
    const masks = dropoutMasks(RandomKey.fromSeed(step), model.regularization?.sites(rows) ?? {}, { first: 0, count: rows.batchSize });
    return Object.fromEntries(Object.entries(masks).map(([name, data]) => [name, { shape: model.regularization?.specs(rows)[name]?.shape ?? [], data }]));
  };
  const first = async (fn: TensorFunction, given: Record<string, HostTensor>): Promise<number> => (await evaluate(engine, fn, given))["lossSum"]?.[0] ?? Number.NaN;

  it("records an option in checkpoints only where it is set", () => {
    expect(Object.keys(plain.config)).not.toContain("dropout");
    expect(create({ dropout: 0, zLossWeight: 0, logitSoftCap: 0, lossBlockSize: 0, recompute: true }).config).toEqual(plain.config);
    expect(create({ dropout: 0.1, lossBlockSize: 8 }).config).toEqual({ ...plain.config, dropout: 0.1, lossBlockSize: 8 });
  });

  it("drops in training alone, at the embedding and twice in each block", async () => {
    const model = create({ dropout: 0.25 });
    const masks = masksOf(model, 0);
    expect(Object.keys(masks)).toHaveLength(5);
    expect(await first(model.loss, lossInputs)).toBe(await first(plain.loss, lossInputs));
    const ones = Object.fromEntries(Object.entries(masks).map(([name, mask]) => [name, { ...mask, data: new Float32Array(mask.data.length).fill(1) }]));
    const train = (given: Record<string, HostTensor>): Promise<number> => first(lossAndGradients(model), { ...lossInputs, ...given });
    expect(Math.abs((await train(ones)) - (await first(plain.loss, lossInputs)))).toBeLessThan(1e-4);
    expect(await train(masks)).toBe(await train(masks));
    expect(await train(masksOf(model, 1))).not.toBe(await train(masks));
    for (const name of Object.keys(masks)) expect(await train({ ...ones, [name]: masks[name] as HostTensor })).not.toBe(await train(ones));
    await expect(train({})).rejects.toMatchObject({ code: "LEVANTER_MISSING_INPUT" });
  });

  it("adds z-loss in training alone", async () => {
    const model = create({ zLossWeight: 0.1 });
    const { logits = new Float32Array() } = await evaluate(engine, plain.logits, inputs);
    const weights = lossInputs.weights.data;
    const expected = weights.reduce((sum, weight, row) => {
      const exponentials = Array.from(logits.subarray(row * V, (row + 1) * V), (logit) => Math.exp(logit));
      return sum + weight * 0.1 * Math.log(exponentials.reduce((a, b) => a + b)) ** 2;
    }, await first(plain.loss, lossInputs));
    expect(await first(model.loss, lossInputs)).toBe(await first(plain.loss, lossInputs));
    expectNormClose([await first(lossAndGradients(model), lossInputs)], [expected], 1e-5, "loss");
  });

  it("keeps logits within a cap, in its logits and in its loss", async () => {
    const model = create({ logitSoftCap: 3 });
    const [{ logits: free = [] }, { logits = new Float32Array() }] = [await evaluate(engine, plain.logits, inputs), await evaluate(engine, model.logits, inputs)];
    expectClose(logits, Array.from(free, (logit) => 3 * Math.tanh(logit / 3)), 1e-5, 0, "logits");
    const expected = lossInputs.weights.data.reduce((sum, weight, row) => {
      const own = Array.from(logits.subarray(row * V, (row + 1) * V));
      return sum + weight * (Math.log(own.reduce((a, logit) => a + Math.exp(logit), 0)) - (own[lossInputs.targets.data[row] as number] as number));
    }, 0);
    expectNormClose([await first(model.loss, lossInputs)], [expected], 1e-5, "loss");
  });

  it("has the same loss and gradients to the bit when blocks are computed again, with dropout", async () => {
    const [kept, again] = [create({ dropout: 0.25 }), create({ dropout: 0.25, recompute: true })];
    const given = { ...lossInputs, ...masksOf(kept, 0) };
    const [expected, found] = [await evaluate(engine, lossAndGradients(kept), given), await evaluate(engine, lossAndGradients(again), given)];
    expect(found).toEqual(expected);
    const applied = (model: LanguageModel): number => trace("step", lossAndGradients(model), specsOf(given)).nodes.length;
    expect(applied(again)).toBeGreaterThan(applied(kept));
  });

  it("has the same loss and gradients in blocks of the vocabulary", async () => {
    const [dense, blocks] = [await evaluate(engine, lossAndGradients(plain), lossInputs), await evaluate(engine, lossAndGradients(create({ lossBlockSize: 10 })), lossInputs)];
    for (const [name, values] of Object.entries(dense)) {
      // The gradient of a joint projection's key bias is 0: what is computed is rounding.
      if (!name.endsWith("c_attn.bias")) expectNormClose(blocks[name] ?? [], values, 1e-5, name);
    }
  });
});
