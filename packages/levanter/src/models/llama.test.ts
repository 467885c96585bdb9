import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { evaluate, type HostTensor } from "../../test/reference/evaluate.js";
import { RandomKey } from "../rng/random-key.js";
import { forwardFlopsPerToken, parameterCount, type TransformerShape } from "./flops.js";
import { lossAndGradients } from "./language-model.js";
import { llama, type LlamaConfig } from "./llama.js";

test("a configuration that is not valid is one error naming each field", () => {
  const refused: readonly [object, RegExp][] = [
    [{ vocabSize: 10, hiddenSize: 12, heads: 4 }, /hiddenSize: hiddenSize must be an even multiple of heads/],
    [{ vocabSize: 10, heads: 4, hiddenSize: 16, keyValueHeads: 3 }, /keyValueHeads: keyValueHeads must divide heads/],
    [{ vocabSize: 10, ropeHighFrequencyFactor: 1 }, /ropeHighFrequencyFactor: ropeHighFrequencyFactor must be more/],
    [{ vocabSize: 10, hidenSize: 8 }, /configuration: .*hidenSize/],
  ];
  for (const [config, message] of refused) {
    expect(() => llama(config as LlamaConfig)).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG", message: expect.stringMatching(message) as string }) as Error);
  }
});

describe("Llama 2 7B", () => {
  const model = llama({ vocabSize: 32_000, sequenceLength: 4096, hiddenSize: 4096, intermediateSize: 11_008, layers: 32, heads: 32 });

  it("has its published number of parameters", () => {
    expect(parameterCount(model.parameters)).toBe(6_738_415_616);
  });

  it("needs 1.1408 times the 2 operations per parameter", () => {
    const ratio = forwardFlopsPerToken(model.transformer as TransformerShape, 4096) / (2 * 6_738_415_616);
    expect(ratio).toBeCloseTo(1.1408, 4);
  });

  it("has Hugging Face's names and layouts", () => {
    const names = Object.keys(model.parameters);
    expect(names).toHaveLength(3 + 9 * 32);
    expect(names).toEqual(expect.arrayContaining(["model.embed_tokens.weight", "model.layers.31.self_attn.q_proj.weight", "model.norm.weight", "lm_head.weight"]));
    expect(model.parameters["model.layers.0.mlp.down_proj.weight"]?.shape).toEqual([4096, 11_008]);
    expect(names.filter((name) => !model.isDecayed(name) && !/norm\.weight$|layernorm\.weight$/.test(name))).toEqual(["model.embed_tokens.weight"]);
  });
});

it("gives the same bits at 1, 2 and 3 threads", async () => {
  const model = llama({ vocabSize: 700, sequenceLength: 256, hiddenSize: 128, intermediateSize: 352, layers: 1, heads: 4, keyValueHeads: 2, zLossWeight: 1e-4, lossBlockSize: 300 });
  const sequence = (step: number): HostTensor => ({ shape: [4, 256], data: Int32Array.from({ length: 1024 }, (_unused, index) => (index * 37 + step) % 700) });
  const inputs: Record<string, HostTensor> = { tokens: sequence(0), targets: sequence(11), weights: { shape: [4, 256], data: new Float32Array(1024).fill(1) } };
  for (const [name, data] of Object.entries(model.initialize(RandomKey.fromSeed(1)))) inputs[name] = { shape: model.parameters[name]?.shape ?? [], data };
  const digests: string[] = [];
  for (const threads of [1, 2, 3]) {
    const engine = await OnnxEngine.create({ threads });
    const hash = createHash("sha256");
    for (const { buffer, byteOffset, byteLength } of Object.values(await evaluate(engine, lossAndGradients(model), inputs))) hash.update(new Uint8Array(buffer, byteOffset, byteLength));
    digests.push(hash.digest("hex"));
    await engine.dispose();
  }
  expect(new Set(digests).size).toBe(1);
});
