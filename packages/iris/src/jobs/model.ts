import type { WireFailure } from "../runtime/failure.js";
import type { ResolvedJobSpec } from "./job-spec-inheritance.js";
import type { Band } from "./job-spec.js";
import type { JobState } from "./job-status.js";

/**
 * Why an attempt, a task or a job ended as it did. Plain data.
 *
 * The program's own, charged to `maxRetriesFailure`: "exit", "signal", "threw", "oom", "disk", "setup-failed". Never repeated: "timeout".
 * The infrastructure's, charged to `maxRetriesPreemption`: "node-lost", "preempted", "start-failed".
 * Somebody's or another task's doing: "cancelled", "completed", "task-failed" (another task ended the job), "gang-restarted" (another task of the gang starts again).
 * Of tasks that never ran: "unschedulable", "scheduling-timeout".
 */
export type Cause =
  | { readonly kind: "exit"; readonly code: number; readonly stderrTail?: string }
  | { readonly kind: "signal"; readonly signal: string; readonly stderrTail?: string }
  | { readonly kind: "threw"; readonly failure: WireFailure }
  | { readonly kind: "oom"; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: "disk"; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: "setup-failed"; readonly message: string }
  | { readonly kind: "timeout"; readonly timeoutMs: number }
  | { readonly kind: "node-lost"; readonly worker: string; readonly message: string }
  | { readonly kind: "start-failed"; readonly worker: string; readonly message: string }
  | { readonly kind: "preempted"; readonly by: string }
  | { readonly kind: "cancelled"; readonly by: string; readonly reason?: string; readonly failure?: WireFailure }
  | { readonly kind: "completed"; readonly by: string }
  | { readonly kind: "task-failed"; readonly taskIndex: number; readonly cause: Cause }
  | { readonly kind: "gang-restarted"; readonly taskIndex: number; readonly cause: Cause }
  | { readonly kind: "unschedulable"; readonly shortage: Shortage }
  | { readonly kind: "scheduling-timeout"; readonly schedulingTimeoutMs: number; readonly reason?: string };

/** What blocks a task: a resource, "device" (kind or variant), a "constraint", a "taint", "gang" (each task has room, not all at once), "combination" (each resource is to be had, not together), "workers" (there are none), "backoff", "preemption" (evicted tasks have not ended), "building" (too many attempts are starting). */
export type Dimension =
  | "cpu"
  | "memoryBytes"
  | "diskBytes"
  | "gpu"
  | "tpu"
  | "device"
  | "constraint"
  | "taint"
  | "gang"
  | "combination"
  | "workers"
  | "backoff"
  | "preemption"
  | "building";

/** In what a job asks for more than the cluster could ever give it. */
export interface Shortage {
  /** What is short. */
  readonly dimension: Dimension;
  /** What the job asks for, for people: "64", "300GiB", 'region EQ "mars"'. */
  readonly asked: string;
  /** The most that could be had, for people. */
  readonly available: string;
  /** The nearest shape that could run, for people: "cpu 16 on worker w3". */
  readonly nearest: string;
}

/** Why a task waits. */
export interface PendingReason {
  /** What it waits for first of all. */
  readonly dimension: Dimension;
  /** One line for people that names the dimension, what is asked, what is free, and how many workers come into question. */
  readonly message: string;
  /** Workers of the cluster. This and the next two are left out where no worker is looked for yet: "backoff", and "gang" while tasks of it are being stopped. */
  readonly workers?: number;
  /** Those that could ever run such a task: constraints, taints and capacity. */
  readonly possible?: number;
  /** Those that have room for one now. */
  readonly withRoom?: number;
  /** Tasks of the job that wait. */
  readonly waiting: number;
  /** Set where the job's user is over budget and the job therefore counts as BATCH: what it has spent and may spend. */
  readonly overBudget?: { readonly spend: number; readonly budget: number };
}

/** One start of a task, from its assignment to its end. */
export interface AttemptModel {
  /** Random, for ever: everything about the attempt carries it. */
  readonly uid: string;
  /** Its task. */
  readonly taskIndex: number;
  /** Attempts of the task before it. All of a gang have one number. */
  readonly number: number;
  /** Where it runs. */
  readonly worker: string;
  /** The band it was given when it was assigned: BATCH for a job whose user was over budget then. */
  readonly band: Band;
  /** ASSIGNED: ordered. BUILDING: the worker prepares it. RUNNING: its process was started. Then how it ended; one that is ended to start its task again has FAILED, WORKER_FAILED, PREEMPTED or KILLED (its gang starts again). */
  readonly state: JobState;
  /** When, in milliseconds since the epoch. */
  readonly assignedAt: number;
  /** When the worker began with it. */
  readonly buildingAt?: number;
  /** When its process was started. */
  readonly startedAt?: number;
  /** When nothing of it ran any more. */
  readonly endedAt?: number;
  /** Its process. */
  readonly pid?: number;
  /** Its TCP ports by name. */
  readonly ports?: Readonly<Record<string, number>>;
  /** Set once it is to stop: why. Whatever it reports after that, this decides. */
  readonly stop?: Cause;
  /** Why it did not succeed. */
  readonly cause?: Cause;
}

