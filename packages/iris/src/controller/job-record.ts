import type { WireResult, WireStatus, WireValue } from "../client/iris-api.js";
import type { AttemptModel, JobModel, PendingReason, TaskModel } from "../jobs/model.js";
import { type AttemptStatus, type JobState, type TaskStatus, isFinal, jobStateOf } from "../jobs/job-status.js";
import type { LineLog } from "../jobs/line-log.js";
import { waitsBeforePlacement } from "../jobs/state-machine.js";
import type { TaskProgress } from "../runtime/context.js";
import { type WireFailure, failureToWire } from "../runtime/failure.js";
import { causeError } from "./cause-error.js";
import { JobFeed } from "./job-feed.js";

/** An attempt that has ended. */
export type PastAttempt = AttemptModel & { readonly outputs?: unknown };

/** Above so many tasks, changes of state are told in intervals. */
const manyTasks = 32;

/** What a job is made of, besides its model. */
export interface JobParts {
  readonly name: string;
  /** Uid of the job whose task submitted it. */
  readonly parent: string | undefined;
  /** When the root of its tree was submitted. */
  readonly rootSubmittedAt: number;
  /** Jobs above it. */
  readonly depth: number;
  /** Its arguments, by `v8.serialize`. */
  readonly args: Uint8Array;
  /** Opens its log, when that is first asked for. */
  readonly openLog: () => LineLog;
}

/** The end of a job. */
export interface JobEnd {
  readonly state: JobState;
  readonly at: number;
  readonly error: WireFailure | null;
}

/** A job as the controller holds it in memory: its model, its history, and who follows it. */
export class JobRecord {
  readonly name: string;
  readonly parent: string | undefined;
  readonly rootSubmittedAt: number;
  readonly depth: number;
  readonly args: Uint8Array;
  readonly #openLog: () => LineLog;
  #log: LineLog | undefined;
  #feed: JobFeed | undefined;
  /** The job now. */
  model: JobModel;
  /** The job as it is in the database; undefined when it is not there yet. */
  saved: JobModel | undefined;
  /** Jobs that tasks of it have submitted and that have not ended. */
  readonly children = new Set<JobRecord>();
  /** Attempts that have ended, by task. */
  readonly #history = new Map<number, PastAttempt[]>();
  readonly #outputs = new Map<string, unknown>();
  #announcedAt = -Infinity;
  readonly #progress = new Map<number, TaskProgress>();
  /** What the scheduler said last. */
  reason: PendingReason | undefined;
  /** When time does something to it. */
  wakeAt: number | undefined;
  /** Set when nothing of it or its children runs any more. */
  end: JobEnd | undefined;
  /** Resolves then. */
  readonly ended: Promise<void>;
  #resolveEnded: () => void = () => undefined;
  /** A task's status is asked for much more often than it changes. */
  readonly #statuses = new WeakMap<TaskModel, TaskStatus>();

  constructor(model: JobModel, parts: JobParts) {
    this.model = model;
    this.name = parts.name;
    this.parent = parts.parent;
    this.rootSubmittedAt = parts.rootSubmittedAt;
    this.depth = parts.depth;
    this.args = parts.args;
    this.#openLog = parts.openLog;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  get uid(): string {
    return this.model.uid;
  }

  get id(): string {
    return this.model.id;
  }

  /** Its lines. */
  get log(): LineLog {
    if (this.#log === undefined) {
      this.#log = this.#openLog();
      if (this.end !== undefined) this.#log.end();
    }
    return this.#log;
  }

  /** What happens to it. */
  get feed(): JobFeed {
    if (this.#feed === undefined) {
      // A new job has no lines: its log is opened with the first one.
      this.#feed = new JobFeed(() => this.log, this.saved === undefined ? 0 : this.log.count);
      if (this.end !== undefined) this.#endFeed(this.#feed);
    }
    return this.#feed;
  }

  /** Where it stands: final only when nothing of its children runs either. */
  get state(): JobState {
    if (this.end !== undefined) return this.end.state;
    const derived = jobStateOf(this.model.tasks.map(({ state }) => state));
    return isFinal(derived) ? "RUNNING" : derived;
  }

  /** What became of the output directory of an attempt that is about to end. */
  setOutputs(attemptUid: string, outputs: unknown): void {
    this.#outputs.set(attemptUid, outputs);
  }

  /** Takes an attempt that has ended into its history, and gives what is to be kept of it. */
  addHistory(attempt: PastAttempt): PastAttempt {
    const outputs = this.#outputs.get(attempt.uid);
    this.#outputs.delete(attempt.uid);
    const past = outputs === undefined ? attempt : { ...attempt, outputs };
    const attempts = this.#history.get(attempt.taskIndex);
    if (attempts === undefined) this.#history.set(attempt.taskIndex, [past]);
    else attempts.push(past);
    return past;
  }

