import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ManualClock, seededRandom } from "@marin/rigging";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SimulatedController, continueStore, settle, submission } from "../testing/simulated-controller.js";
import { type Script, SimulatedWorker, ended } from "../testing/simulated-worker.js";
import type { SubmitRequest } from "../client/iris-api.js";
import type { JobSpec } from "../jobs/job-spec.js";
import { isFinal } from "../jobs/job-status.js";
import { controllerApi } from "./controller-api.js";

const capacity = { cpu: 4, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 };
const job = (name: string, more: Partial<JobSpec> = {}): Omit<JobSpec, "entry"> => ({ name, ...more });

let directory: string;
let running: SimulatedController[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-controller-"));
});
afterEach(async () => {
  for (const { kill } of running) kill();
  running = [];
  await rm(directory, { recursive: true });
});

async function open(workers: readonly SimulatedWorker[], clock?: ManualClock): Promise<SimulatedController> {
  const opened = await continueStore(join(directory, "iris.db"), { ...(clock === undefined ? {} : { clock }), times: { workerTimeoutMs: 60_000 } });
  running.push(opened);
  for (const worker of workers) opened.controller.addWorker(worker.link());
  await settle();
  return opened;
}

function kill(target: SimulatedController, workers: readonly SimulatedWorker[]): void {
  target.kill();
  running = running.filter((each) => each !== target);
  for (const worker of workers) worker.disconnect();
}

async function finish(workers: readonly SimulatedWorker[], isOver: () => boolean): Promise<void> {
  // The scheduler takes its share of the time, which a busy machine makes long.
  for (const start = performance.now(); !isOver() && performance.now() - start < 30_000; ) {
    for (const worker of workers) worker.step();
    await settle();
    await delay(1);
  }
}

