import type { LogFields, LogLevel } from "../platform.js";
import type { MetricValues, TaskProgress } from "../runtime/context.js";
import type { Band } from "./job-spec.js";
import type { Cause, PendingReason } from "./model.js";

/**
 * Where a job or a task stands.
 * PENDING: waits for room, or for its next attempt. ASSIGNED: a worker was told to run it. BUILDING: the worker prepares it. RUNNING: its process was
 * started. SUCCEEDED: its function returned, or its command exited with 0. FAILED: its program failed, or ran out of time or memory. KILLED: it was
 * cancelled. WORKER_FAILED: its worker was lost, more often than its spec allows. PREEMPTED: it lost its place, more often than its spec allows.
 * UNSCHEDULABLE: no worker of the cluster could ever hold it, or none could for too long. All but the first four are final.
 */
export type JobState = "PENDING" | "ASSIGNED" | "BUILDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED" | "WORKER_FAILED" | "PREEMPTED" | "UNSCHEDULABLE";

/** One start of a task. */
export interface AttemptStatus {
  /** Names it for ever. */
  readonly uid: string;
  /** Attempts of the task before it. */
  readonly number: number;
  /** Where it stands, or how it ended. */
  readonly state: JobState;
  /** The worker that it was given to. */
  readonly worker: string;
  /** Its process, once there was one. */
  readonly pid?: number;
  /** When it was given to its worker, ISO 8601. */
  readonly assignedAt: string;
  /** When its process was started, ISO 8601. */
  readonly startedAt?: string;
  /** When nothing of it ran any more, ISO 8601. */
  readonly endedAt?: string;
  /** Why it did not succeed. */
  readonly cause?: Cause;
  /** What became of its output directory: see `OutputCapture`. */
  readonly outputs?: unknown;
}

/** One task of a job. */
export interface TaskStatus {
  /** Place in the job, from 0 up. */
  readonly index: number;
  /** Where it stands. */
  readonly state: JobState;
  /** How often it was started before: 0 on the first start. */
  readonly attempt: number;
  /** Its process, while and after it runs. */
  readonly pid?: number;
  /** Its TCP ports by the names in the spec; empty before it starts. */
  readonly ports: Readonly<Record<string, number>>;
  /** Names its current, or latest, attempt for ever. */
  readonly attemptUid?: string;
  /** Where that attempt runs or ran. */
  readonly worker?: string;
  /** Why its latest attempt did not succeed: while it waits for the next, or once it is final. */
  readonly cause?: Cause;
  /** What it reported last about how far it has come. */
  readonly progress?: TaskProgress;
  /** All its attempts, first to latest. */
  readonly attempts: readonly AttemptStatus[];
}

/** A job at one moment. */
export interface JobStatus {
  /** The job's id, for example `/first-lm/train`. */
  readonly id: string;
  /** Names it for ever; the id may be used again after its end. */
  readonly uid: string;
  /** The name in its spec. */
  readonly name: string;
  /** Whose budget and share it counts against. */
  readonly user: string;
  /** Uid of the job whose task submitted it. */
  readonly parent?: string;
  /** When it was submitted, ISO 8601. */
  readonly submittedAt: string;
  /** When it ended, ISO 8601. */
  readonly endedAt?: string;
  /** Where it stands. */
  readonly state: JobState;
  /** Its priority, as declared or taken from its parent. */
  readonly band: Band;
  /** Why it waits, for people: the dimension that lacks room, what it asks and what is free. Only while tasks of it are PENDING. */
  readonly pendingReason?: string;
  /** The same for programs. */
  readonly pending?: PendingReason;
  /** Why it did not succeed, for programs. Only in a final state other than SUCCEEDED. */
  readonly cause?: Cause;
  /** Why it did not succeed. Only in a final state other than SUCCEEDED. */
  readonly error?: Error;
  /** Its tasks, by index. */
  readonly tasks: readonly TaskStatus[];
}

/** One line of a job's log. */
export interface LogLine {
  /** When it arrived, ISO 8601. */
  readonly time: string;
  /** How much it matters: a task's standard output counts as info, its standard error as warn. */
  readonly level: LogLevel;
  /** "log": by `irisCtx().log`; "stdout", "stderr": printed by the process; "iris": by the cluster. */
  readonly source: "log" | "stdout" | "stderr" | "iris";
  /** The task it is from. */
  readonly taskIndex: number;
  /** That task's attempt. */
  readonly attempt: number;
  /** The line, without its line end. */
  readonly message: string;
  /** Named values that go with it. */
  readonly fields?: LogFields;
}

/** What happens to a job, in the order it happened. */
export type JobEvent =
  | { readonly type: "log"; readonly line: LogLine }
  | { readonly type: "progress"; readonly taskIndex: number; readonly attempt: number; readonly progress: TaskProgress }
  | { readonly type: "metrics"; readonly taskIndex: number; readonly attempt: number; readonly values: MetricValues; readonly step?: number }
  | { readonly type: "state"; readonly status: JobStatus };

/** How a job ended. */
export interface JobResult {
  /** A final state. */
  readonly state: JobState;
  /** What task 0's function returned. Undefined unless SUCCEEDED. */
  readonly value: unknown;
  /** What each task's function returned, by taskIndex. Empty unless SUCCEEDED. */
  readonly values: readonly unknown[];
  /** Why it did not succeed: what the function threw, with its stack, or a MarinError IRIS_*. Undefined when SUCCEEDED. */
  readonly error?: Error;
}

/** The states that are not final, from the first to the last. */
const activeStates: readonly JobState[] = ["PENDING", "ASSIGNED", "BUILDING", "RUNNING"];

/** Whether the state is final. */
export function isFinal(state: JobState): boolean {
  return !activeStates.includes(state);
}

/** Worst first: a job whose tasks ended differently takes the first of these that one of them has. */
const worstFirst: readonly JobState[] = ["UNSCHEDULABLE", "FAILED", "WORKER_FAILED", "PREEMPTED", "KILLED", "SUCCEEDED"];

/**
 * A job's state from its tasks'. It is final when all of theirs are, so that a job that has ended holds no process and no room; before that it is
 * RUNNING once one of them runs or has ended, else as far as the foremost.
 *
 * @param tasks - the states of its tasks, at least one
 */
export function jobStateOf(tasks: readonly JobState[]): JobState {
  if (tasks.every(isFinal)) return worstFirst.find((state) => tasks.includes(state)) ?? "SUCCEEDED";
  if (tasks.some(isFinal)) return "RUNNING";
  return activeStates.findLast((state) => tasks.includes(state)) ?? "PENDING";
}
