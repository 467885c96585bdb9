import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@marin/iris";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { bigram } from "../test/bigram.js";
import { metricsOf, numbersOf } from "../test/metrics-rows.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import { loadParameters } from "./checkpoint/load-parameters.js";
import type { TokenStore } from "./data/token-store.js";
import { OnnxEngine } from "./engine/compiled-engine.js";
import type { Engine } from "./engine/types.js";
import { stepOfEvent } from "./tracker/event-proto.js";
import { decodeRecords } from "./tracker/event-records.js";
import type { TrackedMetrics, Tracker } from "./tracker/tracker.js";
import { Trainer, type TrainerOptions, type TrainOptions, type TrainResult } from "./trainer.js";
import type { TrainerConfigInput } from "./trainer-config.js";

const V = 60;
const model = bigram(V, 16);
const CONFIG: TrainerConfigInput = { steps: 12, batchSize: 4, sequenceLength: 16, learningRate: 0.05, warmup: 0.1, checkpointEvery: 4, evaluateEvery: 6, keepCheckpoints: 100 };

let root: string;
let engine: Engine;
let tokens: TokenStore;
let validation: TokenStore;
let next = 0;
const directory = (): string => join(root, `run-${String(next++)}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-trainer-options-"));
  engine = await OnnxEngine.create({ threads: 1 });
  tokens = await storeOf(join(root, "train"), zipfDocuments(1, 3000, V), V);
  validation = await storeOf(join(root, "validation"), zipfDocuments(2, 700, V), V);
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function train(path: string, config: TrainerConfigInput = {}, options: Partial<TrainOptions> = {}, settings: TrainerOptions = {}): Promise<TrainResult> {
  return new Trainer({ ...CONFIG, ...config }, { engine, ...settings }).train({ model, tokens, validation, directory: path, ...options });
}

/** Trains with a fault at a step, and goes on after it, the fault still being asked for. */
async function trainWithFault(step: number, run: () => Promise<TrainResult>): Promise<TrainResult> {
  vi.stubEnv("MARIN_FAULT_INJECTION_STEPS", String(step));
  await expect(run()).rejects.toMatchObject({ code: "LEVANTER_FAULT_INJECTED", data: { step } });
  const result = await run();
  vi.unstubAllEnvs();
  return result;
}

async function parametersOf(checkpoint: string): Promise<Record<string, readonly number[]>> {
  const group = await loadParameters(engine, model, checkpoint);
  const values = await Promise.all(Object.entries(group.buffers).map(async ([name, buffer]) => [name, [...(await buffer.read())]] as const));
  group.release();
  return Object.fromEntries(values);
}

describe("a batch schedule", () => {
  const config = { batchSize: [{ start: 0, value: 2 }, { start: 5, value: 6 }], microbatchSize: 2 };

  it("changes the batch at its steps, counts tokens by it, and resumes across the change", async () => {
    const [whole, resumed] = [directory(), directory()];
    await train(whole, config);
    const rows = await metricsOf(whole);
    expect(rows.map((row) => row["tokens"])).toEqual([2, 4, 6, 8, 10, 16, 22, 28, 34, 40, 46, 52].map((sequences) => 16 * sequences));
    expect(await trainWithFault(7, () => train(resumed, config))).toMatchObject({ resumedFrom: 4 });
    expect(await numbersOf(resumed)).toEqual(await numbersOf(whole));
  });

  it("with stages of one size is the run without stages", async () => {
    const [plain, staged] = [directory(), directory()];
    await train(plain, { batchSize: 4, microbatchSize: 2 });
    await train(staged, { batchSize: [{ start: 0, value: 4 }, { start: 3, value: 4 }], microbatchSize: 2 });
    expect(await numbersOf(staged)).toEqual(await numbersOf(plain));
  });

  it("whose batches microbatches do not make up is refused", () => {
    expect(() => new Trainer({ batchSize: [{ start: 0, value: 4 }, { start: 5, value: 6 }], microbatchSize: 4 })).toThrow(/microbatchSize: must divide batchSize/);
    expect(() => new Trainer({ batchSize: [{ start: 1, value: 4 }] })).toThrow(/batchSize/);
  });
});

describe("a moving average", () => {
  it("is evaluated beside the parameters, saved and restored", async () => {
    const [whole, resumed] = [directory(), directory()];
    const result = await train(whole, { emaBeta: 0.8 });
    expect(result.emaValidation?.tokens).toBe(validation.tokenCount);
    // Early in a run that learns, the average lags behind.
    expect(result.emaValidation?.loss).toBeGreaterThan(result.validation?.loss ?? Infinity);
    expect((await metricsOf(whole)).filter((row) => row.emaValidation !== undefined).map((row) => row.step)).toEqual([6, 12]);
    const again = await trainWithFault(10, () => train(resumed, { emaBeta: 0.8 }));
    expect(again).toEqual({ ...result, resumedFrom: 8, checkpoint: again.checkpoint });
    expect(await numbersOf(resumed)).toEqual(await numbersOf(whole));
  });

  it("with beta 0 is the parameters themselves, and changes nothing of the run", async () => {
    const [with0, without] = [directory(), directory()];
    const result = await train(with0, { emaBeta: 0 });
    expect(result.emaValidation).toEqual(result.validation);
    const plain = await train(without);
    expect(plain.emaValidation).toBeUndefined();
    expect(await parametersOf(result.checkpoint)).toEqual(await parametersOf(plain.checkpoint));
  });
});

describe("skipping bad steps", () => {
  // 20 steps on ordinary text; what follows is a jump in the loss, since the tokens that were rare are all there is.
  const config = { steps: 24, warmup: 0, learningRate: 0.01, skipBadSteps: { rollingLength: 16, sigmaFactor: 4 }, checkpointEvery: 5, evaluateEvery: 0 };

  it("leaves parameters as they are at an outlier, goes on from the same history after a crash, and says which steps it skipped", async () => {
    const odd = await storeOf(join(root, "odd"), Array.from({ length: 200 }, (_, i) => [V - 1 - (i % 3), V - 1, V - 5]), V);
    const mixture = { stores: { ordinary: tokens, odd }, weights: [{ start: 0, weights: { ordinary: 1, odd: 0 } }, { start: 20, weights: { ordinary: 0, odd: 1 } }], blockSize: 4 };
    const [whole, resumed] = [directory(), directory()];
    await train(whole, config, { tokens: mixture });
    const skipped = (await metricsOf(whole)).filter((row) => row["skipped"] === true).map((row) => row.step);
    expect(skipped[0]).toBe(21);
    expect(await trainWithFault(18, () => train(resumed, config, { tokens: mixture }))).toMatchObject({ resumedFrom: 15 });
    expect(await numbersOf(resumed)).toEqual(await numbersOf(whole));
    const every = directory();
    const { checkpoint } = await train(every, { ...config, checkpointEvery: 1 }, { tokens: mixture });
    const at = (step: number): ReturnType<typeof parametersOf> => parametersOf(join(checkpoint, "..", `step-000000${String(step)}`));
    expect(await at(21)).toEqual(await at(20));
    expect(await at(20)).not.toEqual(await at(19));
  });
});

describe("what is trained", () => {
  it("may be a mixture, whose stages resume exactly; another mixture is another run", async () => {
    const other = await storeOf(join(root, "other"), zipfDocuments(5, 1000, V), V);
    const mixture = { stores: { first: tokens, second: other }, weights: [{ start: 0, weights: { first: 3, second: 1 } }, { start: 6, weights: { first: 1, second: 1 } }], blockSize: 8 };
    const [whole, resumed] = [directory(), directory()];
    await train(whole, {}, { tokens: mixture });
    await trainWithFault(9, () => train(resumed, {}, { tokens: mixture }));
    await expect(train(resumed, {}, { tokens: { ...mixture, blockSize: 4 } })).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISMATCH", data: { fields: ["data.fingerprint"] } });
    expect(await numbersOf(resumed)).toEqual(await numbersOf(whole));
    const named = directory();
    const byName = { weights: mixture.weights, blockSize: 8, datasets: { first: tokens.directory, second: other.directory } };
    await train(named, { mixture: byName }, { tokens: undefined });
    expect(await numbersOf(named)).toEqual(await numbersOf(whole));
    await expect(train(directory(), { mixture: byName, dataset: tokens.directory }, { tokens: undefined })).rejects.toThrow(/both "dataset" and "mixture"/);
  });
});

describe("hooks", () => {
  it("run after the checkpoint; those that a failure has kept from ending run after the resume, those that ended do not", async () => {
    const path = directory();
    const calls: string[] = [];
    let broken = true;
    const trainer = (): Trainer =>
      new Trainer({ ...CONFIG, evaluateEvery: 0 }, { engine })
        .addHook(({ step }) => void calls.push(`first ${String(step)}`), { every: 4, name: "first" })
        .addHook(({ step, loss }) => {
          if (broken && step === 8) throw new Error("no space for the export");
          calls.push(`export ${String(step)} ${String(Number.isFinite(loss))}`);
        }, { every: 8, name: "export" })
        .addHook(({ step }) => void calls.push(`last ${String(step)}`), { every: 8 });
    const run = (): Promise<TrainResult> => trainer().train({ model, tokens, directory: path });
    await expect(run()).rejects.toMatchObject({ code: "LEVANTER_HOOK", data: { hook: "export", step: 8 }, message: expect.stringContaining("no space for the export") as string });
    expect(calls).toEqual(["first 4", "first 8"]);
    broken = false;
    expect(await run()).toMatchObject({ resumedFrom: 8 });
    expect(calls.slice(2)).toEqual(["export 8 true", "last 8", "first 12", "export 12 true", "last 12"]);
    expect(await run()).toMatchObject({ resumedFrom: 12 });
    expect(calls).toHaveLength(7);
  });

  it("have names of their own", () => {
    const trainer = new Trainer().addHook(() => undefined, { name: "export" });
    expect(() => trainer.addHook(() => undefined, { name: "export" })).toThrow(/hook named "export"/);
    expect(() => trainer.addHook(() => undefined, { every: 0 })).toThrow(RangeError);
  });
});

it("a NaN stops the run before anything of it is saved, and before any later step", async () => {
  const path = directory();
  const hooked: number[] = [];
  vi.stubEnv("MARIN_FAULT_INJECTION_NAN_STEPS", "[8]");
  const failing = new Trainer({ ...CONFIG, checkpointEvery: 1 }, { engine }).addHook(({ step }) => void hooked.push(step));
  await expect(failing.train({ model, tokens, directory: path })).rejects.toMatchObject({ code: "LEVANTER_NOT_FINITE", data: { step: 8, checkpointStep: 7 } });
  expect(hooked).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect((await metricsOf(path)).at(-1)?.step).toBe(7);
  expect((await readdir(join(path, "checkpoints"))).sort().at(-1)).toBe("step-00000007");
  const { checkpoint } = await train(path, { checkpointEvery: 1 });
  vi.unstubAllEnvs();
  const whole = await train(directory());
  expect(await parametersOf(checkpoint)).toEqual(await parametersOf(whole.checkpoint));
  expect(await readdir(path)).not.toContain(".faults");
});

describe("trackers", () => {
  it("get losses, rates, throughput and evaluations; TensorBoard's file has each step once, also after a crash", async () => {
    const path = directory();
    const seen: (readonly [number, TrackedMetrics])[] = [];
    const other: unknown[] = [];
    const tracker: Tracker = {
      name: "test",
      log: (step, metrics) => void seen.push([step, metrics]),
      logHyperparameters: ({ steps }) => void other.push({ steps }),
      logSummary: ({ step }) => void other.push({ step }),
      finish: () => void other.push("finished"),
    };
    const warnings: string[] = [];
    const settings: TrainerOptions = {
      trackers: [() => tracker, () => Promise.reject(new Error("no such service")), () => undefined as unknown as Tracker],
      log: { ...silentLogger, warn: (message) => void warnings.push(message) },
    };
    const config: TrainerConfigInput = { trackers: ["tensorboard"], emaBeta: 0.5, peakFlops: 1e9, logEvery: 2 };
    const { snapshotBytes } = await trainWithFault(11, () => train(path, config, {}, settings));
    // Parameters, two moments, the average.
    expect(snapshotBytes).toBe(4 * 4 * Object.values(model.parameters).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0));
    expect(other).toEqual([{ steps: 12 }, "finished", { step: 12 }, "finished"]);
    expect(seen.map(([step]) => step)).toEqual([2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 12]);
    expect(seen[2]).toEqual([4, { "checkpoint/snapshot_bytes": snapshotBytes, "checkpoint/blocked_seconds": expect.any(Number) as number }]);
    expect(Object.keys(seen[0]?.[1] ?? {})).toEqual(expect.arrayContaining(["train/loss", "train/gradient_norm", "optim/learning_rate", "throughput/tokens_per_second", "throughput/duration"]));
    expect(Object.keys(seen.at(-1)?.[1] ?? {})).toEqual(["eval/loss", "eval/bpb", "eval/ema/loss", "eval/ema/bpb"]);
    expect(warnings).toEqual(Array.from({ length: 4 }, () => "a tracker could not be opened; training goes on without it"));
    const file = await readFile(join(path, "tensorboard", "events.out.tfevents"));
    const steps = [...decodeRecords(file)].map(({ data }) => stepOfEvent(data));
    // The version and the options; each line of metrics; each evaluation and checkpoint; the summary.
    expect(steps).toEqual([0, 0, 2, 4, 4, 6, 6, 8, 8, 10, 12, 12, 12, 12]);
  });
});

describe("temporary checkpoints", () => {
  it("are written when time has passed, elsewhere where asked to, and resumed from", async () => {
    const [path, elsewhere] = [directory(), join(directory(), "temporary")];
    const config = { checkpointEvery: 0, saveIntervalSeconds: 1e-9, temporaryCheckpointDirectory: elsewhere };
    const result = await trainWithFault(6, () => train(path, config));
    expect(result.resumedFrom).toBeGreaterThan(0);
    expect(result.checkpoint).toBe(join(path, "checkpoints", "step-00000012"));
    expect((await readdir(elsewhere)).filter((name) => name.startsWith("step-"))).toEqual([]);
    const whole = await train(directory());
    expect(await parametersOf(result.checkpoint)).toEqual(await parametersOf(whole.checkpoint));
  });
});