describe("Kill -9 the controller mid-run", () => {
  test("whatever was accepted ends once, whenever controllers die, workers are cut off and jobs are cancelled (simulated, 10 histories)", async () => {
    for (let seed = 1; seed <= 10; seed += 1) await history(seed);
  });

  async function history(seed: number): Promise<void> {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const script: Script = (_, uid) => [{ type: "building" }, { type: "started", pid: 1, ports: {} }, { type: "log", source: "stdout", level: "info", message: uid }, ended(uid.charCodeAt(0) % 4 === 0 ? { kind: "failed", cause: { kind: "exit", code: 1, stderrTail: "" } } : { kind: "returned", value: new Uint8Array([1]) })];
    const workers = [new SimulatedWorker("w1", capacity, script), new SimulatedWorker("w2", capacity, script)];
    const clock = new ManualClock();
    const path = join(directory, `${String(seed)}.db`);
    const start = async (): Promise<SimulatedController> => {
      const opened = await continueStore(path, { clock });
      running.push(opened);
      for (const worker of workers) opened.controller.addWorker(worker.link());
      return opened;
    };
    let current = await start();
    const accepted = new Map<string, string>();
    const requests = new Map<string, SubmitRequest>();
    let submitted = 0;
    for (let step = 0; step < 60; step += 1) {
      const what = random();
      if (what < 0.3) {
        const id = String(submitted++);
        const gang = below(4) === 0 ? { gang: {} } : {};
        const request = submission(job(`job-${["a", "b", "c", "d", "e", "f"][below(6)] ?? ""}${id}`, { replicas: 1 + below(3), maxRetriesFailure: below(2), backoff: { initialMs: 0 }, ...gang }), id);
        requests.set(id, request);
        const answer = current.api.submit(request);
        // Sometimes the controller dies before it answers: whether it has accepted the job shows later.
        if (below(4) > 0) accepted.set(id, (await answer).uid);
        else answer.catch(() => undefined);
      } else if (what < 0.75) {
        for (const worker of workers) worker.step();
      } else if (what < 0.83) {
        kill(current, workers);
        current = await start();
      } else if (what < 0.9) {
        const worker = workers[below(2)] as SimulatedWorker;
        worker.disconnect();
        await settle();
        if (below(2) === 0) await clock.advance(1_000);
        current.controller.addWorker(worker.link());
      } else if (accepted.size > 0) {
        const [, uid] = [...accepted][below(accepted.size)] as [string, string];
        await current.api.cancel({ job: uid, reason: { error: { name: "Error", message: "enough" }, stacks: [] } });
      }
      if (below(3) === 0) await settle(below(4));
    }
    await settle();
    await finish(workers, () => current.controller.idle);
    expect(current.controller.idle, `history ${String(seed)} ends`).toBe(true);
    for (const [id, uid] of accepted) {
      const status = await current.api.status({ job: uid });
      expect(isFinal(status.state)).toBe(true);
      for (const task of status.tasks) expect(task.state === "SUCCEEDED" ? task.attempts.at(-1)?.state : "SUCCEEDED").toBe("SUCCEEDED");
      // The same submission again is the same job, long after its end.
      expect((await current.api.submit(requests.get(id) as SubmitRequest)).uid).toBe(uid);
    }
    const started = workers.flatMap((worker) => worker.started.map(({ attemptUid }) => attemptUid));
    expect(new Set(started).size).toBe(started.length);
    for (const { jobUid, taskIndex } of workers.flatMap((worker) => worker.started.map(({ order }) => order))) {
      const attempts = (await current.api.status({ job: jobUid })).tasks[taskIndex]?.attempts ?? [];
      // Every start is in the history, each begun after the one before had ended.
      for (const [index, attempt] of attempts.entries()) {
        expect(attempt.number).toBe(index);
        expect(started).toContain(attempt.uid);
        if (index > 0) expect(attempt.assignedAt >= (attempts[index - 1]?.endedAt ?? "~")).toBe(true);
      }
    }
    await settle();
    expect(workers.map((worker) => worker.running)).toEqual([0, 0]);
    kill(current, workers);
  }

  test("a task that runs is taken over, one that ended meanwhile is reported as ended, one that was only assigned is started once", async () => {
    const worker = new SimulatedWorker("w", { ...capacity, cpu: 3 });
    const first = await open([worker]);
    const [runs, ends] = await Promise.all(["runs", "ends"].map((name) => first.api.submit(submission(job(name), name))));
    await settle();
    worker.step();
    worker.step();
    await settle();
    worker.reachable = false;
    worker.disconnect();
    await settle();
    kill(first, []);
    const endsUid = (await Promise.all([first.api.status({ job: ends?.uid ?? "" })]))[0]?.tasks[0]?.attemptUid ?? "";
    worker.step(endsUid);
    worker.reachable = true;
    const second = await open([worker]);
    await settle();
    expect((await second.api.status({ job: ends?.uid ?? "" })).state).toBe("SUCCEEDED");
    expect((await second.api.status({ job: runs?.uid ?? "" })).tasks[0]).toMatchObject({ state: "RUNNING", attempt: 0 });
    const late = await second.api.submit(submission(job("late"), "late"));
    kill(second, [worker]);
    const third = await open([worker]);
    await settle();
    await finish([worker], () => third.controller.idle);
    for (const uid of [runs?.uid, ends?.uid, late.uid]) expect((await third.api.wait({ job: uid ?? "" })).state).toBe("SUCCEEDED");
    expect(worker.started).toHaveLength(3);
  });
});

describe("Unreachable is not dead", () => {
  test("a worker that cannot be reached keeps its tasks until its time is up, and the job's log says so; then they start elsewhere", async () => {
    const [far, near] = [new SimulatedWorker("far", { ...capacity, cpu: 1 }), new SimulatedWorker("near", { ...capacity, cpu: 1 })];
    const clock = new ManualClock();
    const { api, controller } = await open([far], clock);
    const { uid } = await api.submit(submission(job("train"), "train"));
    await settle();
    far.step();
    far.step();
    await settle();
    far.reachable = false;
    far.disconnect();
    await settle();
    controller.addWorker(near.link());
    await clock.advance(50_000);
    await settle();
    expect(await api.status({ job: uid })).toMatchObject({ state: "RUNNING", tasks: [{ attempt: 0, worker: "far" }] });
    expect(await api.workers({})).toMatchObject([{ name: "far", state: "unreachable" }, { name: "near", state: "reachable" }]);
    far.reachable = true;
    controller.addWorker(far.link());
    await clock.advance(50_000);
    await settle();
    expect(await api.status({ job: uid })).toMatchObject({ state: "RUNNING", tasks: [{ attempt: 0, worker: "far" }] });
    far.reachable = false;
    far.disconnect();
    await settle();
    await clock.advance(130_000);
    await settle();
    expect(await api.status({ job: uid })).toMatchObject({ tasks: [{ attempt: 1, worker: "near", attempts: [{ state: "WORKER_FAILED", cause: { kind: "node-lost", worker: "far" } }, {}] }] });
    const said: string[] = [];
    for await (const { lines } of api.logs({ job: uid })) said.push(...lines.map(({ message }) => message));
    expect(said.join("\n")).toMatch(/far cannot be reached.*\n.*far can be reached again.*\n.*far cannot be reached.*\n.*silent for .* starts again: attempt 1/s);
    // What comes back too late is stopped, and its reports change nothing.
    far.reachable = true;
    controller.addWorker(far.link());
    await settle();
    expect(far.running).toBe(0);
    expect(await api.status({ job: uid })).toMatchObject({ tasks: [{ attempt: 1, worker: "near" }] });
  });
});

