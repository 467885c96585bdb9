import { readFileSync } from "node:fs";
import type { Batch } from "../../src/data/batch.js";
import { elementCount } from "../../src/engine/shape.js";
import { gpt2 } from "../../src/models/gpt2.js";
import type { LanguageModel } from "../../src/models/language-model.js";
import { clipFactor } from "../../src/optim/gradients.js";
import type { GradientSummary, TrainingShape, TrainingState } from "../../src/training-state.js";
import type { StoredTensor } from "./fixtures.js";
import { hash32, symmetric } from "./hashing.js";

/** What every training fixture says about its run. Steps, losses and rates correspond. */
export interface TrainingIndex {
  readonly shape: { readonly vocabulary: number; readonly length: number; readonly width: number; readonly layers: number; readonly heads: number; readonly batch: number };
  readonly weightSeed: number;
  readonly batchSeed: number;
  readonly optimizer: { readonly beta1: number; readonly beta2: number; readonly epsilon: number; readonly weightDecay: number; readonly clipNorm: number };
  readonly learningRates: number[];
  readonly losses: number[];
}

/** What a fixture says about a small model: `gpt2.json`, and each case of `llama.json`. */
export interface ParityIndex extends TrainingIndex {
  readonly lossSum: number;
  readonly weightSum: number;
  readonly logits: StoredTensor;
  readonly gradients: (StoredTensor & { readonly name: string })[];
  readonly gradientNorms: number[];
  readonly trained: (StoredTensor & { readonly name: string })[];
}

/** The fixture's model. */
export function modelOf({ shape }: TrainingIndex): LanguageModel {
  return gpt2({ vocabSize: shape.vocabulary, sequenceLength: shape.length, hiddenSize: shape.width, layers: shape.layers, heads: shape.heads });
}

/** The fixture's sizes, the whole batch computed at once. */
export function trainingShape({ shape }: TrainingIndex): TrainingShape {
  return { batchSize: shape.batch, microbatchSize: shape.batch, sequenceLength: shape.length };
}

/** The weights that a reference run of a model starts from, as `batches.py` draws them. */
export function drawnParameters(model: LanguageModel, weightSeed: number): Record<string, Float32Array> {
  const values: Record<string, Float32Array> = {};
  Object.entries(model.parameters).forEach(([name, { shape }], position) => {
    const count = elementCount(shape);
    const scale = shape.length === 2 ? 0.1 : name.endsWith("bias") ? 0.05 : 0.2;
    const drawn = symmetric(weightSeed + position, count, scale);
    values[name] = shape.length === 1 && name.endsWith("weight") ? drawn.map((value) => value + 1) : drawn;
  });
  return values;
}

/** The weights that the fixture's GPT-2 starts from. */
export function initialParameters(index: TrainingIndex): Record<string, Float32Array> {
  return drawnParameters(modelOf(index), index.weightSeed);
}

/** Batch `step` of a run on random tokens. */
export function randomBatch({ shape, batchSeed }: TrainingIndex, step: number): Batch {
  const { batch, length, vocabulary } = shape;
  const seed = batchSeed + 3 * step;
  const count = batch * (length + 1);
  const second = hash32(seed + 1, count);
  const tokens = Int32Array.from(hash32(seed, count), (value, at) => Math.min(value % vocabulary, (second[at] as number) % vocabulary));
  return toBatch(tokens, Float32Array.from(hash32(seed + 2, batch * length), (value) => (value % 4) / 2), batch, length);
}

/** The text that the loss curve is trained on, as bytes. */
export function readText(): Uint8Array {
  return readFileSync(new URL("moby-dick.txt", import.meta.url));
}

/** Batch `step` of `loss-curve.json`'s run. */
export function textBatch({ shape, batchSeed }: TrainingIndex, text: Uint8Array, step: number): Batch {
  const { batch, length } = shape;
  const tokens = new Int32Array(batch * (length + 1));
  hash32(batchSeed + step, batch).forEach((value, row) => {
    const start = value % (text.length - length);
    tokens.set(text.subarray(start, start + length + 1), row * (length + 1));
  });
  return toBatch(tokens, new Float32Array(batch * length).fill(1), batch, length);
}

function toBatch(rows: Int32Array, weights: Float32Array, batch: number, length: number): Batch {
  const part = (from: number): Int32Array =>
    Int32Array.from({ length: batch * length }, (_, at) => rows[Math.floor(at / length) * (length + 1) + (at % length) + from] as number);
  return { tokens: part(0), targets: part(1), weights, weightSum: weights.reduce((sum, weight) => sum + weight, 0) };
}

/** Trains with the fixture's optimizer and rates and returns what each step found before its update. */
export async function train(state: TrainingState, index: TrainingIndex, steps: number, batchOf: (step: number) => Batch): Promise<GradientSummary[]> {
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = index.optimizer;
  const history: GradientSummary[] = [];
  for (let step = 0; step < steps; step++) {
    const batch = batchOf(step);
    const summary = await state.computeGradients(batch);
    const gradientScale = clipFactor(summary.gradientNorm, clipNorm) / batch.weightSum;
    const learningRate = index.learningRates[step] as number;
    await state.update({ update: step + 1, learningRate, beta1, beta2, epsilon, weightDecay, gradientScale });
    history.push(summary);
  }
  return history;
}
