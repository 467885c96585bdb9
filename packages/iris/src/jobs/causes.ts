import type { JobState } from "./job-status.js";
import type { Cause } from "./model.js";

/** The state of what ended for that cause. */
export function finalStateOf(cause: Cause): JobState {
  switch (cause.kind) {
    case "exit":
    case "signal":
    case "threw":
    case "oom":
    case "disk":
    case "setup-failed":
    case "timeout":
      return "FAILED";
    case "node-lost":
    case "start-failed":
      return "WORKER_FAILED";
    case "preempted":
      return "PREEMPTED";
    case "cancelled":
    case "task-failed":
    case "gang-restarted":
      return "KILLED";
    case "completed":
      return "SUCCEEDED";
    case "unschedulable":
    case "scheduling-timeout":
      return "UNSCHEDULABLE";
  }
}

/**
 * What a retry after that cause is charged to: "failure" and "preemption" are the two budgets, "free" is for what never ran, "none" is not repeated.
 *
 * @param cause - why the attempt ended
 * @param ran - whether its worker had begun with it
 */
export function budgetOf(cause: Cause, ran: boolean): "failure" | "preemption" | "free" | "none" {
  switch (cause.kind) {
    case "exit":
    case "signal":
    case "threw":
    case "oom":
    case "disk":
    case "setup-failed":
      return "failure";
    case "start-failed":
      return "preemption";
    case "node-lost":
    case "preempted":
      return ran ? "preemption" : "free";
    default:
      return "none";
  }
}
