import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IrisClient } from "@marin/iris";
import { Dataset, writeJsonl } from "@marin/zephyr";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { proseOf, tinyModel } from "../../test/tiny-model.js";
import { InferenceController, type InferenceOptions } from "./iris.js";
import { scoreRows } from "../../test/score-rows.js";
import { scoreDataset } from "./score-dataset.js";
import type { ModelLocation } from "./served-model.js";

let root: string;
let location: ModelLocation;
let client: IrisClient;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-inference-"));
  location = await tinyModel(join(root, "model"));
  client = IrisClient.local({ cpus: 4 });
});
afterAll(async () => {
  await client.close();
  await rm(root, { recursive: true });
});

function options(more: Partial<InferenceOptions> = {}): InferenceOptions {
  return { ...location, client, engine: "onnx", threads: 1, ...more };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const ask = (url: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/v1/completions`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...(signal === undefined ? {} : { signal }) });

describe("InferenceController", () => {
  it("serves from a job, survives clients that go away, and stops without a trace", async () => {
    const own = new InferenceController(options({ name: "stopped" }));
    const { url, model, job } = await own.start();
    expect(model).toBe("stopped");
    expect(await client.resolve("stopped")).toBe(url);
    const pid = (await job.status()).tasks[0]?.pid ?? 0;
    expect(isAlive(pid)).toBe(true);

    const request = { prompt: "the sailor", max_tokens: 20, seed: 1 };
    const before = (await (await ask(url, request)).json()) as { choices: unknown };
    for (let i = 0; i < 5; i++) {
      const going = new AbortController();
      const response = await ask(url, { prompt: "the", max_tokens: 2000, stream: true }, going.signal);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      going.abort();
    }
    expect(((await (await ask(url, request)).json()) as { choices: unknown }).choices).toEqual(before.choices);

    const stream = await ask(url, { prompt: "the", max_tokens: 2000, stream: true, seed: 3 });
    const reading = stream.text();
    const result = await own.stop();
    expect(result?.state).toBe("KILLED");
    expect((await reading).trimEnd()).toMatch(/data: (\[DONE\]|\{"error":\{.*"code":"stopping"\}\})$/);
    expect(isAlive(pid)).toBe(false);
    await expect(fetch(`${url}/health`)).rejects.toThrow();
    expect(await client.resolve("stopped")).toBeUndefined();
  });

  it("fails to start with what the job failed with", async () => {
    const missing = new InferenceController(options({ name: "missing", checkpoint: join(root, "nothing") }));
    await expect(missing.start()).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISSING" });
    const greedy = new InferenceController(options({ name: "greedy", threads: 64 }));
    await expect(greedy.start()).rejects.toMatchObject({ code: "IRIS_UNSCHEDULABLE" });
  });

  it.each<[object, string, RegExp]>([
    [{ name: "My Model" }, "MARIN_INFERENCE_OPTIONS", /name: must be lower-case words/],
    [{ prot: 80 }, "MARIN_INFERENCE_OPTIONS", /prot/],
    [{ port: 70_000 }, "MARIN_INFERENCE_OPTIONS", /port: /],
    [{ graceMs: 60_000 }, "MARIN_INFERENCE_OPTIONS", /graceMs: /],
    [{ host: "0.0.0.0" }, "MARIN_INFERENCE_TOKEN_NEEDED", /0\.0\.0\.0/],
  ])("refuses %j", (more, code, message) => {
    expect(() => new InferenceController(options(more as Partial<InferenceOptions>))).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) as string }));
  });
});

it("scores a dataset by a job that loads the model, and by a model that is running, to the same numbers", async () => {
  const documents = Array.from({ length: 100 }, (_, i) => ({ id: `d${String(i)}`, text: proseOf(100 + i, 1 + (i % 5)) }));
  const path = join(root, "documents.jsonl");
  await writeJsonl(path, documents);
  const [loaded, running] = [join(root, "loaded"), join(root, "running")];
  const summary = await scoreDataset({ ...location, client, engine: "onnx", threads: 1, dataset: path, output: loaded });
  expect(summary).toMatchObject({ shards: 1, documents: 100, scored: 100 });
  const controller = new InferenceController(options());
  expect(await controller.scoreDataset(Dataset.fromArray(documents), running)).toEqual(summary);
  await controller.stop();
  const rows = await scoreRows(loaded);
  expect(rows.map(({ id }) => id)).toEqual(documents.map(({ id }) => id));
  expect(await scoreRows(running)).toEqual(rows);
  expect((await readdir(running)).sort()).toEqual(["part-00000-of-00001.parquet", "scores.json"]);
});
