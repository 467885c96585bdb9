import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { metricsOf } from "../test/metrics-rows.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import type { TokenStore } from "./data/token-store.js";
import { selectEngine } from "./engine/select.js";
import { gpt2 } from "./models/gpt2.js";
import { RandomKey } from "./rng/random-key.js";
import { Trainer } from "./trainer.js";
import { TrainingState } from "./training-state.js";

const V = 64;
const SHAPE = { batchSize: 4, microbatchSize: 2, sequenceLength: 16 };
const ENGINES = ["cpu", "wasm", "onnx"] as const;
const model = gpt2({ vocabSize: V, sequenceLength: 16, hiddenSize: 16, layers: 2, heads: 2, dropout: 0.1 });

let root: string;
let tokens: TokenStore;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-agreement-"));
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 3000, V), V);
});
afterAll(() => rm(root, { recursive: true }));

/** SHA-256 of the weights that a seed gives on an engine. */
async function initialWeights(name: (typeof ENGINES)[number]): Promise<string> {
  const engine = await selectEngine({ engine: name });
  const state = await TrainingState.create(engine, model, SHAPE);
  state.setParameters(model.initialize(RandomKey.fromSeed(7)));
  const hash = createHash("sha256");
  for (const buffer of Object.values(state.parameters)) {
    const { buffer: bytes, byteOffset, byteLength } = await buffer.read();
    hash.update(new Uint8Array(bytes, byteOffset, byteLength));
  }
  state.release();
  await engine.dispose();
  return hash.digest("hex");
}

/** Losses of 50 steps, and SHA-256 of the parameters after them. */
async function curve(engine: (typeof ENGINES)[number], name: string): Promise<{ losses: number[]; parameters: string }> {
  const directory = join(root, name);
  const trainer = new Trainer({ ...SHAPE, steps: 50, seed: 7, learningRate: 0.01, warmup: 5, checkpointEvery: 0, engine });
  const { checkpoint } = await trainer.train({ model, tokens, directory });
  const parameters = createHash("sha256").update(await readFile(join(checkpoint, "parameters.safetensors"))).digest("hex");
  return { losses: (await metricsOf(directory)).map(({ loss }) => loss), parameters };
}

it("the same seed gives the same weights on every engine, byte for byte", async () => {
  const hashes: string[] = [];
  for (const engine of ENGINES) hashes.push(await initialWeights(engine));
  expect(new Set(hashes).size).toBe(1);
});

it("every engine repeats a run to the bit, and all agree on 50 losses to 1e-3", async () => {
  const curves: number[][] = [];
  for (const engine of ENGINES) {
    const [first, second] = [await curve(engine, `${engine}-1`), await curve(engine, `${engine}-2`)];
    expect(second, engine).toEqual(first);
    curves.push(first.losses);
  }
  const [cpu = [], ...others] = curves;
  expect(cpu).toHaveLength(50);
  expect(cpu.at(-1)).toBeLessThan((cpu[0] ?? 0) - 0.3);
  const farthest = Math.max(...others.flatMap((losses) => losses.map((loss, i) => Math.abs(loss - (cpu[i] ?? Infinity)))));
  console.log(`losses of 50 steps agree to ${farthest.toExponential(1)}`);
  expect(farthest).toBeLessThan(1e-3);
});
