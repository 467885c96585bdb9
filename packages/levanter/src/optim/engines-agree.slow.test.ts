import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import { TokenMixture } from "../data/mixture.js";
import type { TokenStore } from "../data/token-store.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { EagerEngine } from "../engine/eager-engine.js";
import type { Engine, EngineBuffer } from "../engine/types.js";
import { gpt2 } from "../models/gpt2.js";
import { streamKey } from "../rng/streams.js";
import { TrainingState } from "../training-state.js";
import { clipFactor } from "./gradients.js";
import { learningRateSchedule } from "./learning-rate.js";

const [V, T] = [50, 8];
const STEPS = 50;
const model = gpt2({ vocabSize: V, sequenceLength: T, hiddenSize: 8, layers: 2, heads: 2, dropout: 0.1 });
const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  onnx: () => OnnxEngine.create({ threads: 1 }),
  wasm: () => EagerEngine.create("wasm"),
  cpu: () => EagerEngine.create("cpu"),
};

let root: string;
let stores: Record<string, TokenStore>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-agree-"));
  const store = (name: string, seed: number): Promise<TokenStore> => storeOf(join(root, name), zipfDocuments(seed, 400, V), V);
  stores = { first: await store("first", 1), second: await store("second", 2) };
});
afterAll(() => rm(root, { recursive: true }));

interface Curve {
  /** SHA-256 of the parameters before the first step, and after the last. */
  readonly initial: string;
  readonly final: string;
  readonly losses: readonly number[];
}

/** Trains from seed 7: dropout, accumulation, a mixture, a batch size by stages, clipping, a schedule with cycles. */
async function train(engine: Engine): Promise<Curve> {
  const batchSize = [{ start: 0, value: 2 }, { start: 20, value: 4 }];
  const batches = new TokenMixture({ stores, weights: { first: 3, second: 1 }, blockSize: 4, sequenceLength: T, batchSize, key: streamKey(7, "data") });
  const rate = learningRateSchedule({ steps: STEPS, peak: 0.01, warmup: 5, minRatio: 0.1, shape: "cosine", cycles: 2 });
  const state = await TrainingState.create(engine, model, { batchSize: 4, microbatchSize: 2, sequenceLength: T });
  state.setParameters(model.initialize(streamKey(7, "model")));
  const initial = await digest(Object.values(state.parameters));
  const losses: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    const batch = batches.batch(step);
    const { loss, gradientNorm } = await state.computeGradients(batch, streamKey(7, "dropout").fold(step));
    losses.push(loss);
    const gradientScale = clipFactor(gradientNorm, 1) / batch.weightSum;
    await state.update({ update: step + 1, learningRate: rate(step), beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, gradientScale });
  }
  const final = await digest(Object.values(state.parameters));
  state.release();
  await engine.dispose();
  return { initial, final, losses };
}

async function digest(buffers: readonly EngineBuffer[]): Promise<string> {
  const hash = createHash("sha256");
  for (const buffer of buffers) {
    const { buffer: bytes, byteOffset, byteLength } = await buffer.read();
    hash.update(new Uint8Array(bytes, byteOffset, byteLength));
  }
  return hash.digest("hex");
}

it("backend agreement: one seed trains alike on every engine, and to the same bits on one engine", async () => {
  const curves: [string, Curve][] = [];
  for (const [name, create] of Object.entries(ENGINES)) {
    const curve = await train(await create());
    expect(await train(await create()), `${name}, again`).toEqual(curve);
    curves.push([name, curve]);
  }
  const [, expected] = curves.at(-1) as [string, Curve];
  expect(expected.losses.at(-1)).toBeLessThan((expected.losses[0] ?? 0) - 0.5);
  for (const [name, { initial, losses }] of curves) {
    expect(initial, name).toBe(expected.initial);
    losses.forEach((loss, step) => { expect(Math.abs(loss - (expected.losses[step] ?? 0)), `${name}, step ${String(step)}`).toBeLessThan(1e-3); });
  }
});
