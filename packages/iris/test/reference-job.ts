import type { CheckedJobSpec } from "../src/jobs/job-spec.js";
import type { Cause } from "../src/jobs/model.js";

/** A task of the reference. */
interface ReferenceTask {
  phase: "waiting" | "assigned" | "building" | "running" | "done";
  result: string;
  number: number;
  failures: number;
  preemptions: number;
  uid: string;
  worker: string;
  /** Why it was told to stop; "" when it was not. */
  told: string;
  since: number;
  notBefore: number;
}

type Spec = Pick<CheckedJobSpec, "replicas" | "gang" | "maxRetriesFailure" | "maxRetriesPreemption" | "maxTaskFailures" | "timeoutMs" | "schedulingTimeoutMs" | "backoff">;

const program = ["exit", "signal", "threw", "oom", "disk", "setup-failed"];

/**
 * The rules of a job's life written down a second time, step by step and by changing variables: what the state machine is compared with. It knows tasks by their phase and the
 * cluster by names alone.
 */
export class ReferenceJob {
  readonly tasks: ReferenceTask[];
  ended = "";
  /** Attempts that were told to stop by the last event, with the reason. */
  told: [string, string][] = [];
  readonly #spec: Spec;
  #ending = "";
  #culprit = -1;

  constructor(spec: Spec, now: number) {
    this.#spec = spec;
    this.tasks = Array.from({ length: spec.replicas }, () => ({ phase: "waiting", result: "", number: 0, failures: 0, preemptions: 0, uid: "", worker: "", told: "", since: now, notBefore: now }));
  }

