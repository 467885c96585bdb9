import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bigram } from "../../test/bigram.js";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import type { TokenStore } from "../data/token-store.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { gpt2 } from "../models/gpt2.js";
import { Trainer } from "../trainer.js";
import { loadParameters } from "./load-parameters.js";
import { modelOfCheckpoint } from "./model-of-checkpoint.js";

const V = 30;
let root: string;
let tokens: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-model-"));
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 200, V), V);
});
afterAll(() => rm(root, { recursive: true }));

it("finds the model of a checkpoint, and of the newest of a run; its parameters load", async () => {
  const directory = join(root, "run");
  const model = gpt2({ vocabSize: V, layers: 1, hiddenSize: 8, heads: 2, sequenceLength: 16 });
  await new Trainer({ steps: 4, checkpointEvery: 2, batchSize: 2, sequenceLength: 8, threads: 1 }).train({ model, tokens, directory });
  const newest = await modelOfCheckpoint(directory);
  expect(newest).toMatchObject({ step: 4, model: { config: model.config, parameters: model.parameters } });
  expect(await modelOfCheckpoint(join(directory, "checkpoints", "step-00000002"))).toMatchObject({ step: 2, model: { config: model.config } });
  const engine = await OnnxEngine.create({ threads: 1 });
  const parameters = await loadParameters(engine, newest.model, newest.checkpoint);
  expect(Object.keys(parameters.buffers)).toEqual(Object.keys(model.parameters));
  await engine.dispose();
});

it("says what is missing, or which architecture it can't build", async () => {
  await expect(modelOfCheckpoint(root)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISSING" });
  const directory = join(root, "bigram");
  await new Trainer({ steps: 1, batchSize: 2, sequenceLength: 8, threads: 1 }).train({ model: bigram(V, 4), tokens, directory });
  await expect(modelOfCheckpoint(directory)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISMATCH", message: expect.stringContaining('of type "bigram"') as string });
});
