import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { add } from "../test/fixtures/tasks.js";
import { JobScheduler } from "./job-scheduler.js";
import type { JobSpec, Submittable } from "./jobs/job-spec.js";
import { entry } from "./platform.js";

const job: JobSpec = { name: "gpt2_small_demo", entry: entry<typeof add>(new URL("../test/fixtures/tasks.ts", import.meta.url), "add"), args: [1, 2], resources: { cpu: 1 } };

/** As marin's `Experiment` does. */
class Experiment implements Submittable {
  toJob(): JobSpec {
    return job;
  }
}

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-clusters-"));
  vi.stubEnv("MARIN_CLUSTERS", directory);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

async function configure(name: string, content: unknown): Promise<void> {
  await writeFile(join(directory, `${name}.json`), typeof content === "string" ? content : JSON.stringify(content));
}

test("a program for a cluster that nobody has configured plans, and is refused when it submits, with the file to write", async () => {
  const scheduler = new JobScheduler({ cluster: "tpu-v4" });
  const experiment = new Experiment();
  const path = join(directory, "tpu-v4.json");
  const plan = await scheduler.plan(experiment);
  expect(plan).toMatchObject({ cluster: "tpu-v4", clusterFile: path, runnable: false, job: { name: "gpt2_small_demo" }, problem: expect.stringContaining(path) as string });
  await expect(scheduler.submit(experiment)).rejects.toMatchObject({ code: "IRIS_CLUSTER_UNKNOWN", data: { cluster: "tpu-v4", path }, message: expect.stringContaining('{ "type": "local", "cpus": 2') as string });
  expect(scheduler.jobs()).toEqual([]);
  await scheduler.close();
});

test("the file it names makes it run", async () => {
  await using scheduler = new JobScheduler({ cluster: "tpu-v4" });
  await expect(scheduler.submit(new Experiment())).rejects.toMatchObject({ code: "IRIS_CLUSTER_UNKNOWN" });
  await configure("tpu-v4", { type: "local", cpus: 2, memory: "4GiB" });
  expect(await scheduler.plan(new Experiment())).toMatchObject({ runnable: true, capacity: { cpu: 2, memoryBytes: 2 ** 32 } });
  const submitted = await scheduler.submit(new Experiment());
  expect(scheduler.jobs()).toEqual([submitted]);
  expect(await submitted.wait()).toMatchObject({ state: "SUCCEEDED", value: 3 });
});

test("a job that asks for more than the cluster has is UNSCHEDULABLE at once, naming dimension and numbers", async () => {
  await configure("small", { type: "local", cpus: 2, memory: "1GiB" });
  await using scheduler = new JobScheduler({ cluster: "small" });
  for (const [name, resources, dimension, asked, available] of [
    ["too-wide", { cpu: 3 }, "cpu", "3", "2"],
    ["too-big", { memoryBytes: 2 ** 31 }, "memoryBytes", "2GiB", "1GiB"],
    ["no-gpu", { device: { kind: "gpu" as const } }, "gpu", "1", "0"],
  ] as const) {
    const spec = { ...job, name, resources };
    expect(await scheduler.plan(spec)).toMatchObject({ runnable: false, problem: expect.stringContaining(`It asks for ${dimension} ${asked}, and at most ${available} can be had. Nearest: `) as string });
    const submitted = await scheduler.submit(spec);
    expect(await submitted.status()).toMatchObject({ state: "UNSCHEDULABLE", error: { code: "IRIS_UNSCHEDULABLE", data: { dimension, asked, available } } });
    expect((await submitted.wait()).state).toBe("UNSCHEDULABLE");
  }
});

test.each([
  ["is of another type", { type: "slurm" }, "IRIS_CLUSTER_UNSUPPORTED", 'of type "slurm"'],
  ["is no JSON", "{", "IRIS_CLUSTER_INVALID", "it is not JSON"],
  ["has no type", {}, "IRIS_CLUSTER_INVALID", "type: "],
  ["has a field that is not known", { type: "local", cores: 2 }, "IRIS_CLUSTER_INVALID", "cores"],
  ["has a size that is none", { type: "local", memory: "much" }, "IRIS_CLUSTER_INVALID", "memory: "],
])("a file that %s is told as such, with its path", async (_what, content, code, message) => {
  await configure("odd", content);
  const scheduler = new JobScheduler({ cluster: "odd" });
  const refusal = expect.objectContaining({ code, message: expect.stringContaining(message) as string, data: expect.objectContaining({ path: join(directory, "odd.json") }) as object }) as object;
  await expect(scheduler.submit(job)).rejects.toEqual(refusal);
  expect(await scheduler.plan(job)).toMatchObject({ runnable: false, problem: expect.stringContaining(message) as string });
});

test("a directory in the file's place is told as such; a name that is a path is refused", async () => {
  await mkdir(join(directory, "folder.json"));
  await expect(new JobScheduler({ cluster: "folder" }).submit(job)).rejects.toMatchObject({ code: expect.stringContaining("RIGGING_") as string });
  await expect(new JobScheduler({ cluster: "../secrets" }).submit(job)).rejects.toMatchObject({ code: "IRIS_BAD_CLUSTER_NAME" });
});

test("local is this machine, unless a file says how much of it to give", async () => {
  expect(await new JobScheduler().plan(job)).toMatchObject({ cluster: "local", runnable: true });
  await configure("local", { type: "local", cpus: 0.5 });
  expect(await new JobScheduler().plan(job)).toMatchObject({ runnable: false, capacity: { cpu: 0.5 } });
});

test("a name is free again once its job has ended, and not before", async () => {
  await configure("small", { type: "local", cpus: 1 });
  const scheduler = new JobScheduler({ cluster: "small" });
  const first = await scheduler.submit(job);
  await expect(scheduler.submit(job)).rejects.toMatchObject({ code: "IRIS_JOB_EXISTS", data: { job: "/gpt2_small_demo" } });
  await first.wait();
  const second = await scheduler.submit(job);
  expect([first.id, second.id]).toEqual(["/gpt2_small_demo", "/gpt2_small_demo"]);
  expect(second.uid).not.toBe(first.uid);
  expect(await first.status()).toMatchObject({ uid: first.uid, state: "SUCCEEDED" });
  await scheduler.close();
  expect((await second.status()).state).toBe("KILLED");
  await expect(scheduler.submit({ ...job, name: "late" })).rejects.toMatchObject({ code: "IRIS_CLOSED" });
});