  /** How long its followers are to wait for its next state, in milliseconds: the more tasks, the longer, since each state holds all of them. */
  announceWaitMs(now: number): number {
    const { length } = this.model.tasks;
    return length <= manyTasks ? 0 : this.#announcedAt + length - now;
  }

  /** Tells its followers its state. */
  announce(now: number): void {
    if (this.end !== undefined) return;
    this.#announcedAt = now;
    this.feed.push({ type: "state", status: this.status() });
  }

  /** Takes a task's report. */
  setProgress(taskIndex: number, progress: TaskProgress): void {
    this.#progress.set(taskIndex, progress);
  }

  /** Ends it: its followers and those who wait are told. */
  finish(at: number): JobEnd {
    const { state = "KILLED" as JobState, cause } = this.model.ended ?? {};
    const error = cause === undefined ? null : failureToWire(causeError(this.id, cause, this.#culprit(cause)));
    this.end = { state, at, error };
    return this.end;
  }

  /** Tells those who follow it and wait for it, once its end is stored. */
  close(): void {
    if (this.#feed !== undefined) this.#endFeed(this.#feed);
    this.#log?.end();
    this.#resolveEnded();
  }

  /** Takes over an end that was stored. */
  restoreEnd(end: JobEnd): void {
    this.end = end;
    this.#resolveEnded();
  }

  #endFeed(feed: JobFeed): void {
    feed.push({ type: "state", status: this.status() });
    feed.end();
  }

  /** Why tasks of it wait; undefined when none does. */
  get pending(): PendingReason | undefined {
    if (this.end !== undefined || !this.model.tasks.some(({ state }) => state === "PENDING")) return undefined;
    return waitsBeforePlacement(this.model) ?? this.reason;
  }

  status(): WireStatus {
    const { uid, id, user, spec, submittedAt, ended } = this.model;
    const { state, end, parent, pending } = this;
    return {
      id,
      uid,
      name: this.name,
      user,
      ...(parent === undefined ? {} : { parent }),
      submittedAt: isoTime(submittedAt),
      ...(end === undefined ? {} : { endedAt: isoTime(end.at) }),
      state,
      band: spec.band,
      ...(pending === undefined ? {} : { pendingReason: pending.message, pending }),
      ...(end === undefined || ended?.cause === undefined ? {} : { cause: ended.cause }),
      error: end?.error ?? null,
      tasks: this.model.tasks.map((task) => this.#taskStatus(task)),
    };
  }

  /**
   * How it ended.
   *
   * @param values - what its tasks returned; null where that does not go into one answer
   */
  result(values: readonly WireValue[] | null): WireResult {
    const { state, error } = this.end ?? { state: this.state, error: null };
    return { state, values: state === "SUCCEEDED" ? values : [], error };
  }

  /** Its tasks by state. */
  taskCounts(): Partial<Record<JobState, number>> {
    const counts: Partial<Record<JobState, number>> = {};
    for (const { state } of this.model.tasks) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  #culprit(cause: unknown): { taskIndex: number; attempt: number; pid?: number | undefined } | undefined {
    const task = this.model.tasks.find((each) => each.cause === cause);
    if (task === undefined) return undefined;
    const attempt = this.#history.get(task.index)?.at(-1);
    return { taskIndex: task.index, attempt: task.attempt, pid: attempt?.pid };
  }

  #taskStatus(task: TaskModel): TaskStatus {
    const progress = this.#progress.get(task.index);
    const known = this.#statuses.get(task);
    if (known !== undefined && known.progress === progress) return known;
    const past = this.#history.get(task.index) ?? [];
    const attempts: readonly PastAttempt[] = task.current === undefined ? past : [...past, task.current];
    const latest = attempts.at(-1);
    const status: TaskStatus = {
      index: task.index,
      state: task.state,
      attempt: task.attempt,
      ports: latest?.ports ?? {},
      ...(latest === undefined ? {} : { attemptUid: latest.uid, worker: latest.worker }),
      ...(latest?.pid === undefined ? {} : { pid: latest.pid }),
      ...(task.cause === undefined ? {} : { cause: task.cause }),
      ...(progress === undefined ? {} : { progress }),
      attempts: attempts.map(attemptStatus),
    };
    this.#statuses.set(task, status);
    return status;
  }
}

function attemptStatus({ uid, number, state, worker, pid, assignedAt, startedAt, endedAt, cause, outputs }: PastAttempt): AttemptStatus {
  return {
    uid,
    number,
    state,
    worker,
    ...(pid === undefined ? {} : { pid }),
    assignedAt: isoTime(assignedAt),
    ...(startedAt === undefined ? {} : { startedAt: isoTime(startedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: isoTime(endedAt) }),
    ...(cause === undefined ? {} : { cause }),
    ...(outputs === undefined ? {} : { outputs }),
  };
}

/** A moment as people and programs read it. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
