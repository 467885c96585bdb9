import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OnnxEngine } from "../engine/compiled-engine.js";
import type { BufferGroup, Engine } from "../engine/types.js";
import { elementCount } from "../engine/shape.js";
import { gpt2 } from "../models/gpt2.js";
import { normal } from "../rng/distributions.js";
import { RandomKey } from "../rng/random-key.js";
import { generate, type GenerateOptions } from "./generate.js";

const V = 20;
const model = gpt2({ vocabSize: V, sequenceLength: 8, hiddenSize: 8, layers: 2, heads: 2 });

let engine: Engine;
let parameters: BufferGroup;

beforeAll(async () => {
  engine = await OnnxEngine.create({ threads: 1 });
  parameters = engine.allocate(model.parameters);
  // Large random weights: a model with strong opinions, which depend on the whole context.
  for (const [name, buffer] of Object.entries(parameters.buffers)) {
    const size = elementCount(buffer.spec.shape);
    buffer.write(normal(RandomKey.fromSeed(0).fold(name), size));
  }
});
afterAll(() => engine.dispose());

function run(options: Partial<GenerateOptions> = {}): Promise<number[]> {
  return generate({ engine, model, parameters: parameters.buffers, prompt: [1, 2, 3], maxTokens: 30, key: RandomKey.fromSeed(1), ...options });
}

/** The likeliest next token after the last of at most 8 tokens, from the model's whole logits. */
async function greedyNext(text: readonly number[]): Promise<number> {
  const window = text.slice(-8);
  const program = await engine.compile("logits", model.logits, { ...model.parameters, tokens: { shape: [1, window.length], dtype: "int32" } });
  const io = engine.allocate({ tokens: { shape: [1, window.length], dtype: "int32" }, logits: { shape: [1, window.length, V], dtype: "float32" } });
  const { tokens, logits } = io.buffers as { tokens: NonNullable<(typeof io.buffers)[string]>; logits: NonNullable<(typeof io.buffers)[string]> };
  tokens.write(Int32Array.from(window));
  await program.run({ ...parameters.buffers, tokens }, { logits });
  const last = ((await logits.read()) as Float32Array).subarray(-V);
  program.dispose();
  io.release();
  return last.indexOf(Math.max(...last));
}

describe("generate", () => {
  it("takes the likeliest token each time at temperature 0, past the model's longest sequence too", async () => {
    const text = [1, 2, 3];
    while (text.length < 15) text.push(await greedyNext(text));
    expect(await run({ temperature: 0, maxTokens: 12 })).toEqual(text.slice(3));
  });

  it("is a function of the key", async () => {
    const first = await run();
    expect(first).toHaveLength(30);
    expect(await run()).toEqual(first);
    expect(await run({ key: RandomKey.fromSeed(2) })).not.toEqual(first);
    expect(first.every((token) => Number.isInteger(token) && token >= 0 && token < V)).toBe(true);
  });

  it("ends before the stop token, and tells each token as it comes", async () => {
    const all = await run();
    const stopToken = all[10];
    const seen: number[] = [];
    expect(await run({ stopToken, onToken: (token) => seen.push(token) })).toEqual(all.slice(0, all.indexOf(stopToken ?? -1)));
    expect(seen).toEqual(all.slice(0, all.indexOf(stopToken ?? -1)));
  });

  it("refuses options out of range, and logits that are no numbers", async () => {
    await expect(run({ temperature: -1 })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: "temperature is -1; it must be a number from 0" });
    await expect(run({ topK: 1.5 })).rejects.toMatchObject({ code: "LEVANTER_CONFIG" });
    await expect(run({ maxTokens: -2 })).rejects.toMatchObject({ code: "LEVANTER_CONFIG" });
    const damaged = engine.allocate(model.parameters);
    damaged.buffers["ln_f.bias"]?.write(new Float32Array(8).fill(Number.NaN));
    for (const temperature of [0, 1]) await expect(run({ parameters: damaged.buffers, temperature })).rejects.toMatchObject({ code: "LEVANTER_NOT_FINITE" });
    damaged.release();
  });

  it("refuses prompts that are empty or outside the vocabulary, and stops on the signal", async () => {
    await expect(run({ prompt: [] })).rejects.toMatchObject({ code: "LEVANTER_CONFIG" });
    await expect(run({ prompt: [V] })).rejects.toThrow(/holds 20, which is no token of a vocabulary of 20/);
    await expect(run({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED" });
  });
});
