import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bigram } from "../test/bigram.js";
import { emptyBatch, type Batch } from "./data/batch.js";
import { OnnxEngine } from "./engine/compiled-engine.js";
import { liveHandles } from "./engine/runtime/ort-handles.js";
import type { Engine } from "./engine/types.js";
import { gpt2 } from "./models/gpt2.js";
import type { LanguageModel } from "./models/language-model.js";
import { integerBelow } from "./rng/distributions.js";
import { RandomKey } from "./rng/random-key.js";
import { streamKey } from "./rng/streams.js";
import { TrainingState } from "./training-state.js";

const [V, D, B, T] = [50, 8, 8, 6];
const model = bigram(V, D);
let engine: Engine;

beforeAll(async () => {
  engine = await OnnxEngine.create({ threads: 1 });
});
afterAll(() => engine.dispose());

/** Random tokens; row r has weight 1 at its first `lengths[r]` places. */
function batchOf(lengths: readonly number[]): Batch {
  const batch = emptyBatch(B, T);
  const key = RandomKey.fromSeed(9);
  for (let i = 0; i < B * T; i++) {
    batch.tokens[i] = integerBelow(key.fold("tokens").fold(i), V);
    batch.targets[i] = integerBelow(key.fold("targets").fold(i), V);
    const weight = i % T < (lengths[Math.floor(i / T)] ?? 0) ? 1 : 0;
    batch.weights[i] = weight;
    batch.weightSum += weight;
  }
  return batch;
}

