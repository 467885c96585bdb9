import { budgetOf, finalStateOf } from "./causes.js";
import type { ResolvedJobSpec } from "./job-spec-inheritance.js";
import { type JobState, isFinal } from "./job-status.js";
import type { AttemptModel, AttemptOutcome, Cause, JobEffect, JobModel, JobModelEvent, JobTransition, PendingReason, TaskModel } from "./model.js";

/** A job that has just been submitted, and the wish to start its tasks. */
export function newJob({ uid, id, user, spec, now }: Pick<JobModel, "uid" | "id" | "user"> & { readonly spec: ResolvedJobSpec; readonly now: number }): JobTransition {
  const tasks = Array.from({ length: spec.replicas }, (_, index): TaskModel => ({ index, state: "PENDING", attempt: 0, failures: 0, preemptions: 0, pendingSince: now }));
  const job: JobModel = { uid, id, user, spec, submittedAt: now, tasks };
  return { job, effects: [{ type: "startWanted", at: now }], wakeAt: wakeAtOf(job, now) };
}

/**
 * The job after an event, and what is to be done because of it. Pure: no clock, no I/O; the same question gets the same answer. What names an attempt that is not current changes nothing.
 *
 * @param job - as the last transition left it
 * @param event - what has happened
 * @param now - milliseconds since the epoch
 */
export function apply(job: JobModel, event: JobModelEvent, now: number): JobTransition {
  const draft = new Draft(job, now);
  if (job.ended === undefined) draft.apply(event);
  const after = draft.finish();
  return { job: after, effects: draft.effects, wakeAt: wakeAtOf(after, now) };
}

/** The tasks that may be placed at that time, ascending: of a gang all of them, or none while one of it has not ended or waits. */
export function tasksToPlace(job: JobModel, now: number): number[] {
  if (job.stop !== undefined || job.ended !== undefined) return [];
  const ready = job.tasks.filter((task) => task.state === "PENDING" && (task.readyAt ?? now) <= now);
  return job.spec.gang !== undefined && ready.length < job.tasks.length ? [] : ready.map(({ index }) => index);
}

/** Why tasks wait that no worker is looked for yet: until a time, or until the rest of their gang has stopped. Undefined: what waits is the scheduler's to explain. */
export function waitsBeforePlacement({ stop, ended, spec, tasks }: JobModel): PendingReason | undefined {
  const waiting = tasks.filter(({ state }) => state === "PENDING");
  if (stop !== undefined || ended !== undefined || waiting.length === 0) return undefined;
  const stopping = tasks.length - waiting.length;
  if (spec.gang !== undefined && stopping > 0) {
    return { dimension: "gang", message: `waits for gang: all of it starts again, and ${String(stopping)} of its ${String(tasks.length)} tasks have not stopped yet`, waiting: waiting.length };
  }
  const [first] = waiting.flatMap(({ readyAt, attempt }) => (readyAt === undefined ? [] : [{ readyAt, attempt }])).sort((a, b) => a.readyAt - b.readyAt);
  if (first === undefined || waiting.some(({ readyAt }) => readyAt === undefined)) return undefined;
  return { dimension: "backoff", message: `waits for backoff: attempt ${String(first.attempt)} starts not before ${new Date(first.readyAt).toISOString()}`, waiting: waiting.length };
}

/** A job on its way from one version to the next. */
class Draft {
  readonly effects: JobEffect[] = [];
  readonly #before: JobModel;
  readonly #now: number;
  #tasks: TaskModel[] | undefined;
  #stop: Cause | undefined;

  constructor(job: JobModel, now: number) {
    this.#before = job;
    this.#now = now;
    this.#stop = job.stop;
  }

  apply(event: JobModelEvent): void {
    switch (event.type) {
      case "assigned":
        return this.#assigned(event);
      case "building":
        return this.#progressed(event.attemptUid, (attempt) => (attempt.state === "ASSIGNED" ? { ...attempt, state: "BUILDING", buildingAt: this.#now } : attempt));
      case "started":
        return this.#progressed(event.attemptUid, (attempt) => started(attempt, event, this.#now));
      case "ended":
        return this.#ended(event.attemptUid, event.outcome);
      case "workerLost":
        return this.#workerLost(event.worker, event.message);
      case "preempted":
        return this.#preempted(event.attemptUid, { kind: "preempted", by: event.by });
      case "cancelled": {
        const { type: _, ...who } = event;
        return this.#stopJob({ kind: "cancelled", ...who });
      }
      case "completed":
        return this.#stopJob({ kind: "completed", by: event.by });
      case "unschedulable":
        return this.#unschedulable({ kind: "unschedulable", shortage: event.shortage });
      case "reason":
        return this.#explain(event.reason);
      case "tick":
        return this.#tick();
    }
  }

