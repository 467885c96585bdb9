import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bigram } from "../../test/bigram.js";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import type { TokenStore } from "../data/token-store.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import type { BufferGroup, Engine } from "../engine/types.js";
import { RandomKey } from "../rng/random-key.js";
import { evaluateLoss } from "./loss-evaluator.js";

const [V, D] = [40, 4];
const model = bigram(V, D);
const values = model.initialize(RandomKey.fromSeed(3));

let root: string;
let engine: Engine;
let parameters: BufferGroup;
let store: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-eval-"));
  engine = await OnnxEngine.create({ threads: 1 });
  parameters = engine.allocate(model.parameters);
  for (const [name, data] of Object.entries(values)) parameters.buffers[name]?.write(data);
  store = await storeOf(join(root, "store"), zipfDocuments(1, 333, V), V);
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});

/** Σ −ln p over the whole stream in float64, each token from the one before it, the first from the end-of-text token 0. */
function referenceLossSum(): number {
  const at = (name: string, index: number): number => values[name]?.[index] ?? 0;
  let previous = 0;
  let sum = 0;
  for (const target of store.tokens) {
    const hidden = Array.from({ length: D }, (_, d) => at("table", previous * D + d) + at("bias", d));
    const logits = Array.from({ length: V }, (_, v) => hidden.reduce((total, h, d) => total + h * at("head", v * D + d), 0));
    sum += Math.log(logits.reduce((total, logit) => total + Math.exp(logit), 0)) - (logits[target] ?? 0);
    previous = target;
  }
  return sum;
}

describe("evaluateLoss", () => {
  // 340 tokens: windows that divide them and windows that do not, full and padded batches, one window longer than all.
  it.each([
    { sequenceLength: 1, batchSize: 1 },
    { sequenceLength: 10, batchSize: 4 },
    { sequenceLength: 17, batchSize: 20 },
    { sequenceLength: 64, batchSize: 1 },
    { sequenceLength: undefined, batchSize: undefined },
  ])("scores every token once, the first and the last included: %o", async (sizes) => {
    const result = await evaluateLoss({ engine, model, parameters: parameters.buffers, store, ...sizes });
    const expected = referenceLossSum();
    expect(store.tokenCount).toBe(340);
    expect(Math.abs(result.lossSum - expected)).toBeLessThan(1e-5 * expected);
    expect(result).toMatchObject({ tokens: 340, bytes: 666, loss: result.lossSum / 340, bitsPerByte: result.lossSum / Math.log(2) / 666 });
  });

  it("reports progress and stops when asked to", async () => {
    const controller = new AbortController();
    const done: number[] = [];
    const evaluation = evaluateLoss({
      engine, model, parameters: parameters.buffers, store, sequenceLength: 10, batchSize: 10, signal: controller.signal,
      onProgress: (progress) => {
        done.push(progress.done);
        if (progress.done === 200) controller.abort();
      },
    });
    await expect(evaluation).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED" });
    expect(done).toEqual([100, 200]);
  });

  it("refuses rows longer than the model's, and tokens that it does not know", async () => {
    const run = { engine, model, parameters: parameters.buffers, store };
    await expect(evaluateLoss({ ...run, sequenceLength: 65 })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: "sequenceLength is 65; the model takes 1 to 64 tokens a row" });
    const foreign = await storeOf(join(root, "foreign"), [[V]], V + 1);
    await expect(evaluateLoss({ ...run, store: foreign })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringContaining("a vocabulary of 41 tokens, the model one of 40") as string });
  });

  it("refuses a store without text", async () => {
    const empty = await storeOf(join(root, "empty"), [[]], V);
    await expect(evaluateLoss({ engine, model, parameters: parameters.buffers, store: empty })).rejects.toMatchObject({ code: "LEVANTER_TOKENS_EMPTY" });
  });
});
