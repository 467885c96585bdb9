import type { ResolvedJobSpec } from "../jobs/job-spec-inheritance.js";
import type { CheckedJobSpec, Resources } from "../jobs/job-spec.js";
import type { JobEvent, JobResult, JobState, JobStatus, LogLine } from "../jobs/job-status.js";
import type { LogLevel } from "../platform.js";
import type { WireFailure } from "../runtime/failure.js";
import type { ExecEvent } from "../worker/protocol.js";

/** What becomes of a submission whose id is that of a job that has not ended. */
export type OnExisting = "error" | "keep" | "recreate";

/** A spec whose arguments are bytes, by `v8.serialize`. */
export type WireSpec = Omit<CheckedJobSpec, "args"> & { readonly args: Uint8Array };

/** A job to run. */
export interface SubmitRequest {
  readonly spec: WireSpec;
  /** A repetition with the same one is the same submission. */
  readonly submissionId: string;
  readonly onExisting: OnExisting;
  /** Whose job it is. Default: the parent's user, or who runs the controller. */
  readonly user?: string | undefined;
}

/** A job that was submitted. */
export interface SubmittedJob {
  readonly uid: string;
  readonly id: string;
  readonly name: string;
}

/** The status without what cannot travel. */
export type WireStatus = Omit<JobStatus, "error"> & { readonly error: WireFailure | null };

/** What a task's function returned, by `v8.serialize`; null where that is nothing. */
export type WireValue = Uint8Array | null;

/** The result without what cannot travel. Its values are null where together they are too large for one message: `values` gives them one by one. */
export type WireResult = Pick<JobResult, "state"> & { readonly values: readonly WireValue[] | null; readonly error: WireFailure | null };

/** An event without what cannot travel. */
export type WireEvent = Exclude<JobEvent, { readonly type: "state" }> | { readonly type: "state"; readonly status: WireStatus };

/** Where a reader of events is. */
export interface EventCursor {
  /** The history that it reads: each start of a controller begins a new one. */
  readonly history: string;
  /** Events of that history read so far. */
  readonly next: number;
  /** Log lines read so far. */
  readonly lines: number;
}

/** Which job: its uid, or its id, which means the latest of that id. */
export interface JobReference {
  readonly job: string;
}

/** Lines to read. */
export interface LogRequest extends JobReference {
  readonly follow?: boolean | undefined;
  readonly tail?: number | undefined;
  readonly minLevel?: LogLevel | undefined;
  readonly taskIndex?: number | undefined;
  /** Lines to leave out at the beginning. */
  readonly from?: number | undefined;
}

/** Chooses jobs. */
export interface JobFilter {
  /** Of this user only. Default all. */
  readonly user?: string | undefined;
  /** In one of these states only. Default all. */
  readonly states?: readonly JobState[] | undefined;
  /** Whose ids begin so: "/first-lm/". Default all. */
  readonly prefix?: string | undefined;
  /** At most so many, the latest. Default 100. */
  readonly limit?: number | undefined;
}

/** A job in a list. */
export interface JobSummary extends SubmittedJob {
  readonly user: string;
  readonly state: JobState;
  /** ISO 8601. */
  readonly submittedAt: string;
  /** ISO 8601. Only once it has ended. */
  readonly endedAt?: string;
  /** Its tasks by state. */
  readonly tasks: Readonly<Partial<Record<JobState, number>>>;
  /** Why it waits. Only while PENDING. */
  readonly pendingReason?: string;
}

/** A worker, as its controller sees it. */
export interface WorkerStatus {
  readonly name: string;
  /** "reachable", or since when it is not: what runs on it goes on until it is given up. */
  readonly state: "reachable" | "unreachable";
  /** When it was last heard, ISO 8601. */
  readonly lastHeardAt: string;
  /** All it gives to tasks. */
  readonly capacity: Resources;
  /** What its tasks hold. */
  readonly used: Resources;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Attempts on it, and what each was last seen to hold. */
  readonly attempts: readonly { readonly attemptUid: string; readonly job: string; readonly taskIndex: number; readonly memoryBytes: number }[];
}

/** What a user uses and may use. */
export interface UserStatus {
  readonly user: string;
  /** What the user's running tasks use now: 1000 an accelerator, 1 a gigabyte, 5 a processor. */
  readonly spend: number;
  /** Above it the user's jobs count as BATCH. Absent: no limit. */
  readonly budget?: number;
}

/** A job's spec with all that it takes from its parent, as it may be seen: without arguments, of variables the names alone, and with what looks like a secret masked. */
export type JobDescription = Omit<ResolvedJobSpec, "args" | "env"> & { readonly envNames: readonly string[] };

/** Settings of one call. */
export interface ApiCallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/**
 * Everything that can be asked of a controller, as plain data. Held in process by the controller itself, and served over connections; clients, tasks
 * and the HTTP server are built on it.
 */
export interface IrisApi {
  submit(request: SubmitRequest, options?: ApiCallOptions): Promise<SubmittedJob>;
  status(request: JobReference, options?: ApiCallOptions): Promise<WireStatus>;
  /** What the job is to run. */
  describe(request: JobReference, options?: ApiCallOptions): Promise<JobDescription>;
  list(request: JobFilter, options?: ApiCallOptions): Promise<readonly JobSummary[]>;
  /** Answers when the job has ended. */
  wait(request: JobReference, options?: ApiCallOptions): Promise<WireResult>;
  /** What the tasks of a job that has SUCCEEDED returned, by task, `from` that one on. */
  values(request: JobReference & { readonly from?: number | undefined }, options?: ApiCallOptions): AsyncIterable<{ readonly taskIndex: number; readonly value: WireValue }>;
  /** Answers at once; `wait` tells when nothing runs any more. */
  cancel(request: JobReference & { readonly reason: WireFailure }, options?: ApiCallOptions): Promise<null>;
  /** Ends the job and its children as SUCCEEDED. Answers at once. */
  complete(request: JobReference, options?: ApiCallOptions): Promise<null>;
  events(request: JobReference & { readonly cursor?: EventCursor | undefined }, options?: ApiCallOptions): AsyncIterable<{ readonly events: readonly WireEvent[]; readonly cursor: EventCursor }>;
  logs(request: LogRequest, options?: ApiCallOptions): AsyncIterable<{ readonly lines: readonly LogLine[]; readonly next: number }>;
  /** Runs a command beside a running task. */
  exec(request: JobReference & { readonly taskIndex?: number | undefined; readonly argv: readonly string[]; readonly timeoutMs?: number | undefined }, options?: ApiCallOptions): AsyncIterable<ExecEvent>;
  workers(request: Record<string, never>, options?: ApiCallOptions): Promise<readonly WorkerStatus[]>;
  users(request: Record<string, never>, options?: ApiCallOptions): Promise<readonly UserStatus[]>;
  /** `budget` null: no limit any more. */
  setBudget(request: { readonly user: string; readonly budget: number | null }, options?: ApiCallOptions): Promise<null>;
  register(request: { readonly name: string; readonly address: string; readonly metadata: Readonly<Record<string, string>> }, options?: ApiCallOptions): Promise<{ readonly endpoint: string }>;
  /** Lengthens the lease of an endpoint; brings back one whose lease ran out. */
  renew(request: { readonly endpoint: string }, options?: ApiCallOptions): Promise<null>;
  unregister(request: { readonly endpoint: string }, options?: ApiCallOptions): Promise<null>;
  resolve(request: { readonly name: string }, options?: ApiCallOptions): Promise<{ readonly address: string | null }>;
}
