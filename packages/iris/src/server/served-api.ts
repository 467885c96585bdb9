import type { ApiCallOptions, IrisApi, JobReference } from "../client/iris-api.js";
import type { ResolvedJobSpec } from "../jobs/job-spec-inheritance.js";
import type { ExecEvent } from "../worker/protocol.js";

/** A job's spec, as it may be seen: without arguments, and of variables the names alone. */
export type JobDescription = Omit<ResolvedJobSpec, "args" | "env"> & { readonly envNames: readonly string[] };

/** A command to run beside a task. */
export interface ExecInTask extends JobReference {
  /** Default 0. */
  readonly taskIndex?: number | undefined;
  readonly argv: readonly string[];
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** What a controller offers to those who come in by its server. */
export interface ServedApi extends IrisApi {
  /** What the job is to run, without secrets. */
  describe(request: JobReference, options?: ApiCallOptions): Promise<JobDescription>;
  /** Runs a command beside a running task, with its directory and variables. */
  exec(request: ExecInTask, options?: ApiCallOptions): AsyncIterable<ExecEvent>;
}
