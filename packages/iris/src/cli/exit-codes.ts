import { isMarinError } from "../platform.js";

/** Exit codes of the command. `exec` gives that of its command instead. */
export const exitCodes = {
  /** Done; of `run`: the job has succeeded. */
  success: 0,
  /** Something failed. */
  failure: 1,
  /** The command was called wrongly. */
  usage: 2,
  /** The job has ended otherwise than SUCCEEDED. */
  jobFailed: 3,
  /** There is no such job, task or bundle. */
  notFound: 4,
  /** There is no controller, it cannot be reached, or it does not let the caller in. */
  unreachable: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

const unreachable: ReadonlySet<string> = new Set(["IRIS_NO_CONTROLLER", "RIGGING_UNAUTHENTICATED", "RIGGING_FORBIDDEN", "DUCKY_UNAUTHORIZED", "DUCKY_REFUSED", "DUCKY_CONNECT_FAILED", "DUCKY_CLOSED", "DUCKY_UNAVAILABLE"]);
const notFound: ReadonlySet<string> = new Set(["IRIS_NO_JOB", "IRIS_NO_ATTEMPT", "IRIS_NO_BUNDLE", "IRIS_NO_OUTPUTS"]);

/** The exit code that an error ends the command with. */
export function exitCodeOf(error: unknown): number {
  if (!isMarinError(error)) return exitCodes.failure;
  if (error.code === "IRIS_USAGE" || error.code === "IRIS_BAD_JOB") return exitCodes.usage;
  if (error.code === "IRIS_INTERRUPTED") return exitCodes.interrupted;
  if (unreachable.has(error.code)) return exitCodes.unreachable;
  return notFound.has(error.code) ? exitCodes.notFound : exitCodes.failure;
}
