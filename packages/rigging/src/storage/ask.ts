import { retry } from "../time/retry.js";
import { mayPass } from "./remote-error.js";

/** How hard to try. */
export interface AskOptions {
  /** Tries in all. */
  readonly attempts: number;
  /** How long one try may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Asks a server, and again while the failure may pass. A try without an answer for too long is given up: its signal aborts, and its error
 * has the code ETIMEDOUT.
 *
 * @throws what the last try threw; the caller's reason
 */
export function ask<T>(work: (signal: AbortSignal) => Promise<T>, { attempts, timeoutMs, signal }: AskOptions): Promise<T> {
  return retry(() => inTime(work, timeoutMs, signal), { attempts, retryIf: mayPass, ...(signal === undefined ? {} : { signal }) });
}

/** Does work once, in time. The signal it gets aborts when the time is over, or with the caller's. */
export async function inTime<T>(work: (signal: AbortSignal) => Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = Object.assign(new Error(`no answer for ${String(timeoutMs)} ms`), { code: "ETIMEDOUT" });
      reject(error);
      stop.abort(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])), over]);
  } finally {
    clearTimeout(timer);
  }
}

/** What sending so many bytes may take, beside what the answer may: a slow line carries 64 KiB a second. */
export function sendingMs(bytes: number): number {
  return bytes / 65.536;
}
