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

/** What became of a call whose connection is closed. */
type Fate = "unsent" | "lost";

/** By the error itself: one of the same form may come from the other end, about a connection of its own. */
const fates = new WeakMap<object, Fate>();

/** What became of a call that failed because its own connection is closed: "unsent", or "lost", when the other end may have carried it out; undefined for any other error. */
export function closedFate(error: unknown): Fate | undefined {
  return typeof error === "object" && error !== null ? fates.get(error) : undefined;
}

/** The reason of the signals of handlers at work when their connection ends. */
export function connectionEnded(peer: string, cause: unknown): MarinError {
  return closed(peer, undefined, "", cause);
}

/** The error of a call on a connection that is closed. */
export function connectionClosed(peer: string, call: CallName, fate: Fate, cause: unknown): MarinError {
  const error = closed(peer, call, ` ${call.service}.${call.method} ${fate === "lost" ? "has no answer; whether it was carried out is not known" : "was not sent"}.`, cause);
  fates.set(error, fate);
  return error;
}

/** The error of calls that a closed channel will not make. */
export function channelClosed(peer: string, cause: unknown): MarinError {
  return closed(peer, undefined, " The call was not sent.", cause);
}

function closed(peer: string, call: CallName | undefined, what: string, cause: unknown): MarinError {
  const why = cause instanceof Error ? ` ${cause.message}` : "";
  return new MarinError("DUCKY_CLOSED", `The connection to ${peer} is closed.${what}${why}`, { data: { peer, ...call }, ...(cause === undefined ? {} : { cause }) });
}

/** The error of a call that found no connection in time. */
export function unavailable(peer: string, waitedMs: number, cause: unknown): MarinError {
  const why = cause instanceof Error ? ` ${cause.message}` : "";
  const waited = waitedMs > 0 ? ` for ${Math.round(waitedMs)} ms` : "";
  return new MarinError("DUCKY_UNAVAILABLE", `There was no connection to ${peer}${waited}. The call was not sent.${why}`, { data: { peer, waitedMs }, ...(cause === undefined ? {} : { cause }) });
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
