import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import { loadParameters } from "../checkpoint/load-parameters.js";
import { modelOfCheckpoint } from "../checkpoint/model-of-checkpoint.js";
import type { TokenStore } from "../data/token-store.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { RandomKey } from "../rng/random-key.js";
import { generate } from "../sampling/generate.js";
import { Trainer } from "../trainer.js";
import { llama } from "./llama.js";

const V = 40;
let root: string;
let tokens: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-llama-"));
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 4000, V), V);
});
afterAll(() => rm(root, { recursive: true }));

it("a Llama with dropout, z-loss, a loss in blocks and recomputed blocks trains, resumes to the bit, and is found again to sample from", async () => {
  const shape = { vocabSize: V, sequenceLength: 16, hiddenSize: 32, intermediateSize: 48, layers: 2, heads: 4, keyValueHeads: 2, tiedHead: true };
  const model = llama({ ...shape, dropout: 0.1, zLossWeight: 1e-3, lossBlockSize: 16, recompute: true });
  const options = { batchSize: 8, microbatchSize: 4, sequenceLength: 16, learningRate: 1e-2, warmup: 5, checkpointEvery: 20, threads: 1 };
  const train = (directory: string, stopAt?: number): ReturnType<Trainer["train"]> => {
    const trainer = new Trainer({ ...options, steps: 60 });
    const stop = new AbortController();
    if (stopAt !== undefined) trainer.addHook(({ step }) => { if (step === stopAt) stop.abort(); }, { every: 1 });
    return trainer.train({ model, tokens, directory: join(root, directory), signal: stop.signal });
  };
  const whole = await train("whole");
  // Uniform guessing loses ln 40 = 3.69 nats a token.
  expect(whole.loss).toBeLessThan(3);
  await expect(train("stopped", 33)).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED" });
  expect((await train("stopped")).loss).toBe(whole.loss);

  const found = await modelOfCheckpoint(join(root, "whole"));
  expect(found.model.config).toEqual(model.config);
  const engine = await OnnxEngine.create({ threads: 1 });
  const parameters = await loadParameters(engine, found.model, found.checkpoint);
  const drawn = await generate({ engine, model: found.model, parameters: parameters.buffers, prompt: [1, 8], maxTokens: 8, key: RandomKey.fromSeed(0) });
  expect(drawn.length).toBeGreaterThan(0);
  await engine.dispose();
});