  /** The job as it now is; ended when all its tasks are. */
  finish(): JobModel {
    if (this.#tasks === undefined && this.#stop === this.#before.stop) return this.#before;
    const job: JobModel = { ...this.#before, tasks: this.#all, ...(this.#stop === undefined ? {} : { stop: this.#stop }) };
    if (!job.tasks.every(({ state }) => isFinal(state))) return job;
    const end = endOf(job);
    this.effects.push({ type: "jobEnded", ...end });
    return { ...job, ended: { ...end, at: this.#now } };
  }

  get #all(): readonly TaskModel[] {
    return this.#tasks ?? this.#before.tasks;
  }

  get #isGang(): boolean {
    return this.#before.spec.gang !== undefined;
  }

  #set(task: TaskModel): void {
    if (this.#all[task.index] === task) return;
    this.#tasks ??= [...this.#before.tasks];
    this.#tasks[task.index] = task;
  }

  #taskOf(attemptUid: string): (TaskModel & { readonly current: AttemptModel }) | undefined {
    return this.#all.find((task): task is TaskModel & { readonly current: AttemptModel } => task.current?.uid === attemptUid);
  }

  #assigned({ band, placements }: Extract<JobModelEvent, { type: "assigned" }>): void {
    const free = new Set(tasksToPlace(this.#before, this.#now));
    const valid = placements.filter(({ taskIndex }) => free.delete(taskIndex));
    if (this.#isGang && (valid.length < placements.length || free.size > 0)) return;
    for (const { taskIndex, worker, attemptUid } of valid) {
      const task = this.#all[taskIndex] as TaskModel;
      const { index, attempt: number, failures, preemptions } = task;
      const attempt: AttemptModel = { uid: attemptUid, taskIndex, number, worker, band, state: "ASSIGNED", assignedAt: this.#now };
      this.#set({ index, state: "ASSIGNED", attempt: number, failures, preemptions, ...lastOf(task), current: attempt });
      this.effects.push({ type: "launch", attempt });
    }
  }

  #progressed(attemptUid: string, change: (attempt: AttemptModel) => AttemptModel): void {
    const task = this.#taskOf(attemptUid);
    if (task === undefined) return;
    const current = change(task.current);
    if (current !== task.current) this.#set({ ...task, state: current.state, current });
  }

  #ended(attemptUid: string, outcome: AttemptOutcome): void {
    const task = this.#taskOf(attemptUid);
    if (task !== undefined) this.#attemptOver(task.index, this.#verdict(task.current, outcome));
  }

  #workerLost(worker: string, message: string): void {
    const lost: AttemptOutcome = { kind: "failed", cause: { kind: "node-lost", worker, message } };
    // Judged before any of them ends: of a gang they are all lost, not stopped for each other.
    const verdicts = this.#all.flatMap(({ index, current }) => (current?.worker === worker ? [{ index, cause: this.#verdict(current, lost) }] : []));
    for (const { index, cause } of verdicts) this.#attemptOver(index, cause, worker);
  }

  /** Why the attempt did not succeed, or undefined. A stop decides whatever came after it. */
  #verdict({ stop }: AttemptModel, outcome: AttemptOutcome): Cause | undefined {
    const own = outcome.kind === "succeeded" ? undefined : outcome.cause;
    if (stop === undefined) return own;
    if (this.#stop?.kind === "completed") return this.#stop;
    if (stop.kind === "preempted" && !this.#isGang && own === undefined) return undefined;
    return this.#stop !== undefined && stop.kind !== "timeout" ? this.#stop : stop;
  }

  #attemptOver(index: number, cause: Cause | undefined, lostWorker?: string): void {
    const task = this.#all[index];
    if (task?.current === undefined) return;
    const { current } = task;
    const state = cause === undefined ? "SUCCEEDED" : finalStateOf(cause);
    const attempt: AttemptModel = { ...current, state, endedAt: this.#now, ...(cause === undefined || state === "SUCCEEDED" ? {} : { cause }) };
    const over: TaskModel = { ...task, last: attempt };
    this.effects.push({ type: "attemptEnded", attempt });
    if (cause === undefined || this.#stop !== undefined) {
      this.#final(over, state, cause);
    } else if (this.#isGang && this.#all.some(({ attempt: number }) => number > current.number)) {
      this.#rejoin(over, cause);
    } else {
      this.#retryOrFail(over, current, cause, lostWorker);
    }
  }

  /** A task of a gang that starts again is ready, too. The last one makes the whole gang wait for room. */
  #rejoin(task: TaskModel, cause: Cause): void {
    const next = Math.max(...this.#all.map(({ attempt }) => attempt));
    const readyAt = this.#all.find(({ attempt }) => attempt === next)?.readyAt;
    this.#wait(task, { attempt: next, readyAt, cause });
    if (!this.#all.every(({ state }) => state === "PENDING")) return;
    for (const each of this.#all) if (each.pendingSince !== this.#now) this.#set({ ...each, pendingSince: this.#now });
    this.effects.push({ type: "startWanted", at: Math.max(this.#now, readyAt ?? 0) });
  }

  #retryOrFail(task: TaskModel, attempt: AttemptModel, cause: Cause, lostWorker: string | undefined): void {
    const { spec } = this.#before;
    const budget = budgetOf(cause, this.#isGang ? this.#all.some(({ current, state }) => state === "SUCCEEDED" || hasRun(current)) : hasRun(attempt));
    const failures = task.failures + (budget === "failure" ? 1 : 0);
    const preemptions = task.preemptions + (budget === "preemption" ? 1 : 0);
    if (budget === "none" || failures > spec.maxRetriesFailure || preemptions > spec.maxRetriesPreemption) {
      this.#final(task, finalStateOf(cause), cause);
      return;
    }
    const charged = budget === "failure" ? failures : budget === "preemption" && cause.kind !== "preempted" ? preemptions : 0;
    const wait = charged === 0 ? 0 : Math.min(spec.backoff.maxMs, spec.backoff.initialMs * spec.backoff.factor ** (charged - 1));
    const again = { attempt: attempt.number + 1, readyAt: wait > 0 ? this.#now + wait : undefined, cause };
    const members = this.#isGang ? this.#all : [task];
    this.effects.push({ type: "retry", taskIndexes: members.map(({ index }) => index), number: again.attempt, at: this.#now + wait, cause });
    this.#wait({ ...task, failures, preemptions }, again);
    for (const member of members) {
      if (member.index === task.index) continue;
      const account = member.failures === failures && member.preemptions === preemptions ? member : { ...member, failures, preemptions };
      if (member.current === undefined) this.#wait(account, again);
      else this.#stopAttempt(account, { kind: "gang-restarted", taskIndex: task.index, cause }, lostWorker);
    }
    if (!this.#isGang || this.#all.every(({ state }) => state === "PENDING")) this.effects.push({ type: "startWanted", at: this.#now + wait });
  }

  #wait(task: TaskModel, { attempt, readyAt, cause }: { readonly attempt: number; readonly readyAt: number | undefined; readonly cause: Cause }): void {
    const { index, failures, preemptions } = task;
    this.#set({ index, state: "PENDING", attempt, failures, preemptions, ...lastOf(task), pendingSince: this.#now, cause, ...(readyAt === undefined ? {} : { readyAt }) });
  }

  #final(task: TaskModel, state: JobState, cause: Cause | undefined): void {
    const { index, attempt, failures, preemptions } = task;
    this.#set({ index, state, attempt, failures, preemptions, ...lastOf(task), endedAt: this.#now, ...(cause === undefined || state === "SUCCEEDED" ? {} : { cause }) });
    if (cause === undefined || this.#stop !== undefined) return;
    const failed = this.#all.filter((task) => isFinal(task.state) && task.state !== "SUCCEEDED").length;
    if (failed > this.#before.spec.maxTaskFailures) this.#stopJob({ kind: "task-failed", taskIndex: index, cause });
  }

  #preempted(attemptUid: string, cause: Cause): void {
    const task = this.#taskOf(attemptUid);
    if (task === undefined || this.#stop !== undefined) return;
    for (const member of this.#isGang ? this.#all : [task]) {
      if (member.current !== undefined) this.#stopAttempt(member, cause);
    }
  }

  /** Ends the whole job: what waits is final at once, what runs is told to stop. */
  #stopJob(cause: Cause): void {
    if (this.#stop !== undefined) return;
    this.#stop = cause;
    for (const task of this.#all) {
      if (task.state === "PENDING") this.#final(task, finalStateOf(cause), cause);
      else if (task.current !== undefined) this.#stopAttempt(task, cause);
    }
  }

  #unschedulable(cause: Cause): void {
    if (this.#all.some(({ state }) => state === "PENDING")) this.#stopJob(cause);
  }

  /** Tells an attempt to stop, once; its task is changed in any case. */
  #stopAttempt(task: TaskModel, cause: Cause, lostWorker?: string): void {
    const { current } = task;
    if (current === undefined || current.stop !== undefined) return this.#set(task);
    this.#set({ ...task, current: { ...current, stop: cause } });
    if (current.worker !== lostWorker) this.effects.push({ type: "stop", attemptUid: current.uid, worker: current.worker, cause });
  }

  #explain(reason: PendingReason): void {
    for (const task of this.#all) {
      if (task.state === "PENDING" && task.reason?.message !== reason.message) this.#set({ ...task, reason });
    }
  }

  #tick(): void {
    const { timeoutMs, schedulingTimeoutMs } = this.#before.spec;
    for (const { index } of this.#all) {
      const task = this.#all[index] as TaskModel;
      if (task.readyAt !== undefined && task.readyAt <= this.#now) {
        const { readyAt, ...ready } = task;
        this.#set({ ...ready, pendingSince: Math.max(task.pendingSince ?? 0, readyAt) });
        if (!this.effects.some(({ type }) => type === "startWanted")) this.effects.push({ type: "startWanted", at: this.#now });
      }
      if (timeoutMs !== undefined && (timeoutAt(task, timeoutMs) ?? Infinity) <= this.#now) {
        const cause: Cause = { kind: "timeout", timeoutMs };
        this.#stopAttempt(task, cause);
        // The rest of a gang need not wait for its end.
        if (this.#isGang) this.#stopJob({ kind: "task-failed", taskIndex: index, cause });
      }
      if (schedulingTimeoutMs !== undefined && this.#stop === undefined && (waitEndsAt(task, schedulingTimeoutMs) ?? Infinity) <= this.#now) {
        this.#stopJob({ kind: "scheduling-timeout", schedulingTimeoutMs, ...(task.reason === undefined ? {} : { reason: task.reason.message }) });
      }
    }
  }
}

function started(attempt: AttemptModel, { pid, ports }: Extract<JobModelEvent, { type: "started" }>, now: number): AttemptModel {
  if (attempt.state === "RUNNING" && pid === undefined && ports === undefined) return attempt;
  return { ...attempt, state: "RUNNING", startedAt: attempt.startedAt ?? now, ...(pid === undefined ? {} : { pid }), ...(ports === undefined ? {} : { ports }) };
}

function lastOf({ last }: TaskModel): Pick<TaskModel, "last"> {
  return last === undefined ? {} : { last };
}

function hasRun(attempt: AttemptModel | undefined): boolean {
  return attempt !== undefined && attempt.state !== "ASSIGNED";
}

/** The final state of a job all of whose tasks are final, and why it is not SUCCEEDED. */
function endOf({ stop, tasks }: JobModel): { readonly state: JobState; readonly cause?: Cause } {
  if (stop === undefined || stop.kind === "completed") return { state: "SUCCEEDED" };
  if (stop.kind !== "task-failed") return { state: finalStateOf(stop), cause: stop };
  return { state: tasks[stop.taskIndex]?.state ?? "FAILED", cause: stop.cause };
}

/** When an attempt has run too long: counted from when its worker began with it. */
function timeoutAt({ current }: TaskModel, timeoutMs: number): number | undefined {
  const since = current?.stop === undefined ? (current?.buildingAt ?? current?.startedAt) : undefined;
  return since === undefined ? undefined : since + timeoutMs;
}

/** When a task has waited for room too long. */
function waitEndsAt({ state, pendingSince = 0, readyAt = 0 }: TaskModel, schedulingTimeoutMs: number): number | undefined {
  return state === "PENDING" ? Math.max(pendingSince, readyAt) + schedulingTimeoutMs : undefined;
}

function wakeAtOf({ ended, stop, spec, tasks }: JobModel, now: number): number | undefined {
  if (ended !== undefined || stop !== undefined) return undefined;
  const { timeoutMs, schedulingTimeoutMs } = spec;
  let wakeAt: number | undefined;
  const consider = (at: number | undefined): void => {
    if (at !== undefined && (wakeAt === undefined || at < wakeAt)) wakeAt = at;
  };
  for (const task of tasks) {
    consider(task.readyAt);
    if (timeoutMs !== undefined) consider(timeoutAt(task, timeoutMs));
    if (schedulingTimeoutMs !== undefined) consider(waitEndsAt(task, schedulingTimeoutMs));
  }
  return wakeAt === undefined ? undefined : Math.max(wakeAt, now);
}
