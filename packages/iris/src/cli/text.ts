import type { Cause } from "../jobs/model.js";
import type { LogLine } from "../jobs/job-status.js";

/** A line of a log. `many`: whether the task is to be told. */
export function lineText({ time, level, source, taskIndex, attempt, message, fields }: LogLine, many: boolean): string {
  const named = fields === undefined ? "" : ` ${JSON.stringify(fields)}`;
  const from = many || attempt > 0 ? ` ${String(taskIndex)}${attempt > 0 ? `:${String(attempt)}` : ""}` : "";
  const rank = level === "info" || source === "stdout" || source === "stderr" ? "" : ` ${level}`;
  return `${time}${from}${rank}  ${message}${named}`;
}

/** A cause in one line. */
export function causeText(cause: Cause | undefined): string {
  if (cause === undefined) return "";
  switch (cause.kind) {
    case "exit":
      return `exit ${String(cause.code)}`;
    case "signal":
      return `signal ${cause.signal}`;
    case "threw":
      return `threw ${cause.failure.error.message}`;
    case "oom":
    case "disk":
      return `${cause.kind}: ${String(cause.usedBytes)} of ${String(cause.limitBytes)} bytes`;
    case "timeout":
      return `timeout after ${String(cause.timeoutMs)} ms`;
    case "node-lost":
    case "start-failed":
      return `${cause.kind} (${cause.worker}): ${cause.message}`;
    case "preempted":
    case "completed":
      return `${cause.kind} by ${cause.by}`;
    case "cancelled":
      return `cancelled by ${cause.by}${cause.reason === undefined ? "" : `: ${cause.reason}`}`;
    case "setup-failed":
      return `setup failed: ${cause.message}`;
    case "task-failed":
    case "gang-restarted":
      return `${cause.kind}: task ${String(cause.taskIndex)}: ${causeText(cause.cause)}`;
    case "unschedulable":
      return `unschedulable: ${cause.shortage.dimension} ${cause.shortage.asked}, at most ${cause.shortage.available}; nearest: ${cause.shortage.nearest}`;
    case "scheduling-timeout":
      return `no room within ${String(cause.schedulingTimeoutMs)} ms${cause.reason === undefined ? "" : `: ${cause.reason}`}`;
  }
}
