import type { LogFields, LogLevel } from "../platform.js";
import type { MetricValues, TaskProgress } from "../runtime/context.js";

/**
 * Where a job or a task stands.
 * PENDING: waits for room. RUNNING: its process was started. SUCCEEDED: its function returned. FAILED: its function threw, or ran out
 * of time. KILLED: it was cancelled. WORKER_FAILED: its process died without an answer. UNSCHEDULABLE: no machine of the cluster could
 * ever hold it. All but the first two are final.
 */
export type JobState = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED" | "WORKER_FAILED" | "UNSCHEDULABLE";

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
}

/** A job at one moment. */
export interface JobStatus {
  /** The job's id, for example `/first-lm/train`. */
  readonly id: string;
  /** Where it stands. */
  readonly state: JobState;
  /** Why it waits: the dimension that lacks room, what it asks and what is free. Only while PENDING. */
  readonly pendingReason?: string;
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

/** Whether the state is final. */
export function isFinal(state: JobState): boolean {
  return state !== "PENDING" && state !== "RUNNING";
}

/** Worst first: a job whose tasks ended differently takes the first of these that one of them has. */
const worstFirst: readonly JobState[] = ["UNSCHEDULABLE", "FAILED", "WORKER_FAILED", "KILLED", "SUCCEEDED"];

/**
 * A job's state from its tasks'. It is final when all of theirs are, so that a job that has ended holds no process and no room.
 *
 * @param tasks - the states of its tasks, at least one
 */
export function jobStateOf(tasks: readonly JobState[]): JobState {
  if (tasks.every(isFinal)) return worstFirst.find((state) => tasks.includes(state)) ?? "SUCCEEDED";
  return tasks.every((state) => state === "PENDING") ? "PENDING" : "RUNNING";
}
