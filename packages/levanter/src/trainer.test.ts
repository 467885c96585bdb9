import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger, withLocalContext } from "@marin/iris";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bigram } from "../test/bigram.js";
import { metricsOf, numbersOf } from "../test/metrics-rows.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import { loadParameters } from "./checkpoint/load-parameters.js";
import { encodeMetadata, readCheckpointMetadata } from "./checkpoint/metadata.js";
import type { TokenStore } from "./data/token-store.js";
import { OnnxEngine } from "./engine/compiled-engine.js";
import type { Engine } from "./engine/types.js";
import { evaluateLoss } from "./eval/loss-evaluator.js";
import { Trainer, type TrainerOptions, type TrainOptions, type TrainResult } from "./trainer.js";
import type { TrainerConfigInput } from "./trainer-config.js";

const V = 60;
const model = bigram(V, 16);
const CONFIG = { steps: 20, batchSize: 4, sequenceLength: 16, learningRate: 0.05, warmup: 0.1, checkpointEvery: 5, evaluateEvery: 8, keepCheckpoints: 100 };

let root: string;
let engine: Engine;
let tokens: TokenStore;
let validation: TokenStore;
let uninterrupted: { directory: string; result: TrainResult };
let next = 0;
const directory = (): string => join(root, `run-${String(next++)}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-trainer-"));
  engine = await OnnxEngine.create({ threads: 1 });
  tokens = await storeOf(join(root, "train"), zipfDocuments(1, 3000, V), V);
  validation = await storeOf(join(root, "validation"), zipfDocuments(2, 700, V), V);
  const path = directory();
  uninterrupted = { directory: path, result: await train(path) };
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});

function train(path: string, config: TrainerConfigInput = {}, options: Partial<TrainOptions> = {}, settings: TrainerOptions = {}): Promise<TrainResult> {
  return new Trainer({ ...CONFIG, ...config }, { engine, ...settings }).train({ model, tokens, validation, directory: path, ...options });
}

/** SHA-256 of every file of every checkpoint. */
async function digests(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of await readdir(join(path, "checkpoints"), { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const name = join(file.parentPath, file.name);
    found[name.slice(path.length)] = createHash("sha256").update(await readFile(name)).digest("hex");
  }
  return found;
}

async function stopAfter(step: number, path: string, config: TrainerConfigInput = {}): Promise<unknown> {
  const controller = new AbortController();
  return train(path, config, {
    signal: controller.signal,
    onStep: (info) => {
      if (info.step === step) controller.abort(new Error("stop"));
    },
  }).catch((error: unknown) => error);
}

describe("Trainer", () => {
  it("learns, and writes a line of metrics for every step", async () => {
    const rows = await metricsOf(uninterrupted.directory);
    expect(rows.map((row) => row.step)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(rows[0]?.learningRate).toBe(0);
    expect(rows[2]?.learningRate).toBe(0.05);
    expect(rows.filter((row) => row.validation !== undefined).map((row) => row.step)).toEqual([8, 16, 20]);
    expect(uninterrupted.result).toMatchObject({ step: 20, resumedFrom: 0, validation: { tokens: validation.tokenCount, bytes: validation.byteCount } });
    expect(uninterrupted.result.loss).toBeLessThan((rows[0]?.loss ?? 0) - 0.5);
    expect(uninterrupted.result.checkpoint).toMatch(/step-00000020$/);
  });

  it("keeps the newest checkpoints", async () => {
    const path = directory();
    await train(path, { keepCheckpoints: 2, checkpointEvery: 3 });
    expect((await readdir(join(path, "checkpoints"))).sort()).toEqual(["step-00000018", "step-00000020"]);
  });

  it("calls hooks at their cadence and at the end", async () => {
    const seen: Record<string, number[]> = { three: [], all: [], step: [] };
    const trainer = new Trainer({ ...CONFIG, steps: 7 }, { engine });
    trainer.addHook((info) => void seen["three"]?.push(info.step), { every: 3 }).addHook((info) => void seen["all"]?.push(info.step));
    await trainer.train({
      model,
      tokens,
      directory: directory(),
      onStep: (info) => {
        seen["step"]?.push(info.secondsLeft);
        expect(info).toMatchObject({ steps: 7, tokens: info.step * 64 });
        expect(info.tokensPerSecond).toBeGreaterThan(0);
      },
    });
    expect(seen["three"]).toEqual([3, 6, 7]);
    expect(seen["all"]).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(seen["step"]?.at(-1)).toBe(0);
  });

  it("reports to the iris context it runs in, and stops on its signal", async () => {
    const reports: unknown[] = [];
    const controller = new AbortController();
    const context = {
      signal: controller.signal,
      onMetrics: (values: Readonly<Record<string, number>>, step?: number) => void reports.push([step, Object.keys(values)]),
      onProgress: (progress: { done: number }) => {
        reports.push(progress);
        if (progress.done === 2) controller.abort();
      },
    };
    const run = withLocalContext(context, () => train(directory()));
    await expect(run).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED", data: { step: 2 } });
    expect(reports.slice(0, 2)).toEqual([[1, ["loss", "learningRate", "gradientNorm", "tokensPerSecond"]], { done: 1, total: 20, unit: "steps", detail: expect.stringMatching(/^loss \d+\.\d{3}, [\d,]+ tokens\/s$/) as string }]);
    expect(reports).toHaveLength(4);
  });

  it("starts its own engine when it is given none", async () => {
    const path = directory();
    await train(path, { threads: 1 }, {}, { engine: undefined });
    expect(await digests(path)).toEqual(await digests(uninterrupted.directory));
  });
});

describe("a stopped run", () => {
  it.each([1, 5, 7, 19])("is saved after step %i, and resumed ends in the same bytes", async (step) => {
    const path = directory();
    expect(await stopAfter(step, path)).toMatchObject({ code: "LEVANTER_INTERRUPTED", data: { step } });
    const result = await train(path);
    expect(result).toEqual({ ...uninterrupted.result, resumedFrom: step, checkpoint: result.checkpoint });
    expect(await numbersOf(path)).toEqual(await numbersOf(uninterrupted.directory));
    expect(await digests(path)).toMatchObject(await digests(uninterrupted.directory));
  });

  it("resumed from an older checkpoint after an error repeats the steps since, each once in the metrics", async () => {
    const path = directory();
    const fail = (at: number): Promise<unknown> =>
      train(path, {}, { onStep: ({ step }) => { if (step === at) throw new Error("hook failed"); } }).catch((error: unknown) => error);
    expect(await fail(13)).toMatchObject({ code: "LEVANTER_HOOK", data: { hook: "onStep" }, message: expect.stringContaining("hook failed") as string });
    expect(await fail(14)).toMatchObject({ code: "LEVANTER_HOOK", data: { hook: "onStep" }, message: expect.stringContaining("hook failed") as string });
    expect(await train(path)).toMatchObject({ resumedFrom: 10 });
    expect(await numbersOf(path)).toEqual(await numbersOf(uninterrupted.directory));
    expect(await digests(path)).toEqual(await digests(uninterrupted.directory));
  });

  it("depends on the optimizer's state: without it the end differs", async () => {
    const path = directory();
    await stopAfter(10, path);
    const checkpoint = join(path, "checkpoints", "step-00000010");
    const file = join(checkpoint, "optimizer.safetensors");
    const bytes = await readFile(file);
    bytes.fill(0, 8 + Number(bytes.readBigUInt64LE()));
    await writeFile(file, bytes);
    const metadata = await readCheckpointMetadata(checkpoint);
    Object.assign(metadata.files["optimizer.safetensors"] ?? {}, { sha256: createHash("sha256").update(bytes).digest("hex") });
    await writeFile(join(checkpoint, "metadata.json"), encodeMetadata(metadata));
    await train(path);
    expect(await numbersOf(path)).not.toEqual(await numbersOf(uninterrupted.directory));
  });

  it("stopped while validating is saved, and validates when resumed", async () => {
    const path = directory();
    const controller = new AbortController();
    const stopping = Object.create(validation) as TokenStore;
    Object.defineProperty(stopping, "tokens", {
      get: () => {
        controller.abort();
        return validation.tokens;
      },
    });
    await expect(train(path, {}, { validation: stopping, signal: controller.signal })).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED", data: { step: 8 } });
    expect((await metricsOf(path)).at(-1)).not.toHaveProperty("validation");
    await train(path);
    expect(await numbersOf(path)).toEqual(await numbersOf(uninterrupted.directory));
  });

  it("stopped before its first step leaves no checkpoint", async () => {
    const path = directory();
    await expect(train(path, {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED", data: { step: 0 } });
    expect(await readdir(path)).toEqual(["metrics.jsonl"]);
  });

  it("that was finished is only looked at", async () => {
    const path = directory();
    await train(path);
    const before = await digests(path);
    const result = await train(path, {}, { onStep: () => { throw new Error("no step is left"); } });
    expect(result).toEqual({ ...uninterrupted.result, resumedFrom: 20, checkpoint: result.checkpoint });
    expect(await digests(path)).toEqual(before);
  });

  it("that was finished is validated on what it is given now, each store once", async () => {
    const path = directory();
    await train(path, {}, { validation: undefined });
    expect((await train(path)).validation).toEqual(uninterrupted.result.validation);
    expect((await train(path, {}, { validation: tokens })).validation).toMatchObject({ tokens: tokens.tokenCount });
    const before = await readFile(join(path, "metrics.jsonl"));
    expect((await train(path, {}, { validation: tokens })).validation).toMatchObject({ tokens: tokens.tokenCount });
    expect((await train(path, {}, { validation: undefined })).validation).toBeUndefined();
    expect(await readFile(join(path, "metrics.jsonl"))).toEqual(before);
  });
});

describe("a run that cannot go on", () => {
  it("because the loss is not finite keeps nothing of the step", async () => {
    const path = directory();
    const error: unknown = await train(path, { learningRate: 1e30, warmup: 6, maxGradientNorm: 0, checkpointEvery: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "LEVANTER_NOT_FINITE" });
    const { step, checkpointStep } = (error as { data: { step: number; checkpointStep: number } }).data;
    expect(checkpointStep).toBe(step - 1);
    expect((await readdir(join(path, "checkpoints"))).length).toBe(step - 1);
    expect((await metricsOf(path)).length).toBe(step - 1);
  });

  it("because the newest checkpoint is damaged says which file, and goes on from the one before when it is deleted", async () => {
    const path = directory();
    await stopAfter(12, path);
    const newest = join(path, "checkpoints", "step-00000012");
    await truncate(join(newest, "optimizer.safetensors"), 100);
    await expect(train(path)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { file: join(newest, "optimizer.safetensors"), found: "100 bytes" } });
    await rm(newest, { recursive: true });
    expect(await train(path)).toMatchObject({ resumedFrom: 10 });
    expect(await numbersOf(path)).toEqual(await numbersOf(uninterrupted.directory));
  });

  it("because model, data or options changed names them", async () => {
    const path = directory();
    await stopAfter(2, path);
    const other = await storeOf(join(root, "other"), zipfDocuments(3, 300, V), V);
    await expect(train(path, { seed: 1, batchSize: 2 }, { model: bigram(V, 8), tokens: other })).rejects.toMatchObject({
      code: "LEVANTER_CHECKPOINT_MISMATCH",
      data: { fields: ["model.width", "trainer.batchSize", "trainer.seed", "data.fingerprint"] },
    });
    await train(path, { evaluateEvery: 3, checkpointEvery: 20, keepCheckpoints: 1, logEvery: 2 });
  });

  it("because another one holds its directory is refused", async () => {
    const path = directory();
    let second: unknown;
    await train(path, {}, {
      onStep: async ({ step }) => {
        if (step === 1) second = await train(path).catch((error: unknown) => error);
      },
    });
    expect(second).toMatchObject({ code: "RIGGING_LOCKED" });
  });

  it("because options, model and tokens do not fit says what to change", async () => {
    expect(() => new Trainer({ stepz: 3 } as TrainerConfigInput)).toThrow(/stepz/);
    expect(() => new Trainer({ batchSize: 8, microbatchSize: 3 })).toThrow(/microbatchSize: must divide batchSize/);
    const empty = await storeOf(join(root, "empty"), [[]], V);
    await expect(train(directory(), {}, { validation: empty })).rejects.toMatchObject({ code: "LEVANTER_TOKENS_EMPTY" });
    await expect(train(directory(), { sequenceLength: 65 })).rejects.toThrow(/sequenceLength is 65; the model takes 1 to 64 tokens a row/);
    const large = await storeOf(join(root, "large"), [[1]], V + 1);
    await expect(train(directory(), {}, { tokens: large })).rejects.toThrow(/vocabulary of 61 tokens, the model one of 60/);
    for (const value of [Infinity, Number.NaN, null, [1]]) {
      const unkept = { ...model, config: { ...model.config, cap: value as number } };
      await expect(train(directory(), {}, { model: unkept })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", data: { field: "cap" } });
    }
  });
});

it("its parameters load from the last checkpoint, into the same model only", async () => {
  const { checkpoint, validation: expected } = uninterrupted.result;
  const parameters = await loadParameters(engine, model, checkpoint);
  const found = await evaluateLoss({ engine, model, parameters: parameters.buffers, store: validation, sequenceLength: 16, batchSize: 4 });
  expect(found).toEqual(expected);
  parameters.release();
  await expect(loadParameters(engine, model, uninterrupted.directory)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISSING", message: expect.stringContaining("checkpoints/step-*") as string });
  await expect(loadParameters(engine, bigram(V, 8), checkpoint)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISMATCH", data: { fields: ["model.width"] } });
});

it("going on with another engine is one warning", async () => {
  const path = directory();
  await stopAfter(10, path);
  const file = join(path, "checkpoints", "step-00000010");
  await writeFile(join(file, "metadata.json"), encodeMetadata({ ...(await readCheckpointMetadata(file)), engine: "another engine" }));
  const lines: string[] = [];
  await train(path, {}, {}, { log: { ...silentLogger, warn: (message) => void lines.push(message) } });
  expect(lines).toEqual([expect.stringMatching(/another engine.*may differ in the last bits/)]);
});
