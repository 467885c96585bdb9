import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import type { TokenStore } from "./data/token-store.js";
import { gpt2 } from "./models/gpt2.js";
import { Trainer } from "./trainer.js";

const V = 50;
const model = gpt2({ vocabSize: V, sequenceLength: 8, hiddenSize: 8, layers: 2, heads: 2 });
const CONFIG = { steps: 12, batchSize: 4, microbatchSize: 2, sequenceLength: 8, learningRate: 0.01, warmup: 0, evaluateEvery: 4, checkpointEvery: 5 };

let root: string;
let tokens: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-eager-"));
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 300, V), V);
});
afterAll(() => rm(root, { recursive: true }));

async function losses(directory: string): Promise<number[]> {
  const lines = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { loss: number }).loss);
}

it("trains alike on the eager and the compiled engine, without leaking a tensor", async () => {
  const eager = join(root, "eager");
  const counts: number[] = [];
  await new Trainer({ ...CONFIG, engine: "cpu" }).train({ model, tokens, validation: tokens, directory: eager, onStep: () => void counts.push(tf.memory().numTensors) });
  // The validation after step 4 brings its own buffers, which stay until the end of the run.
  expect(new Set(counts.slice(1, 4)).size).toBe(1);
  expect(new Set(counts.slice(4)).size).toBe(1);
  expect(tf.memory().numTensors).toBe(0);

  const compiled = join(root, "compiled");
  await new Trainer({ ...CONFIG, engine: "onnx", threads: 1 }).train({ model, tokens, validation: tokens, directory: compiled });
  expect(tf.memory().numTensors).toBe(0);
  const [expected, found] = [await losses(eager), await losses(compiled)];
  expect(found).toHaveLength(12);
  found.forEach((loss, i) => {
    expect(Math.abs(loss - (expected[i] ?? 0)), `step ${String(i + 1)}`).toBeLessThan(1e-4);
  });
});
