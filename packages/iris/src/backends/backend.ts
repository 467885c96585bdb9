import type { SubmitJob } from "../client/jobs-service.js";
import type { CheckedJobSpec, Resources } from "../jobs/job-spec.js";
import type { LogLine } from "../jobs/job-status.js";
import type { Registry } from "../runtime/endpoints.js";
import type { TaskEvent } from "../runtime/task-service.js";

/** One attempt of one task that is to run. */
export interface TaskLaunch {
  /** The job's id. */
  readonly jobId: string;
  /** The job. */
  readonly spec: CheckedJobSpec;
  /** Which of its tasks. */
  readonly taskIndex: number;
  /** Which start of that task. */
  readonly attempt: number;
  /** Where the scheduler has put it. */
  readonly machine: string;
}

/** What a running attempt tells its controller and can ask of it. Nothing of an attempt that has ended has any effect. */
export interface TaskHost {
  /** The attempt's ports are known, or its process. */
  started(facts: { readonly pid?: number; readonly ports?: Readonly<Record<string, number>> }): void;
  /** It reports. */
  readonly report: (events: readonly TaskEvent[]) => void;
  /** It has printed a line. */
  printed(source: Exclude<LogLine["source"], "log">, line: string): void;
  /** The endpoints, as this attempt sees them. */
  readonly registry: Registry;
  /** Submits a job as a child of this attempt's job. */
  readonly submit: SubmitJob;
}

/** How an attempt ended. "lost": without an answer of its function. */
export type TaskOutcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: Error }
  | { readonly kind: "lost"; readonly error: Error };

/** An attempt under way. */
export interface TaskRun {
  /** How it ended; never rejects. Settled only when no process of the attempt runs any more. */
  readonly ended: Promise<TaskOutcome>;
  /** Ends it: first by its signal, then by force. */
  stop(reason: Error): void;
}

/** Runs tasks on the machines of a cluster. */
export interface ClusterBackend {
  /** The machines and all they have. */
  readonly machines: readonly { readonly name: string; readonly capacity: Resources }[];
  /** Starts an attempt. */
  start(launch: TaskLaunch, host: TaskHost): TaskRun;
}

