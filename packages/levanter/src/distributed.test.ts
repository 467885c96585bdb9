import { IrisClient, irisCtx, silentLogger, withLocalContext, type MetricValues } from "@marin/iris";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import { joinDistributed } from "./distributed.js";
import { trainLm, trainLmEntry, type TrainLmConfig } from "./main/train-lm.js";

describe("joinDistributed", () => {
  it("registers the worker with what it computes with, and leaves at the task's end", async () => {
    const metrics: MetricValues[] = [];
    const controller = new AbortController();
    await withLocalContext({ log: silentLogger, jobId: "/job", resources: { cpu: 1, memoryBytes: 0, diskBytes: 0 } }, async () => {
      const { registry } = irisCtx();
      const name = "/job/workers/0";
      await withLocalContext({ jobId: "/job", onMetrics: (values) => void metrics.push(values) }, async () => {
        const worker = await joinDistributed({ engine: "onnx" });
        expect(worker).toMatchObject({ rank: 0, worldSize: 1, threads: 1, device: "cpu", rendezvous: undefined });
        expect(worker.engine.description).toContain("1 thread");
        expect(await registry.resolve(name)).toBe(`pid:${String(process.pid)}`);
      });
      expect(await registry.resolve(name)).toBeUndefined();
      expect(metrics).toEqual([{ rank: 0, worldSize: 1, threads: 1 }]);

      await withLocalContext({ jobId: "/job", signal: controller.signal }, async () => {
        const worker = await joinDistributed({ threads: 2 });
        expect(worker.threads).toBe(2);
        controller.abort();
        expect(await registry.resolve(name)).toBeUndefined();
        await worker.leave();
        await worker.leave();
      });
    });
  });

  it("needs a task", async () => {
    await expect(joinDistributed()).rejects.toMatchObject({ code: "IRIS_NO_CONTEXT" });
  });
});

describe("trainLm as a job", () => {
  let root: string;
  let client: IrisClient;
  let config: TrainLmConfig;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "levanter-job-"));
    client = IrisClient.local({ cpus: 4 });
    const tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 500, 40), 40);
    const model = { layers: 1, hiddenSize: 8, heads: 2, sequenceLength: 16 };
    config = { model, dataset: tokens.directory, directory: join(root, "job"), steps: 5, batchSize: 2, learningRate: 0.01, warmup: 0 };
  });
  afterAll(async () => {
    await client.close();
    await rm(root, { recursive: true });
  });

  it("trains in a process of its own, to the numbers of a run in this one, and reports through its context", async () => {
    const job = await client.submit({ name: "train", entry: trainLmEntry, args: [config] });
    const reports: string[] = [];
    const losses: (number | undefined)[] = [];
    for await (const event of job.events()) {
      if (event.type === "progress") reports.push(`${String(event.progress.done)} ${event.progress.unit}`);
      if (event.type === "metrics" && event.step !== undefined) losses.push(event.values["loss"]);
    }
    const { state, value } = await job.wait();
    const here = await withLocalContext({ log: silentLogger }, () => trainLm({ ...config, directory: join(root, "here") }));
    expect({ state, value }).toEqual({ state: "SUCCEEDED", value: { ...here, checkpoint: join(root, "job", "checkpoints", "step-00000005") } });
    expect(losses).toHaveLength(5);
    expect(losses.at(-1)).toBe(here.loss);
    expect(reports.at(-1)).toBe("5 steps");
  });

  it("stops with a checkpoint when it is cancelled", async () => {
    const directory = join(root, "cancelled");
    const job = await client.submit({ name: "train", entry: trainLmEntry, args: [{ ...config, directory, steps: 1_000_000, checkpointEvery: 0, logEvery: 1000 }] });
    for await (const event of job.events()) if (event.type === "progress") break;
    await job.cancel();
    expect((await job.status()).state).toBe("KILLED");
    expect(await readdir(join(directory, "checkpoints"))).toHaveLength(1);
  });

  it("refuses to train one model in several tasks", async () => {
    const job = await client.submit({ name: "train", entry: trainLmEntry, args: [config], replicas: 2 });
    expect(await job.wait()).toMatchObject({ state: "FAILED", error: { code: "LEVANTER_DISTRIBUTED" } });
  });
});
