import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getIrisCtx, silentLogger, withLocalContext, type MetricValues, type TaskProgress } from "@marin/iris";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import type { TokenStore } from "../data/token-store.js";
import { gpt2 } from "../models/gpt2.js";
import { Trainer } from "../trainer.js";
import { trainLm, type TrainLmConfig } from "./train-lm.js";

const V = 40;
const SHAPE = { layers: 1, hiddenSize: 8, heads: 2, sequenceLength: 16 };
const OPTIONS = { steps: 6, batchSize: 2, learningRate: 0.01, warmup: 0, threads: 1 };

let root: string;
let tokens: TokenStore;
let config: TrainLmConfig;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-train-lm-"));
  tokens = await storeOf(join(root, "train"), zipfDocuments(1, 500, V), V);
  const validation = await storeOf(join(root, "validation"), zipfDocuments(2, 100, V), V);
  config = { ...OPTIONS, model: SHAPE, optimizer: "adamw", dataset: tokens.directory, validation: validation.directory, directory: join(root, "run") };
});
afterAll(() => rm(root, { recursive: true }));

const quietly = (trained: TrainLmConfig): Promise<unknown> => withLocalContext({ log: silentLogger }, () => trainLm(trained));

describe("trainLm", () => {
  it("trains what the configuration names, to the very result of a trainer that is handed the same", async () => {
    const steps: MetricValues[] = [];
    const progress: TaskProgress[] = [];
    const onMetrics = (values: MetricValues, step?: number): void => void (step === undefined || steps.push(values));
    const task = { log: silentLogger, onMetrics, onProgress: (done: TaskProgress) => void progress.push(done) };
    const result = await withLocalContext(task, () => trainLm(config));
    const trainer = new Trainer({ ...OPTIONS, sequenceLength: 16 });
    const expected = await trainer.train({ model: gpt2({ ...SHAPE, vocabSize: V }), tokens, directory: join(root, "expected") });
    expect(result).toMatchObject({ step: 6, loss: expected.loss, validation: { tokens: 102 } });
    expect(steps).toHaveLength(6);
    expect(progress.at(-1)).toMatchObject({ done: 6, total: 6, unit: "steps" });
  });

  it("goes on with a run that it finds, also without a context around it", async () => {
    expect(getIrisCtx()).toBeUndefined();
    expect(await trainLm(config)).toMatchObject({ step: 6, resumedFrom: 6 });
  });

  it("takes a shape by name; its sequences are as long as the model takes", () => {
    expect(new Trainer({ model: "gpt2-small" }).config).toMatchObject({ model: "gpt2-small", sequenceLength: 1024, batchSize: 8 });
    expect(new Trainer({ model: "gpt2-nano", sequenceLength: 32 }).config.sequenceLength).toBe(32);
    expect(new Trainer({ optimizer: "adamw" }).config.sequenceLength).toBe(128);
  });

  it.each([
    [{ model: "gpt3" }, /model: must be a shape by name \(gpt2-nano, .*gpt2-xl\)/],
    [{ model: { ...SHAPE, heads: 3 } }, /hiddenSize must be a multiple of heads/],
    [{ model: undefined }, /model: /],
    [{ dataset: undefined }, /dataset: /],
    [{ optimizer: "sgd" }, /optimizer: /],
    [{ stepz: 5 }, /stepz/],
    [{ sequenceLength: 17 }, /sequenceLength is 17; the model takes 1 to 16/],
  ])("refuses %j, naming the field", async (wrong, message) => {
    await expect(quietly({ ...config, directory: join(root, "refused"), ...wrong } as TrainLmConfig)).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringMatching(message) as string });
  });

  it("says which directory holds no tokens", async () => {
    await expect(quietly({ ...config, dataset: join(root, "nothing") })).rejects.toMatchObject({ code: "LEVANTER_TOKENS_MISSING" });
  });
});

it("a trainer whose configuration names no model or dataset must be handed them", async () => {
  await expect(new Trainer(OPTIONS).train({ directory: join(root, "none") })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", data: { field: "dataset" } });
  await expect(new Trainer(OPTIONS).train({ tokens, directory: join(root, "none") })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", data: { field: "model" } });
});