describe("Submit exactly once", () => {
  test("a submission whose answer is lost, by the death of the controller or before it, is one job; another job under its id is refused", async () => {
    const worker = new SimulatedWorker("w", capacity);
    const first = await open([worker]);
    const request = submission(job("train"), "s1");
    const [a, b] = await Promise.all([first.api.submit(request), first.api.submit(request)]);
    expect(a).toEqual(b);
    const lost = first.api.submit(submission(job("other"), "s2"));
    await settle();
    kill(first, [worker]);
    await lost.catch(() => undefined);
    const second = await open([worker]);
    expect(await second.api.submit(request)).toEqual(a);
    const again = await second.api.submit(submission(job("other"), "s2"));
    await expect(second.api.submit(submission(job("another"), "s1"))).rejects.toMatchObject({ code: "IRIS_SUBMISSION_CONFLICT" });
    await finish([worker], () => second.controller.idle);
    expect(await second.api.submit(request)).toEqual(a);
    expect((await second.api.list({})).map(({ uid }) => uid)).toEqual([again.uid, a.uid]);
    expect(worker.started).toHaveLength(2);
  });

  test("a name that is used again keeps the earlier job, with its history, under its uid; onExisting decides while it runs", async () => {
    const worker = new SimulatedWorker("w", capacity);
    const { api, controller } = await open([worker]);
    const first = await api.submit(submission(job("train"), "1"));
    await settle();
    await expect(api.submit(submission(job("train"), "2"))).rejects.toMatchObject({ code: "IRIS_JOB_EXISTS", data: { job: "/train", uid: first.uid } });
    expect(await api.submit(submission(job("train"), "3", "keep"))).toEqual(first);
    const recreated = api.submit(submission(job("train"), "4", "recreate"));
    await settle();
    worker.step();
    const second = await recreated;
    expect(second).toMatchObject({ id: "/train", name: "train" });
    expect(second.uid).not.toBe(first.uid);
    await finish([worker], () => controller.idle);
    const third = await api.submit(submission(job("train"), "5"));
    await finish([worker], () => controller.idle);
    expect((await api.status({ job: "/train" })).uid).toBe(third.uid);
    expect(await api.status({ job: first.uid })).toMatchObject({ id: "/train", state: "KILLED", tasks: [{ attempts: [{ state: "KILLED" }] }] });
    expect(await api.status({ job: second.uid })).toMatchObject({ id: "/train", state: "SUCCEEDED" });
  });
});