  assign(places: readonly { readonly taskIndex: number; readonly worker: string; readonly attemptUid: string }[], now: number): void {
    this.told = [];
    const open = (index: number): boolean => this.tasks[index]?.phase === "waiting" && (this.tasks[index]?.notBefore ?? 0) <= now;
    if (this.#spec.gang !== undefined) {
      const all = new Set(places.map(({ taskIndex }) => taskIndex));
      if (all.size !== this.tasks.length || places.length !== this.tasks.length || !this.tasks.every((_, index) => open(index))) return;
    }
    for (const { taskIndex, worker, attemptUid } of places) {
      const task = this.tasks[taskIndex];
      if (task === undefined || !open(taskIndex) || this.#ending !== "") continue;
      Object.assign(task, { phase: "assigned", uid: attemptUid, worker, told: "" });
    }
  }

  building(uid: string, now: number): void {
    this.told = [];
    for (const task of this.#live(uid)) if (task.phase === "assigned") Object.assign(task, { phase: "building", since: now });
  }

  started(uid: string, now: number): void {
    this.told = [];
    for (const task of this.#live(uid)) {
      if (task.phase === "assigned") task.since = now;
      task.phase = "running";
    }
  }

  over(uid: string, kind: string, now: number): void {
    this.told = [];
    for (const task of this.#live(uid)) this.#over(task, this.#why(task, kind), now);
  }

  workerLost(worker: string, now: number): void {
    this.told = [];
    const hit = this.tasks.filter((task) => this.#isLive(task) && task.worker === worker).map((task) => ({ task, why: this.#why(task, "node-lost") }));
    const gone = new Set(hit.map(({ task }) => task.uid));
    for (const { task, why } of hit) this.#over(task, why, now);
    // Nobody tells what is lost to stop for the sake of the gang; the end of the job is told to all.
    this.told = this.told.filter(([uid, why]) => !(gone.has(uid) && why === "gang-restarted"));
  }

  preempted(uid: string): void {
    this.told = [];
    if (this.#ending !== "") return;
    for (const task of this.#live(uid)) for (const each of this.#spec.gang === undefined ? [task] : this.tasks) this.#tell(each, "preempted");
  }

  end(kind: "cancelled" | "completed" | "unschedulable", now: number): void {
    this.told = [];
    if (kind === "unschedulable" && !this.tasks.some(({ phase }) => phase === "waiting")) return;
    this.#endAll(kind, now);
  }

  tick(now: number): void {
    this.told = [];
    const { timeoutMs = Infinity, schedulingTimeoutMs = Infinity, gang } = this.#spec;
    for (const [index, task] of this.tasks.entries()) {
      if ((task.phase === "building" || task.phase === "running") && task.told === "" && now - task.since >= timeoutMs) {
        this.#tell(task, "timeout");
        if (gang !== undefined) this.#fail(index, now);
      }
      if (task.phase === "waiting" && now - Math.max(task.since, task.notBefore) >= schedulingTimeoutMs) this.#endAll("scheduling-timeout", now);
    }
  }

  #live(uid: string): ReferenceTask[] {
    return this.tasks.filter((task) => this.#isLive(task) && task.uid === uid);
  }

  #isLive(task: ReferenceTask): boolean {
    return task.phase !== "waiting" && task.phase !== "done";
  }

  /** What decides: that the job was declared done, that it ends, why the attempt was told to stop, how it ended. */
  #why(task: ReferenceTask, kind: string): string {
    if (task.told === "") return kind;
    if (this.#ending === "completed") return "completed";
    if (task.told === "preempted" && this.#spec.gang === undefined && kind === "succeeded") return "succeeded";
    if (this.#ending !== "" && task.told !== "timeout") return this.#ending;
    return task.told;
  }

  #over(task: ReferenceTask, why: string, now: number): void {
    const { gang, maxRetriesFailure, maxRetriesPreemption, backoff } = this.#spec;
    const index = this.tasks.indexOf(task);
    const ran = (gang === undefined ? [task] : this.tasks).some(({ phase, result }) => phase === "building" || phase === "running" || result === "SUCCEEDED");
    task.phase = "done";
    task.told = "";
    if (why === "succeeded" || this.#ending !== "") {
      task.result = resultOf(why);
      return this.#checkEnd();
    }
    if (gang !== undefined && this.tasks.some(({ number }) => number > task.number)) {
      // Another one of the gang has decided already that all start again.
      const decided = this.tasks.find(({ number }) => number > task.number) as ReferenceTask;
      Object.assign(task, { phase: "waiting", number: decided.number, since: now, notBefore: decided.notBefore });
      if (this.tasks.every(({ phase }) => phase === "waiting")) for (const each of this.tasks) each.since = now;
      return;
    }
    const failure = program.includes(why);
    const infrastructure = why === "start-failed" || ((why === "node-lost" || why === "preempted") && ran);
    const failures = task.failures + (failure ? 1 : 0);
    const preemptions = task.preemptions + (infrastructure ? 1 : 0);
    if (why === "timeout" || failures > maxRetriesFailure || preemptions > maxRetriesPreemption) {
      task.result = resultOf(why);
      const lost = this.tasks.filter(({ phase, result }) => phase === "done" && result !== "SUCCEEDED").length;
      if (lost > this.#spec.maxTaskFailures) this.#fail(index, now);
      return this.#checkEnd();
    }
    const steps = failure ? failures : infrastructure && why !== "preempted" ? preemptions : 0;
    let wait = steps === 0 ? 0 : backoff.initialMs;
    for (let step = 1; step < steps; step += 1) wait *= backoff.factor;
    const again = { phase: "waiting", result: "", number: task.number + 1, since: now, notBefore: now + Math.min(wait, backoff.maxMs) };
    Object.assign(task, again, { failures, preemptions });
    if (gang === undefined) return;
    for (const each of this.tasks) {
      Object.assign(each, { failures, preemptions });
      if (each.phase === "done") Object.assign(each, again);
      this.#tell(each, "gang-restarted");
    }
  }

  #tell(task: ReferenceTask, why: string): void {
    if (!this.#isLive(task) || task.told !== "") return;
    task.told = why;
    this.told.push([task.uid, why]);
  }

  #fail(index: number, now: number): void {
    if (this.#ending === "") this.#culprit = index;
    this.#endAll("task-failed", now);
  }

  #endAll(why: string, now: number): void {
    if (this.#ending !== "" || this.ended !== "") return;
    this.#ending = why;
    for (const task of this.tasks) {
      if (task.phase === "waiting") Object.assign(task, { phase: "done", result: resultOf(why), since: now });
      this.#tell(task, why);
    }
    this.#checkEnd();
  }

  #checkEnd(): void {
    if (!this.tasks.every(({ phase }) => phase === "done")) return;
    this.ended = this.#ending === "" || this.#ending === "completed" ? "SUCCEEDED" : this.#ending === "task-failed" ? (this.tasks[this.#culprit]?.result ?? "") : resultOf(this.#ending);
  }

  /** Each task as the state machine shows it. */
  shown(): string[] {
    return this.tasks.map(({ phase, result, number, uid, told, failures, preemptions }) => {
      const state = phase === "waiting" ? "PENDING" : phase === "done" ? result : phase.toUpperCase();
      const live = phase === "waiting" || phase === "done" ? "" : uid;
      return [state, number, live, told, failures, preemptions].join(" ");
    });
  }
}

function resultOf(why: string): string {
  const results: Partial<Record<Cause["kind"] | "succeeded", string>> = {
    succeeded: "SUCCEEDED",
    completed: "SUCCEEDED",
    preempted: "PREEMPTED",
    "node-lost": "WORKER_FAILED",
    "start-failed": "WORKER_FAILED",
    cancelled: "KILLED",
    "task-failed": "KILLED",
    unschedulable: "UNSCHEDULABLE",
    "scheduling-timeout": "UNSCHEDULABLE",
  };
  return results[why as Cause["kind"]] ?? "FAILED";
}
