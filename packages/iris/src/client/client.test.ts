import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type * as tasks from "../../test/fixtures/tasks.js";
import type { JobEvent, LogLine } from "../jobs/job-status.js";
import type { JobSpec } from "../jobs/job-spec.js";
import { entry } from "../platform.js";
import { IrisClient } from "./client.js";

const module = new URL("../../test/fixtures/tasks.ts", import.meta.url);
const task = <K extends keyof typeof tasks>(name: K): JobSpec["entry"] => entry(module, name);

let directory: string;
let client: IrisClient;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-"));
  client = IrisClient.local({ cpus: 4, memoryBytes: 2 ** 30, directory });
});
afterAll(async () => {
  await client.close();
  await rm(directory, { recursive: true });
});

describe.concurrent("jobs in processes of their own", { timeout: 120_000 }, () => {
  test("a job returns its value; its events lead from its start to SUCCEEDED", async () => {
    const job = await client.submit({ name: "add", entry: task("add"), args: [2, 3] });
    expect(job.id).toBe("/add");
    const states: string[] = [];
    for await (const event of job.events()) if (event.type === "state") states.push(event.status.state);
    const order = ["PENDING", "ASSIGNED", "BUILDING", "RUNNING", "SUCCEEDED"];
    expect(states.map((state) => order.indexOf(state))).toEqual(states.map((state) => order.indexOf(state)).toSorted((a, b) => a - b));
    expect(states.slice(-2)).toEqual(["RUNNING", "SUCCEEDED"]);
    expect(await job.wait()).toEqual({ state: "SUCCEEDED", value: 5, values: [5] });
    const { pid = 0 } = (await job.status()).tasks[0] ?? {};
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("each replica knows its place and has ports of its own", async () => {
    const job = await client.submit({ name: "replicas", entry: task("whoAmI"), replicas: 3, ports: ["a", "b"], resources: { cpu: 0.5 } });
    const values = (await job.wait()).values as tasks.Identity[];
    expect(values.map(({ jobId, attempt, taskIndex, numTasks }) => ({ jobId, attempt, taskIndex, numTasks }))).toEqual(
      [0, 1, 2].map((taskIndex) => ({ jobId: "/replicas", attempt: 0, taskIndex, numTasks: 3 })),
    );
    expect(new Set(values.map(({ pid }) => pid)).size).toBe(3);
    expect(new Set(values.flatMap(({ ports }) => Object.values(ports))).size).toBe(6);
    expect(values.map(({ ports }) => ports)).toEqual((await job.status()).tasks.map(({ ports }) => ports));
  });

  test("what a task throws arrives with its code, data, cause and the stack of the user's own frames", async () => {
    const job = await client.submit({ name: "throws", entry: task("throwsLate"), replicas: 2 });
    const { state, error } = await job.wait();
    expect(state).toBe("FAILED");
    expect(error).toMatchObject({ code: "USER_BROKEN", message: "the tokens do not fit", data: { tokens: 7 } });
    expect(error?.stack).toMatch(/innermostFrame.*tasks\.ts:\d+/);
    expect(error?.cause).toMatchObject({ name: "RangeError", message: "seven is too many" });
    expect((await job.status()).error).toEqual(error);
  });

  test("a module or function that is not there, and a value that cannot travel, are told as such", async () => {
    const results = await Promise.all(
      [entry(new URL("missing.ts", module), "run"), entry(module, "noSuchFunction"), task("returnsAFunction")].map(async (named, index) =>
        (await client.submit({ name: `unusable-${["a", "b", "c"][index] ?? ""}`, entry: named, resources: { cpu: 0 } })).wait(),
      ),
    );
    expect(results.map(({ state, error }) => [state, (error as { code?: string }).code])).toEqual([
      ["FAILED", "FRAY_ENTRY_IMPORT"],
      ["FAILED", "FRAY_ENTRY_MISSING"],
      ["FAILED", "IRIS_NOT_CLONABLE"],
    ]);
  });

  test("a process that is killed is told with its pid, signal and last words, and not started again", async () => {
    const job = await client.submit({ name: "killed", entry: task("killsItself") });
    const { state, error } = await job.wait();
    const { pid } = (await job.status()).tasks[0] ?? {};
    expect(state).toBe("FAILED");
    expect(error).toMatchObject({ code: "IRIS_TASK_EXITED", data: { job: "/killed", pid, signal: "SIGKILL" } });
    expect(error?.message).toContain("/killed");
    expect(error?.message).toContain("these are my last words");
    expect((await job.status()).tasks[0]).toMatchObject({ attempt: 0, state: "FAILED", cause: { kind: "signal", signal: "SIGKILL" } });
  });

  test("one that may start again does so, as often as its spec allows", async () => {
    const job = await client.submit({ name: "retried", entry: task("killsItself"), args: [1], maxRetriesFailure: 1 });
    expect(await job.wait()).toMatchObject({ state: "SUCCEEDED", value: 1 });
    expect((await job.status()).tasks[0]?.attempt).toBe(1);
    const lines = await collect(job.logs({ minLevel: "warn" }));
    expect(lines.map(({ source, attempt }) => [source, attempt])).toEqual([["stderr", 0], ["iris", 0]]);
  });

  test("an exit code is no success", async () => {
    const job = await client.submit({ name: "exits", entry: task("exits"), args: [0] });
    const { state, error } = await job.wait();
    expect(state).toBe("FAILED");
    expect(error?.message).toContain("exit code 0 before its work was done");
    expect((await collect(job.logs())).map(({ message }) => message)).toEqual(["no line end"]);
  });

  test("a job that outlives its time fails", async () => {
    const job = await client.submit({ name: "late", entry: task("stopsWhenAsked"), timeoutMs: 2_500 });
    expect(await job.wait()).toMatchObject({ state: "FAILED", error: { code: "IRIS_TIMEOUT", data: { timeoutMs: 2_500 } } });
  });

  test("every line is in the log, the last one included, also on disk; levels and tails choose among them", async () => {
    const lines = 2_000;
    const job = await client.submit({ name: "logs", entry: task("logs"), args: [lines] });
    const following = collect(job.logs({ follow: true }));
    const events: JobEvent[] = await collect(job.events());
    const of = (all: readonly LogLine[], source: LogLine["source"]): string[] => all.filter((line) => line.source === source).map(({ message }) => message);
    const followed = await following;
    const onDisk = (await readFile(join(directory, "logs", "log.jsonl"), "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line) as LogLine);
    for (const all of [followed, onDisk, await collect(job.logs()), events.filter((event) => event.type === "log").map(({ line }) => line)]) {
      expect(of(all, "log")).toEqual(Array.from({ length: lines }, (_, line) => `logged ${line}`));
      expect(of(all, "stdout")).toEqual([...Array.from({ length: lines }, (_, line) => `printed ${line}`), "the last line"]);
      expect(of(all, "stderr")).toEqual(["an error"]);
    }
    expect((await collect(job.logs({ minLevel: "warn" }))).map(({ message }) => message)).toEqual(["an error"]);
    expect(await collect(job.logs({ tail: 1 }))).toEqual([followed.at(-1)]);
    expect(followed.find(({ message }) => message === "logged 7")).toMatchObject({ level: "debug", fields: { line: 7 }, taskIndex: 0, attempt: 0 });
    expect(events).toContainEqual({ type: "progress", taskIndex: 0, attempt: 0, progress: { done: lines, total: lines, unit: "lines", detail: "done" } });
    expect(events).toContainEqual({ type: "metrics", taskIndex: 0, attempt: 0, values: { lines }, step: 3 });
  });

  test("what a task prints, logs and reports comes in the order in which it happened", async () => {
    const rounds = 300;
    const job = await client.submit({ name: "turns", entry: task("takesTurns"), args: [rounds] });
    const said = (await collect(job.events())).flatMap((event) => {
      if (event.type === "log") return [event.line.message];
      if (event.type === "progress") return [`done ${String(event.progress.done)}`];
      return event.type === "metrics" ? [`measured ${String(event.values["round"])}`] : [];
    });
    expect(said).toEqual(Array.from({ length: rounds }, (_, round) => [`printed ${round}`, `done ${round}`, `logged ${round}`, `measured ${round}`]).flat());
  });

  test("an endpoint is there while its task runs, at the task's own port", async () => {
    const job = await client.submit({ name: "serve", entry: task("serves"), ports: ["http"] });
    const other = await client.submit({ name: "serve-too", entry: task("serves"), ports: ["http"] });
    const addressOf = async (name: string): Promise<string> => (await client.resolve(name)) ?? new Promise<string>((resolve) => setTimeout(() => resolve(addressOf(name)), 20));
    const [first, second] = await Promise.all([addressOf("test/serve"), addressOf("test/serve-too")]);
    expect(first).not.toBe(second);
    expect(await text(connect(Number(first.split(":")[1])))).toBe("/serve");
    await Promise.all([job.cancel("enough"), other.cancel()]);
    expect(await client.resolve("test/serve")).toBeUndefined();
    expect(await job.wait()).toMatchObject({ state: "KILLED", error: { code: "IRIS_CANCELLED", message: "The job /serve was cancelled: enough." } });
  });

  test("a task's client submits children, which hang under the job's id and end with it", async () => {
    const job = await client.submit({ name: "parent", entry: task("hasChild") });
    const { state, value } = await job.wait();
    expect(state).toBe("SUCCEEDED");
    expect(value).toMatchObject({ id: "/parent/child", value: 42, final: "SUCCEEDED", forgotten: "/parent/forgotten" });
  });

  test("workers that a task starts have its context: fray's processes and threads report through it, others know who they are", async () => {
    const job = await client.submit({ name: "workers", entry: task("startsWorkers"), replicas: 1, ports: ["a"] });
    const { value } = await job.wait();
    const { pid } = (await job.status()).tasks[0] ?? {};
    const identity = { jobId: "/workers", attempt: 0, taskIndex: 0, numTasks: 1, ports: (await job.status()).tasks[0]?.ports };
    expect(value).toMatchObject({ process: identity, thread: { ...identity, pid }, spawned: identity });
    const events = await collect(job.events());
    const heard = events.flatMap((event) => (event.type === "log" ? [[event.line.message, event.line.fields?.["worker"]]] : []));
    expect(heard).toEqual([["heard process", "plain-process"], ["heard thread", "plain-thread"], ["warn heard spawned", undefined]]);
    expect(events.filter(({ type }) => type === "metrics")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "progress")).toHaveLength(2);
  });

  test("a context inside the task's takes over what it does not replace", async () => {
    const job = await client.submit({ name: "nested", entry: task("nestedContexts"), ports: ["a"] });
    expect(await job.wait()).toMatchObject({ value: { inner: "inner", port: true } });
  });
});
