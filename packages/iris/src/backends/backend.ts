import type { Resources } from "../jobs/job-spec.js";
import type { LogLevel } from "../platform.js";
import type { AttemptOrder, WorkerCause } from "../worker/protocol.js";

/** Tasks for a cluster to place and run, each once: iris itself decides whether one starts again, as another submission. */
export interface ClusterSubmission {
  /** Unique for ever: letters, digits, `-` and `_`, at most 48. A submission of a key that the cluster knows changes nothing. */
  readonly key: string;
  /** The job's id, for people and for the tasks. */
  readonly jobId: string;
  /** The job, for ever. */
  readonly jobUid: string;
  /** How many tasks; each finds its place in IRIS_TASK_INDEX. */
  readonly tasks: number;
  /** Starts of these tasks before this one. */
  readonly attempt: number;
  /** Whether all run at once or none does, and one that fails ends the others. */
  readonly gang: boolean;
  /** What each task runs. */
  readonly work: AttemptOrder["work"];
  /** Shell lines to run before it. */
  readonly setup: readonly string[];
  /** Variables of each task. */
  readonly env: Readonly<Record<string, string>>;
  /** What each task occupies and is held to. */
  readonly resources: Resources;
  /** Names of the TCP ports that each task gets. */
  readonly ports: readonly string[];
  /** Longest run of each task in milliseconds. Default no limit. */
  readonly timeoutMs?: number;
}

/** Where one task of a submission stands. */
export type ClusterTask =
  /** It waits, or is being prepared: for what. */
  | { readonly state: "pending"; readonly reason: string }
  | { readonly state: "running" }
  /** `value`: what its function returned, by v8.serialize. */
  | { readonly state: "succeeded"; readonly value: Uint8Array }
  /** Its own doing, its time, or the loss of where it ran ("node-lost", "start-failed"). */
  | { readonly state: "failed"; readonly cause: WorkerCause }
  /** Its place was given to another. */
  | { readonly state: "preempted"; readonly reason: string }
  /** By {@link ClusterBackend.cancel}, or with its gang. */
  | { readonly state: "cancelled" }
  /** The cluster could never run it. */
  | { readonly state: "unschedulable"; readonly reason: string };

/** A line of a task's log. */
export interface ClusterLine {
  /** Milliseconds since 1970, on the clock of where it was written. */
  readonly time: number;
  readonly level: LogLevel;
  readonly source: "log" | "stdout" | "stderr" | "iris";
  readonly message: string;
}

/** Lines of a task's log, and where the next ones begin. */
export interface ClusterLines {
  readonly lines: readonly ClusterLine[];
  /** The offset for the next question. */
  readonly next: number;
  /** Whether there will never be more. */
  readonly end: boolean;
}

/** Settings of one question. */
export interface ClusterCallOptions {
  /** Ends the waiting for the answer, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * A cluster that places tasks by itself, as Slurm and Kubernetes do. Every question may be asked again after a break: what it did the first time it does
 * not do twice. {@link clusterConformance} is what an implementation is held to; iris's own workers are one.
 */
export interface ClusterBackend extends AsyncDisposable {
  /** Names the cluster in messages. */
  readonly name: string;
  /**
   * Hands tasks over. Answers once the cluster has them for good; whether and when they run, `status` tells.
   *
   * @throws MarinError whose code says what the cluster refuses, when it refuses at once
   */
  submit(submission: ClusterSubmission, options?: ClusterCallOptions): Promise<void>;
  /**
   * Where submissions stand, all in one question to the cluster.
   *
   * @returns by key, the tasks by index; a key that the cluster does not know is not among them
   */
  status(keys: readonly string[], options?: ClusterCallOptions): Promise<ReadonlyMap<string, readonly ClusterTask[]>>;
  /**
   * Ends the tasks of a submission that have not ended: TERM, KILL after the grace. Answers once it is under way; does nothing for others.
   *
   * @param key - the submission's
   * @param graceMs - from TERM to KILL
   */
  cancel(key: string, graceMs: number, options?: ClusterCallOptions): Promise<void>;
  /**
   * What a task has written, from an offset on; none where there is nothing new. Whole: once `end` is told, the last line has been.
   *
   * @param key - the submission's
   * @param taskIndex - which of its tasks
   * @param offset - 0, or `next` of an earlier answer
   */
  logs(key: string, taskIndex: number, offset: number, options?: ClusterCallOptions): Promise<ClusterLines>;
  /** Says that nothing more will be asked about a submission: what still runs of it is ended, what is kept of it may go. */
  forget(key: string, options?: ClusterCallOptions): Promise<void>;
}
