import { isMarinError, MarinError } from "@marin/ducky";
import type { ActorCallOptions } from "../actor.js";
import type { ActorLink } from "./link.js";

/** Between two tries where the host says that the actor is away for now. */
export const retryMs = 50;

/** The longest delay that timers can wait. */
export const maxTimerMs = 2 ** 31 - 1;

/** Whether a host's refusal may be over later. */
export function isPassing(error: unknown): boolean {
  if (isMarinError(error, "FRAY_UNKNOWN_ACTOR")) return true;
  return isMarinError(error, "FRAY_ACTOR_UNAVAILABLE") && (error.data["state"] === "restarting" || error.data["state"] === "running" || error.data["state"] === "unreachable");
}

/** Fulfilled after the time; rejected with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    const onAbort = (): void => {
      clearTimeout(timer);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
      reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The error of a call that was not answered in time. */
export function timedOut(link: ActorLink, method: string, timeoutMs: number): MarinError {
  return new MarinError("FRAY_TIMEOUT", `${method} of ${link.title} has not answered within ${timeoutMs} ms. It was told to end; whether it was run is not known.`, {
    data: { actor: link.name, method, timeoutMs, ran: "unknown" },
  });
}

/** Refuses options that mean nothing. */
export function checkOptions(method: string, { timeoutMs, streamWindow }: ActorCallOptions): void {
  if (timeoutMs !== undefined && !(timeoutMs > 0)) throw new MarinError("FRAY_BAD_OPTION", `timeoutMs of ${method} must be a positive number of milliseconds, found ${timeoutMs}.`, { data: { method, timeoutMs } });
  if (streamWindow !== undefined && !(Number.isSafeInteger(streamWindow) && streamWindow >= 1)) {
    throw new MarinError("FRAY_BAD_OPTION", `streamWindow of ${method} must be a whole number of at least 1, found ${streamWindow}.`, { data: { method, streamWindow } });
  }
}
