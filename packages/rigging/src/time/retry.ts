import { MarinError } from "@marin/ducky";
import { type Clock, systemClock } from "./clock.js";
import type { Deadline } from "./deadline.js";

/** How waits grow from one try to the next. */
export interface BackoffOptions {
  /** The first wait, in milliseconds. Default 100. */
  readonly initialMs?: number;
  /** What each wait is of the one before. Default 2; 1 keeps them equal. */
  readonly factor?: number;
  /** The longest wait, in milliseconds. Default 10 000. */
  readonly maxMs?: number;
  /** Part of each wait, 0 to 1, that chance may take away, so that many who failed together do not come back together. Default 0.5. */
  readonly jitter?: number;
  /** Numbers in [0, 1). Default Math.random; `seededRandom(seed)` repeats. */
  readonly random?: () => number;
}

/**
 * The waits between tries, without end: the n-th lies in [(1 - jitter) w, w] with w = min(maxMs, initialMs factor^n).
 *
 * @returns milliseconds
 * @throws MarinError RIGGING_BAD_OPTION, at the first wait
 */
export function* backoff({ initialMs = 100, factor = 2, maxMs = 10_000, jitter = 0.5, random = Math.random }: BackoffOptions = {}): Generator<number, never> {
  check("initialMs", initialMs, 0);
  check("factor", factor, 1);
  check("maxMs", maxMs, 0);
  check("jitter", jitter, 0, 1);
  for (let wait = initialMs; ; wait = Math.min(maxMs, wait * factor)) {
    yield Math.min(maxMs, wait) * (1 - jitter * random());
  }
}

function check(name: string, value: number, least: number, most = Number.MAX_VALUE): void {
  if (value >= least && value <= most) return;
  throw new MarinError("RIGGING_BAD_OPTION", `${name} must be from ${String(least)} to ${most === Number.MAX_VALUE ? "any finite number" : String(most)}, and is ${String(value)}.`, { data: { option: name, found: value } });
}

/** Settings of {@link retry}. */
export interface RetryOptions {
  /** Whether an error may pass by itself, so that another try makes sense. What it refuses is thrown at once. */
  readonly retryIf: (error: unknown) => boolean;
  /** Tries in all. Default 5; Infinity leaves it to the deadline. */
  readonly attempts?: number;
  /** No try begins, and no wait ends, after it. Default: none. */
  readonly deadline?: Deadline;
  /** The waits. Default: those of {@link backoff}. */
  readonly backoff?: BackoffOptions;
  /** The least wait that an error asks for (Retry-After), in milliseconds. Default: none. */
  readonly minDelayMs?: (error: unknown) => number | undefined;
  /** Told before each wait. */
  readonly onRetry?: (failure: { readonly error: unknown; readonly attempt: number; readonly delayMs: number }) => void;
  /** Ends the tries and the wait. */
  readonly signal?: AbortSignal;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Does work again while it fails with what may pass. The error of the last try is thrown unchanged.
 *
 * @param work - gets the number of the try, from 1
 * @throws what the last try threw; the signal's reason; MarinError RIGGING_BAD_OPTION
 */
export async function retry<T>(work: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts = 5, clock = systemClock, deadline, signal } = options;
  check("attempts", attempts, 1, Infinity);
  const waits = backoff(options.backoff);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt >= attempts || !options.retryIf(error)) throw error;
      const delayMs = Math.max(waits.next().value, options.minDelayMs?.(error) ?? 0);
      if (deadline !== undefined && delayMs >= deadline.remainingMs) throw error;
      options.onRetry?.({ error, attempt, delayMs });
      await clock.sleep(delayMs, signal);
    }
  }
}