const UNEVEN = batchOf([6, 6, 1, 0, 2, 6, 0, 1]);
const STEP = { update: 1, learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

interface Outcome {
  readonly loss: number;
  readonly gradientNorm: number;
  readonly moments: Float32Array;
}

/** Loss, norm, and the first moments after one update: a tenth of the gradient. */
async function outcome(batch: Batch, microbatchSize: number, trained = model, dropout?: RandomKey): Promise<Outcome> {
  const state = await TrainingState.create(engine, trained, { batchSize: batch.weights.length / T, microbatchSize, sequenceLength: T });
  state.setParameters(trained.initialize(RandomKey.fromSeed(0)));
  const summary = await state.computeGradients(batch, dropout);
  await state.update({ ...STEP, gradientScale: 1 / batch.weightSum });
  const moments = await Promise.all(Object.values(state.firstMoments).map((buffer) => buffer.read()));
  state.release();
  return { ...summary, moments: Float32Array.from(moments.flatMap((values) => [...values])) };
}

function relativeDistance(a: Float32Array, b: Float32Array): number {
  const norm = (values: Float32Array): number => Math.hypot(...values);
  return norm(a.map((x, i) => x - (b[i] ?? 0))) / norm(b);
}

/** Loss and gradient within 1e-6 of the full batch's, relative to their size. */
function expectFullBatch(found: Outcome, full: Outcome): void {
  expect(Math.abs(found.loss / full.loss - 1)).toBeLessThan(1e-6);
  expect(Math.abs(found.gradientNorm / full.gradientNorm - 1)).toBeLessThan(1e-6);
  expect(relativeDistance(found.moments, full.moments)).toBeLessThan(1e-6);
}

/** The mean of what each microbatch says for itself: what trainers do that divide too early. A microbatch without weight counts as 0. */
async function meanOfMeans(batch: Batch, microbatchSize: number): Promise<Outcome> {
  const count = B / microbatchSize;
  const means: Outcome[] = [];
  for (let micro = 0; micro < count; micro++) {
    const part = <A extends Int32Array | Float32Array>(values: A): A => values.slice(micro * microbatchSize * T, (micro + 1) * microbatchSize * T) as A;
    const weights = part(batch.weights);
    const weightSum = weights.reduce((a, b) => a + b, 0);
    if (weightSum > 0) means.push(await outcome({ tokens: part(batch.tokens), targets: part(batch.targets), weights, weightSum }, microbatchSize));
  }
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / count;
  const moments = Float32Array.from(means[0]?.moments ?? [], (_, i) => mean(means.map((one) => one.moments[i] ?? 0)));
  return { loss: mean(means.map(({ loss }) => loss)), gradientNorm: 10 * Math.hypot(...moments), moments };
}

describe("accumulation = full batch", () => {
  it.each([8, 4, 2, 1])("over microbatches of %i equals the full batch, whatever the weights", async (microbatchSize) => {
    expectFullBatch(await outcome(UNEVEN, microbatchSize), await outcome(UNEVEN, B));
  });

  it("equals the full batch with dropout too: masks belong to rows, not to microbatches", async () => {
    const dropping = gpt2({ vocabSize: V, sequenceLength: T, hiddenSize: D, layers: 1, heads: 2, dropout: 0.3 });
    const full = await outcome(UNEVEN, B, dropping, streamKey(0, "dropout").fold(0));
    for (const microbatchSize of [4, 1]) expectFullBatch(await outcome(UNEVEN, microbatchSize, dropping, streamKey(0, "dropout").fold(0)), full);
    const other = await outcome(UNEVEN, B, dropping, streamKey(0, "dropout").fold(1));
    expect(relativeDistance(other.moments, full.moments)).toBeGreaterThan(0.1);
  });

  it.each([4, 2, 1])("is not the mean of the means over microbatches of %i", async (microbatchSize) => {
    const full = await outcome(UNEVEN, B);
    const naive = await meanOfMeans(UNEVEN, microbatchSize);
    expect(() => { expectFullBatch(naive, full); }).toThrow();
    expect(relativeDistance(naive.moments, full.moments)).toBeGreaterThan(1e-2);
    // With even weights it is, so the difference is the weights'.
    const even = batchOf(Array<number>(B).fill(T));
    expectFullBatch(await meanOfMeans(even, microbatchSize), await outcome(even, B));
  });

  it("gives the loss and the gradient of the model, by finite differences", async () => {
    const { loss, moments } = await outcome(UNEVEN, B);
    const values = model.initialize(RandomKey.fromSeed(0));
    const lossOf = (name: string, index: number, change: number): number => {
      const changed = { ...values, [name]: Float64Array.from(values[name] ?? []) } as Record<string, Float32Array | Float64Array>;
      (changed[name] as Float64Array)[index] = (changed[name]?.[index] ?? 0) + change;
      return referenceLoss(changed);
    };
    expect(loss).toBeCloseTo(referenceLoss(values), 5);
    // Places of the moments: 400 of the table, 8 of the bias, 400 of the head, in partition order: the decayed head first.
    const places = [...Array.from({ length: 8 }, (_, i) => ["head", i * 31, i * 31] as const), ...Array.from({ length: 8 }, (_, i) => ["bias", i, V * D + V * D + i] as const)];
    for (const [name, index, place] of places) {
      const slope = (lossOf(name, index, 1e-5) - lossOf(name, index, -1e-5)) / 2e-5;
      expect(Math.abs(10 * (moments[place] ?? 0) - slope), `${name}[${String(index)}]`).toBeLessThan(1e-5);
    }
  });
});

describe("weight decay", () => {
  it("shrinks decayed parameters only", async () => {
    const state = await TrainingState.create(engine, model, { batchSize: B, microbatchSize: B, sequenceLength: T });
    const start = model.initialize(RandomKey.fromSeed(0));
    state.setParameters(start);
    const silent = batchOf([]);
    await state.computeGradients(silent);
    await state.update({ ...STEP, gradientScale: 1 });
    const after = async (name: string): Promise<number[]> => [...((await state.parameters[name]?.read()) ?? [])];
    expect(await after("table")).toEqual([...(start["table"] ?? [])]);
    (await after("head")).forEach((value, i) => {
      expect(value).toBeCloseTo((start["head"]?.[i] ?? 0) * (1 - 0.01 * 0.1), 6);
    });
    state.release();
  });
});

/** The weighted mean loss of the bigram model, written out in float64. */
function referenceLoss(parameters: Readonly<Record<string, Float32Array | Float64Array>>): number {
  const at = (name: string, index: number): number => parameters[name]?.[index] ?? 0;
  let sum = 0;
  for (let i = 0; i < B * T; i++) {
    const hidden = Array.from({ length: D }, (_, d) => at("table", (UNEVEN.tokens[i] ?? 0) * D + d) + at("bias", d));
    const logits = Array.from({ length: V }, (_, v) => hidden.reduce((total, h, d) => total + h * at("head", v * D + d), 0));
    const logSum = Math.log(logits.reduce((total, logit) => total + Math.exp(logit), 0));
    sum += (UNEVEN.weights[i] ?? 0) * (logSum - (logits[UNEVEN.targets[i] ?? 0] ?? 0));
  }
  return sum / UNEVEN.weightSum;
}

it("gives back what it made when there is not enough memory", async () => {
  const before = liveHandles();
  const vast: LanguageModel = {
    ...model,
    parameters: { ...model.parameters, vast: { shape: [2 ** 45], dtype: "float32" } },
    loss: (inputs) => {
      const first = tf.sum(tf.slice(inputs["vast"] as tf.Tensor, [0], [1]));
      return { lossSum: tf.add(model.loss(inputs)["lossSum"] as tf.Tensor, first) };
    },
  };
  await expect(TrainingState.create(engine, vast, { batchSize: B, microbatchSize: B, sequenceLength: T })).rejects.toMatchObject({ code: "LEVANTER_MEMORY" });
  expect(liveHandles()).toEqual(before);
});

it("refuses a shape whose microbatches do not make up a batch, and sizes that are no sizes, before anything is made", async () => {
  const before = liveHandles();
  for (const [shape, message] of [
    [{ batchSize: 3, microbatchSize: 2, sequenceLength: T }, "microbatchSize is 2, which does not divide batchSize, 3"],
    [{ batchSize: 2, microbatchSize: 4, sequenceLength: T }, "microbatchSize is 4, which does not divide batchSize, 2"],
    [{ batchSize: 2, microbatchSize: 2, sequenceLength: 0 }, "sequenceLength is 0; it must be a whole number of at least 1"],
    [{ batchSize: 2, microbatchSize: 0.5, sequenceLength: T }, "microbatchSize is 0.5; it must be a whole number of at least 1"],
  ] as const) await expect(TrainingState.create(engine, model, shape)).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message });
  expect(liveHandles()).toEqual(before);
});
