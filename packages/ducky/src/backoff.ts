/** How long to wait between attempts that fail. */
export interface BackoffOptions {
  /** Milliseconds after the first failure. Default: 100. */
  readonly initialMs?: number;
  /** Milliseconds at most. Default: 10 000. */
  readonly maxMs?: number;
}

/** Doubles with each failure, up to the most; shortened at random by up to a half, so that many clients of one server do not come back at one moment. */
export class Backoff {
  readonly maxMs: number;
  readonly #initialMs: number;
  #failures = 0;

  constructor({ initialMs = 100, maxMs = 10_000 }: BackoffOptions = {}) {
    this.#initialMs = initialMs;
    this.maxMs = maxMs;
  }

  /** Milliseconds to wait after one more failure. */
  next(): number {
    const delay = Math.min(this.maxMs, this.#initialMs * 2 ** this.#failures);
    this.#failures += 1;
    return delay * (0.5 + Math.random() / 2);
  }

  /** It works again. */
  reset(): void {
    this.#failures = 0;
  }
}

/** Waits; ends early, without an error, when aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
