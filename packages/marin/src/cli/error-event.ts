import { fileError, isMarinError, redactor, toPlain } from "@marin/rigging";

import type { ErrorEvent } from "../events.js";
import { INTERRUPTED_EXIT_CODE } from "./interrupt.js";
import { USAGE_CODES } from "./usage-error.js";

/** Codes with which packages say that they stopped because they were told to. */
const STOPPED_CODES: ReadonlySet<string> = new Set(["MARIN_INTERRUPTED", "LEVANTER_INTERRUPTED"]);

/** Where an error happened. */
export interface ErrorPlace {
  /** Whether the user asked the run to stop. */
  readonly interrupted: boolean;
  /** The step at work. */
  readonly current: string | undefined;
  /** The step that the error names as its own. */
  readonly failed: string | undefined;
  /** Directory that the run writes into; named where the system does not say which file failed. */
  readonly prefix: string;
}

/** The event that tells of an error: the code, one clear message, and the exit code. */
export function errorEvent(error: unknown, { interrupted, current, failed, prefix }: ErrorPlace): ErrorEvent {
  const stopped = interrupted && isStop(error);
  // An interruption reaches every step, and which of them says so first means nothing.
  const step = stopped ? (current ?? failed) : (failed ?? current);
  const where = step === undefined ? {} : { step };
  if (stopped) {
    const message = `interrupted${step === undefined ? "" : ` in step ${step}`}; run the same command again to continue: finished steps and checkpoints are kept`;
    return { event: "error", code: "MARIN_INTERRUPTED", message, exitCode: INTERRUPTED_EXIT_CODE, ...where };
  }
  const say = (message: string): string => redactor.redact(step === undefined ? message : `step ${step}: ${message}`);
  const known = error instanceof Error && !isMarinError(error) ? explained(error, prefix) : error;
  if (isMarinError(known)) {
    return { event: "error", code: known.code, message: say(known.message), exitCode: USAGE_CODES.has(known.code) ? 2 : 1, ...where, data: toPlain(known.data, redactor) as Record<string, unknown> };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { event: "error", code: "MARIN_UNEXPECTED", message: say(`${text} (unexpected; --verbose shows where)`), exitCode: 1, ...where };
}

function explained(error: NodeJS.ErrnoException, prefix: string): unknown {
  return fileError(error, { action: error.syscall ?? "use", path: error.path ?? prefix });
}

function isStop(error: unknown): boolean {
  return (isMarinError(error) && STOPPED_CODES.has(error.code)) || (error instanceof Error && error.name === "AbortError");
}

/** The stacks of an error and of its causes, without secrets. */
export function errorDetails(error: unknown): string {
  if (!(error instanceof Error)) return redactor.redact(String(error));
  const cause = error.cause === undefined ? "" : `\ncaused by: ${errorDetails(error.cause)}`;
  return `${redactor.redact(error.stack ?? error.message)}${cause}`;
}