/** One task of a job. */
export interface TaskModel {
  /** Place in the job. */
  readonly index: number;
  /** Where it stands. */
  readonly state: JobState;
  /** Number of the current attempt, or of the next one while PENDING. */
  readonly attempt: number;
  /** The attempt that is assigned, being built or running. At most one: a task is not started again before its last attempt is gone. */
  readonly current?: AttemptModel;
  /** The latest attempt that has ended. */
  readonly last?: AttemptModel;
  /** Retries charged to `maxRetriesFailure`. A gang's tasks have one account. */
  readonly failures: number;
  /** Retries charged to `maxRetriesPreemption`. A gang's tasks have one account. */
  readonly preemptions: number;
  /** Since when it waits for room, in milliseconds since the epoch. Only while PENDING. */
  readonly pendingSince?: number;
  /** Before which it is not started again (backoff), in milliseconds since the epoch. Only while PENDING. */
  readonly readyAt?: number;
  /** Why it waits, as {@link JobModelEvent} "reason" said last. Only while PENDING. */
  readonly reason?: PendingReason;
  /** Why its last attempt ended, while it waits for the next; why it did not succeed, once final. */
  readonly cause?: Cause;
  /** When it reached its final state. */
  readonly endedAt?: number;
}

/** A job as the state machine sees it: plain data, shared between versions where nothing changed. */
export interface JobModel {
  /** Random, for ever. */
  readonly uid: string;
  /** `/user-or-parent/name`; used again after the end. */
  readonly id: string;
  /** Whose budget it counts against. */
  readonly user: string;
  /** What to run. */
  readonly spec: ResolvedJobSpec;
  /** When it was submitted, in milliseconds since the epoch. */
  readonly submittedAt: number;
  /** Its tasks, by index. */
  readonly tasks: readonly TaskModel[];
  /** Set once the whole job is to end: why. No task starts after that. */
  readonly stop?: Cause;
  /** Set once all tasks are final and nothing of them runs: the job's state, and why it did not succeed. */
  readonly ended?: { readonly state: JobState; readonly at: number; readonly cause?: Cause };
}

/** How an attempt ended, as its worker tells. */
export type AttemptOutcome = { readonly kind: "succeeded" } | { readonly kind: "failed"; readonly cause: Cause };

/** What happens to a job. What names an attempt that is not the current one of its task, or has ended, changes nothing. */
export type JobModelEvent =
  /** The scheduler has placed tasks: of a gang all of them, in one event. */
  | { readonly type: "assigned"; readonly band: Band; readonly placements: readonly { readonly taskIndex: number; readonly worker: string; readonly attemptUid: string }[] }
  /** The worker prepares the attempt: bundle, setup. */
  | { readonly type: "building"; readonly attemptUid: string }
  /** The attempt's process runs; or more is known of it. */
  | { readonly type: "started"; readonly attemptUid: string; readonly pid?: number; readonly ports?: Readonly<Record<string, number>> }
  /** Nothing of the attempt runs any more. */
  | { readonly type: "ended"; readonly attemptUid: string; readonly outcome: AttemptOutcome }
  /** The worker is given up; whatever it had is lost. */
  | { readonly type: "workerLost"; readonly worker: string; readonly message: string }
  /** The scheduler takes the attempt's place for another; of a gang, all places. */
  | { readonly type: "preempted"; readonly attemptUid: string; readonly by: string }
  /** Somebody, or the end of its parent, ends the job. */
  | { readonly type: "cancelled"; readonly by: string; readonly reason?: string; readonly failure?: WireFailure }
  /** Somebody declares the job done: what has not ended is stopped and counts as SUCCEEDED. */
  | { readonly type: "completed"; readonly by: string }
  /** No worker could ever run the job's tasks. */
  | { readonly type: "unschedulable"; readonly shortage: Shortage }
  /** What the scheduler says about the tasks that wait. */
  | { readonly type: "reason"; readonly reason: PendingReason }
  /** Time has passed: see {@link JobTransition.wakeAt}. */
  | { readonly type: "tick" };

/** What is to be done because of an event. */
export type JobEffect =
  /** Order the attempt from its worker. */
  | { readonly type: "launch"; readonly attempt: AttemptModel }
  /** Have the worker stop the attempt; it answers with "ended". */
  | { readonly type: "stop"; readonly attemptUid: string; readonly worker: string; readonly cause: Cause }
  /** The attempt is over, for its history: endpoints go, capacity is free. A gang's success may still be discarded: see "retry". */
  | { readonly type: "attemptEnded"; readonly attempt: AttemptModel }
  /** These tasks start again with attempt `number`, not before `at`: what they returned before is discarded; child jobs end where the policy says so. */
  | { readonly type: "retry"; readonly taskIndexes: readonly number[]; readonly number: number; readonly at: number; readonly cause: Cause }
  /** Tasks may be placed, from this time on. */
  | { readonly type: "startWanted"; readonly at: number }
  /** All tasks are final and nothing of them runs. */
  | { readonly type: "jobEnded"; readonly state: JobState; readonly cause?: Cause };

/** The answer of the state machine. */
export interface JobTransition {
  /** The job after the event: the very same object when the event changed nothing, and the same task objects where a task did not change. */
  readonly job: JobModel;
  /** What is to be done, in this order. */
  readonly effects: readonly JobEffect[];
  /** When a "tick" is due: the earliest timeout or end of a wait, in milliseconds since the epoch. Undefined: none. */
  readonly wakeAt: number | undefined;
}
