import { errorFromWire } from "./error-wire.js";
import { MarinError } from "./errors.js";

/** Which method a call is for. */
export interface CallName {
  readonly service: string;
  readonly method: string;
}

/** Both ends give up at the deadline with this error. */
export function deadlineExceeded({ service, method }: CallName, timeoutMs: number): MarinError {
  return new MarinError("DUCKY_DEADLINE_EXCEEDED", `${service}.${method} did not answer within ${Math.round(timeoutMs)} ms.`, { data: { service, method, timeoutMs } });
}

/** The reason of a handler's signal when the caller cancels. */
export function cancelledByCaller({ service, method }: CallName, wireReason: unknown): MarinError {
  let cause: Error | undefined;
  try {
    cause = errorFromWire(wireReason);
  } catch {
    // The reason is only told: a caller that gives none still cancels.
  }
  return new MarinError("DUCKY_CANCELLED", `The caller of ${service}.${method} no longer wants the answer${cause === undefined ? "" : `: ${cause.message}`}`, {
    data: { service, method },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** What the other end is told when the consumer leaves a stream before its end. */
export function callerHasLeft({ service, method }: CallName): MarinError {
  return new MarinError("DUCKY_CANCELLED", "The stream's consumer has left.", { data: { service, method } });
}

/** The error of every call on a connection that is closed; `sent`: the other end may have carried the call out. */
export function connectionClosed(peer: string, call: CallName | undefined, sent: boolean, cause: Error | undefined): MarinError {
  const fate = sent ? "has no answer; whether it was carried out is not known" : "was not sent";
  const what = call === undefined ? "" : ` ${call.service}.${call.method} ${fate}.`;
  const why = cause === undefined ? "" : ` ${cause.message}`;
  return new MarinError("DUCKY_CLOSED", `The connection to ${peer} is closed.${what}${why}`, {
    data: { peer, ...call, ...(call === undefined ? {} : { sent }) },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The longest delay that timers can wait: longer ones would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Calls back after the time; gives what stops it. */
export function startDeadline(timeoutMs: number | null, expired: () => void): () => void {
  if (timeoutMs === null || timeoutMs > maxTimerMs) return () => undefined;
  const timer = setTimeout(expired, timeoutMs);
  return () => {
    clearTimeout(timer);
  };
}