describe("families", () => {
  test("a child takes its parent's environment, band and constraints, wins where it says otherwise, and ends with it", async () => {
    const worker = new SimulatedWorker("w", capacity);
    const { controller, api } = await open([worker]);
    const parent = await api.submit(submission(job("parent", { env: { A: "parent", B: "parent" }, band: "BATCH", resources: { cpu: 1 }, constraints: [{ attribute: "worker", op: "EQ", value: "w" }] }), "p"));
    await settle();
    const { attemptUid = "" } = (await api.status({ job: parent.uid })).tasks[0] ?? {};
    const task = controllerApi(controller, { kind: "attempt", uid: attemptUid });
    const child = await task.submit(submission(job("child", { env: { B: "child" }, resources: { cpu: 1 } }), "c"));
    const free = await task.submit(submission(job("free", { constraints: [], band: "INTERACTIVE", resources: { cpu: 1 } }), "f"));
    expect(child.id).toBe("/parent/child");
    expect(controller.job(child.uid).model.spec).toMatchObject({ env: { A: "parent", B: "child" }, band: "BATCH", constraints: [{ attribute: "worker" }] });
    expect(controller.job(free.uid).model.spec).toMatchObject({ env: { A: "parent", B: "parent" }, band: "INTERACTIVE", constraints: [] });
    await expect(task.submit(submission(job("huge", { resources: { cpu: 4 } }), "h")).then(({ uid }) => api.status({ job: uid }))).resolves.toMatchObject({ state: "UNSCHEDULABLE", cause: { shortage: { dimension: "cpu" } } });
    await api.cancel({ job: parent.uid, reason: { error: { name: "Error", message: "enough" }, stacks: [] } });
    await finish([worker], () => controller.idle);
    for (const uid of [parent.uid, child.uid, free.uid]) expect(await api.status({ job: uid })).toMatchObject({ state: "KILLED", cause: { kind: "cancelled", by: "tester" } });
    await expect(task.submit(submission(job("late"), "l"))).rejects.toMatchObject({ code: "IRIS_PARENT_ENDED" });
    await expect(task.register({ name: "late", address: "127.0.0.1:1", metadata: {} })).rejects.toMatchObject({ code: "IRIS_BAD_ENDPOINT" });
  });

  test("a job that is declared done has SUCCEEDED with its children, and its endpoints are gone", async () => {
    const worker = new SimulatedWorker("w", capacity);
    const { controller, api } = await open([worker]);
    const parent = await api.submit(submission(job("parent"), "p"));
    await settle();
    const { attemptUid = "" } = (await api.status({ job: parent.uid })).tasks[0] ?? {};
    const task = controllerApi(controller, { kind: "attempt", uid: attemptUid });
    const child = await task.submit(submission(job("child"), "c"));
    await task.register({ name: "serve", address: "127.0.0.1:1", metadata: {} });
    expect(await api.resolve({ name: "serve" })).toEqual({ address: "127.0.0.1:1" });
    await api.complete({ job: parent.uid });
    await finish([worker], () => controller.idle);
    for (const uid of [parent.uid, child.uid]) expect((await api.wait({ job: uid })).state).toBe("SUCCEEDED");
    expect(await api.resolve({ name: "serve" })).toEqual({ address: null });
  });
});

test("more than the controller takes is refused with the limit; a user's job is no other user's to cancel, or to submit; budgets outlive the controller", async () => {
  const { api, controller } = await open([]);
  await expect(api.submit({ ...submission(job("deep"), "d"), spec: { ...submission(job("deep"), "d").spec, args: new Uint8Array(33 * 2 ** 20) } })).rejects.toMatchObject({ code: "IRIS_ADMISSION", data: { limit: "maxSpecBytes" } });
  const { uid } = await api.submit({ ...submission(job("hers"), "h"), user: "ada" });
  const bob = controllerApi(controller, { kind: "client", user: "bob" });
  await expect(bob.cancel({ job: uid, reason: { error: { name: "Error", message: "mine" }, stacks: [] } })).rejects.toMatchObject({ code: "IRIS_FORBIDDEN" });
  expect((await bob.status({ job: uid })).id).toBe("/ada/hers");
  for (const onExisting of ["error", "keep", "recreate"] as const) await expect(bob.submit({ ...submission(job("hers"), "b"), onExisting, user: "ada" })).rejects.toMatchObject({ code: "IRIS_FORBIDDEN" });
  expect(await bob.submit({ ...submission(job("own"), "c"), user: "bob" })).toMatchObject({ id: "/bob/own" });
  await expect(api.submit({ ...submission(job("below"), "d"), user: "ada/hers" })).rejects.toMatchObject({ code: "IRIS_BAD_JOB" });
  await api.setBudget({ user: "ada", budget: 7 });
  kill(running[0] as SimulatedController, []);
  expect(await (await open([])).api.users({})).toEqual([{ user: "ada", spend: 0, budget: 7 }]);
});
