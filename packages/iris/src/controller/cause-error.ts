import type { Cause } from "../jobs/model.js";
import { MarinError, formatBytes } from "../platform.js";
import { failureFromWire } from "../runtime/failure.js";

/** Which task the error is about; a job that never ran has none. */
export interface Culprit {
  readonly taskIndex: number;
  readonly attempt: number;
  readonly pid?: number | undefined;
}

/**
 * The error that a job ends with: what its function threw, or one that says what happened to it.
 *
 * @param job - its id
 * @param cause - why it did not succeed
 * @param culprit - the task that decided it
 */
export function causeError(job: string, cause: Cause, culprit: Culprit | undefined): Error {
  const data = { job, ...(culprit === undefined ? {} : { taskIndex: culprit.taskIndex, attempt: culprit.attempt, ...(culprit.pid === undefined ? {} : { pid: culprit.pid }) }) };
  const task = culprit === undefined ? `The job ${job}` : `Task ${String(culprit.taskIndex)} of the job ${job}`;
  const error = (code: string, message: string, more: Record<string, unknown> = {}, failure?: Error): MarinError =>
    new MarinError(code, message, { data: { ...data, ...more }, ...(failure === undefined ? {} : { cause: failure }) });
  switch (cause.kind) {
    case "threw":
      return failureFromWire(cause.failure);
    case "exit":
    case "signal": {
      const { stderrTail = "" } = cause;
      const ended = cause.kind === "exit" ? { exitCode: cause.code, signal: null } : { exitCode: null, signal: cause.signal };
      const printed = stderrTail === "" ? "" : ` The last it wrote to standard error: ${stderrTail}`;
      const process = culprit?.pid === undefined ? "" : ` (pid ${String(culprit.pid)})`;
      return error("IRIS_TASK_EXITED", `The process of ${lower(task)}${process} ${howEnded(cause)} before its work was done.${printed}`, { ...ended, stderrTail });
    }
    case "oom":
      return error("IRIS_OOM", `${task} took more memory than it may: ${formatBytes(cause.usedBytes)} of ${formatBytes(cause.limitBytes)}. Ask for more in resources.memoryBytes.`, { usedBytes: cause.usedBytes, limitBytes: cause.limitBytes });
    case "disk":
      return error("IRIS_DISK", `${task} took more disk than it may: ${formatBytes(cause.usedBytes)} of ${formatBytes(cause.limitBytes)}. Ask for more in resources.diskBytes.`, { usedBytes: cause.usedBytes, limitBytes: cause.limitBytes });
    case "setup-failed":
      return error("IRIS_SETUP_FAILED", `${task} could not be started: ${cause.message}`);
    case "timeout":
      return error("IRIS_TIMEOUT", `${task} ran longer than its timeoutMs of ${String(cause.timeoutMs)}.`, { timeoutMs: cause.timeoutMs });
    case "node-lost":
    case "start-failed":
      return error("IRIS_WORKER_LOST", `${task} lost its worker ${cause.worker}: ${cause.message}`, { worker: cause.worker });
    case "preempted":
      return error("IRIS_PREEMPTED", `${task} lost its place to the job ${cause.by}.`, { by: cause.by });
    case "completed":
      return error("IRIS_CANCELLED", `The job ${job} was declared done by ${cause.by}.`, { by: cause.by });
    case "cancelled": {
      const failure = cause.failure === undefined ? undefined : failureFromWire(cause.failure);
      if (failure instanceof MarinError && failure.code === "IRIS_CANCELLED") return failure;
      return error("IRIS_CANCELLED", `The job ${job} was cancelled by ${cause.by}${cause.reason === undefined ? "" : `: ${cause.reason}`}.`, { by: cause.by }, failure);
    }
    case "task-failed":
    case "gang-restarted":
      return error("IRIS_CANCELLED", `Task ${String(cause.taskIndex)} of the job ${job} ended without success, and the others with it.`, {}, causeError(job, cause.cause, undefined));
    case "unschedulable": {
      const { dimension, asked, available, nearest } = cause.shortage;
      const what = dimension === "combination" ? "" : `${dimension} `;
      return error("IRIS_UNSCHEDULABLE", `No worker can ever run the job ${job}: it asks for ${what}${asked}, and at most ${available} can be had. Nearest: ${nearest}.`, { dimension, asked, available, nearest });
    }
    case "scheduling-timeout":
      return error("IRIS_SCHEDULING_TIMEOUT", `${task} found no room within its schedulingTimeoutMs of ${String(cause.schedulingTimeoutMs)}${cause.reason === undefined ? "" : `: ${cause.reason}`}.`, { schedulingTimeoutMs: cause.schedulingTimeoutMs });
  }
}

function howEnded(cause: Extract<Cause, { readonly kind: "exit" | "signal" }>): string {
  if (cause.kind === "exit") return `ended with exit code ${String(cause.code)}`;
  return `was killed by ${cause.signal}${cause.signal === "SIGKILL" ? " (the system does so when memory runs out; else somebody did)" : ""}`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
