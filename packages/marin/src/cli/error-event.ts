import { fileError, isMarinError } from "@marin/rigging";

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
  const say = (message: string): string => (step === undefined ? message : `step ${step}: ${message}`);
  const known = error instanceof Error && !isMarinError(error) ? explained(error, prefix) : error;
  if (isMarinError(known)) {
    return { event: "error", code: known.code, message: say(known.message), exitCode: USAGE_CODES.has(known.code) ? 2 : 1, ...where, data: jsonData(known.data) };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { event: "error", code: "MARIN_UNEXPECTED", message: say(`${text} (unexpected; --verbose shows where)`), exitCode: 1, ...where };
}

function explained(error: NodeJS.ErrnoException, prefix: string): unknown {
  return fileError(error, { action: error.syscall ?? "use", path: error.path ?? prefix });
}

/** The fields of an error's data that JSON has a form for; large integers as text. */
function jsonData(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    try {
      const text = JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) as string | undefined;
      if (text !== undefined) json[key] = JSON.parse(text);
    } catch {
      // A loop, or a getter that throws: the message and the other fields still tell.
    }
  }
  return json;
}

function isStop(error: unknown): boolean {
  return (isMarinError(error) && STOPPED_CODES.has(error.code)) || (error instanceof Error && error.name === "AbortError");
}

/** The stacks of an error and of its causes. */
export function errorDetails(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by: ${errorDetails(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
