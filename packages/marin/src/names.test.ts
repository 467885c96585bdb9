/** Every name that docs/architecture.md promises, imported from the packages' exports and used for real. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";

import { openTunnel, serveTunnel } from "@marin/ducky";
import { BloomFilter, estimateJaccard, MinHash, murmur3 } from "@marin/dupekit";
import { fingerprint, Store } from "@marin/finestore";
import { entry, LocalClient } from "@marin/fray";
import { createStorage, getIrisCtx, initializeIrisTf, IrisClient, irisCtx, JobScheduler, provide, shardingExtension, silentLogger, withLocalContext } from "@marin/iris";
import { configureMegascaleFromIris, joinDistributed, TokenStore, Trainer, trainLm } from "@marin/levanter";
import { SecretStore } from "@marin/rigging";
import { startGcsServer } from "@marin/rigging/testing";
import { getIrisCtx as getIrisCtxOfZephyr, ParquetReader, taskShare, writeParquet, zephyrContext } from "@marin/zephyr";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { double, Tally } from "../test/tally.js";
import { tinyModel } from "../test/tiny-model.js";
import { Config, Experiment, InferenceController } from "./index.js";
import type { ModelLocation } from "./inference/served-model.js";

let directory: string;
let model: ModelLocation;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-names-"));
  model = await tinyModel(directory);
});
afterAll(() => rm(directory, { recursive: true }));

const tally = new URL("../test/tally.ts", import.meta.url);

it("zephyr: ParquetReader over gs://, and getIrisCtx for the task's status", async () => {
  await using server = await gcs("my-bucket");
  const storage = createStorage({ gcs: { endpoint: server.endpoint } });
  const records = [{ id: "a", words: 9007199254740993n }, { id: "b", words: 2n }];
  await writeParquet("gs://my-bucket/dataset.parquet", records, { schema: { id: "string", words: "int64" }, storage });
  const read = await withLocalContext({ storage, jobId: "names" }, async () => {
    const seen: unknown[] = [];
    for await (const record of new ParquetReader({ path: "gs://my-bucket/dataset.parquet" })) {
      zephyrContext().count("records");
      seen.push(record);
    }
    return { seen, counters: zephyrContext().counters(), job: getIrisCtxOfZephyr()?.jobId };
  });
  expect(read).toEqual({ seen: records, counters: { records: { sum: 2, min: 1, max: 1, updates: 2 } }, job: "names" });
  expect(server.requests.length).toBeGreaterThan(1);
});

it("levanter: Trainer, trainLm, joinDistributed through the task's context", async () => {
  const tokens = await TokenStore.open(join(directory, "tokens"));
  const config = { model: { vocabSize: tokens.vocabSize, layers: 1, hiddenSize: 16, heads: 2, sequenceLength: 32 }, dataset: join(directory, "tokens"), steps: 3, batchSize: 2, sequenceLength: 32, threads: 1 };
  expect(new Trainer(config).config).toMatchObject({ steps: 3, batchSize: 2 });
  const steps: number[] = [];
  const result = await withLocalContext({ onProgress: ({ done, unit }) => { if (unit === "steps") steps.push(done); } }, () => trainLm({ ...config, directory: join(directory, "names-run") }));
  expect(result.step).toBe(3);
  expect(result.loss).toBeGreaterThan(0);
  expect(steps).toEqual([1, 2, 3]);
  await withLocalContext({}, async () => {
    const membership = await joinDistributed({ engine: "cpu", threads: 1 });
    expect(membership.engine.name).toBe("cpu");
    await membership.leave();
  });
});

it("levanter to zephyr by iris's extension: the megascale helper present and absent", async () => {
  const task = { taskIndex: 3, numTasks: 4 };
  const helper = provide(shardingExtension, configureMegascaleFromIris(task, { MEGASCALE_NUM_SLICES: "2" }));
  const present = await withLocalContext({ ...task, log: silentLogger, extensions: [helper] }, () => taskShare());
  expect(present).toMatchObject({ sliceId: 1, sliceCount: 2, indexInSlice: 1, tasksPerSlice: 2 });
  expect(await withLocalContext({ ...task, log: silentLogger }, () => taskShare())).toMatchObject({ provider: "one slice", sliceId: 0, sliceCount: 1, indexInSlice: 3, tasksPerSlice: 4 });
});

it("iris: JobScheduler, IrisClient, irisCtx, getIrisCtx, initializeIrisTf", async () => {
  const spec = { name: "double", entry: entry<typeof double>(tally, "double"), args: [21] };
  const scheduler = new JobScheduler({ cluster: "local" });
  const job = await scheduler.submit(spec);
  expect(await job.wait()).toMatchObject({ state: "SUCCEEDED", value: 42 });
  expect(scheduler.jobs().map(({ name }) => name)).toEqual(["double"]);
  await scheduler.close();
  const client = IrisClient.local({ cpus: 1 });
  expect(await (await client.submit({ ...spec, resources: { cpu: 2 } })).wait()).toMatchObject({ state: "UNSCHEDULABLE", error: { code: "IRIS_UNSCHEDULABLE" } });
  await client.close();
  expect(getIrisCtx()).toBeUndefined();
  expect(() => irisCtx()).toThrow("withLocalContext");
  let threads = 0;
  const runtime = await withLocalContext({}, () => initializeIrisTf({ setThreads: (count) => void (threads = count) }, { threads: 3 }));
  expect([threads, runtime]).toEqual([3, { threads: 3, device: "cpu", rank: 0, worldSize: 1, rendezvous: undefined }]);
});

it("marin: Config, Experiment and the program of the overview, planned and refused by an unknown cluster", async () => {
  const cfg = new Config({ model: "gpt2-small", optimizer: "adamw", dataset: "openwebtext", batchSize: 128 });
  const trainer = new Trainer(cfg);
  const scheduler = new JobScheduler({ cluster: "tpu-v4" });
  const experiment = new Experiment({ name: "gpt2_small_demo", trainer });
  expect(await scheduler.plan(experiment)).toMatchObject({ cluster: "tpu-v4" });
  await expect(scheduler.submit(experiment)).rejects.toMatchObject({ code: "IRIS_CLUSTER_UNKNOWN", message: expect.stringContaining(join("clusters", "tpu-v4.json")) as string });
  await scheduler.close();
});

it("marin: the inference controller", async () => {
  await using controller = new InferenceController({ ...model, threads: 1 });
  const { url } = await controller.start();
  const response = await fetch(`${url}/v1/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ prompt: "the sailor", max_tokens: 4, seed: 1 }) });
  expect(response.status).toBe(200);
  const { choices } = (await response.json()) as { choices: { text: string }[] };
  expect(choices[0]?.text).not.toBe("");
});

it("fray: an actor's calls", async () => {
  await using client = new LocalClient();
  const actor = await client.createActor<Tally>(entry<() => Tally>(tally, "Tally") as never, [], { kind: "process", name: "tally" });
  expect(await Promise.all([actor.add(1), actor.add(2)])).toEqual([1, 3]);
});

it("rigging: SecretStore.get, and a secret that does not show itself", async () => {
  const file = join(directory, "key");
  await writeFile(file, "sk-not-to-be-seen\n");
  const secret = await new SecretStore({ env: { MARIN_SECRET_OPENAI_API_KEY_FILE: file } }).get("openai_api_key");
  expect(secret.reveal()).toBe("sk-not-to-be-seen");
  expect([String(secret), JSON.stringify({ secret }), inspect({ secret }, { depth: 5, showHidden: true })].join()).not.toContain("sk-not");
  await expect(new SecretStore().get("openai_api_key")).rejects.toMatchObject({ code: "RIGGING_SECRET_MISSING" });
});

it("ducky: an echo through a tunnel", async () => {
  const echo = createServer((socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
  await new Promise((resolve) => echo.once("listening", resolve));
  const target = `127.0.0.1:${String((echo.address() as AddressInfo).port)}`;
  const relay = await serveTunnel({ token: "open", allow: [target] });
  await expect(openTunnel({ relay: relay.url, token: "wrong", target })).rejects.toThrow();
  const tunnel = await openTunnel({ relay: relay.url, token: "open", target });
  const socket = connect(tunnel.port, tunnel.host).end("through and back");
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  expect(answer).toBe("through and back");
  await tunnel.close();
  await relay.close();
  echo.close();
});

it("dupekit: MinHash and Bloom filters", () => {
  const hasher = new MinHash({ permutations: 128, seed: 1 });
  const words = (text: string): Uint32Array => Uint32Array.from(text.split(" "), (word) => murmur3(new TextEncoder().encode(word)));
  const [a, b] = ["the old ship sailed far away", "the old ship sailed far off"].map((text) => hasher.signature(words(text)));
  // 5 words of 7 are shared.
  expect(Math.abs(estimateJaccard(a as Uint32Array, b as Uint32Array) - 5 / 7)).toBeLessThan(3 * Math.sqrt((5 / 7) * (2 / 7) / 128));
  const filter = BloomFilter.create({ items: 100, falsePositiveRate: 0.01 });
  filter.add("whale");
  expect([filter.has("whale"), filter.has("gull")]).toEqual([true, false]);
});

it("finestore: a round trip through the store", async () => {
  const store = await Store.open(join(directory, "store"));
  const parts = { name: "numbers", version: "1", config: { count: 3 }, inputs: {} };
  const id = fingerprint(parts);
  await store.produce("numbers", id, { version: "1", config: parts.config, inputs: {} }, (files) => writeFile(join(files, "numbers.txt"), "1 2 3"));
  const artifact = await store.get("numbers", id);
  expect(await readFile(join(artifact?.directory ?? "", "numbers.txt"), "utf8")).toBe("1 2 3");
});

/** A server that speaks the JSON API of Google Cloud Storage on this machine. */
async function gcs(bucket: string): Promise<Awaited<ReturnType<typeof startGcsServer>> & AsyncDisposable> {
  const server = await startGcsServer({ buckets: [bucket] });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}
