import { MarinError } from "@marin/ducky";
import { type Clock, systemClock } from "./clock.js";

/** A moment until which work has to be done, by a clock that never jumps. */
export class Deadline {
  readonly #clock: Clock;
  readonly #at: number;

  private constructor(clock: Clock, at: number) {
    this.#clock = clock;
    this.#at = at;
  }

  /**
   * So long from now.
   *
   * @param milliseconds - Infinity never ends
   */
  static after(milliseconds: number, clock: Clock = systemClock): Deadline {
    return new Deadline(clock, clock.monotonic() + milliseconds);
  }

  /**
   * At a time of the calendar, as another machine may have named it. What is left is taken from the calendar now; later jumps of it change nothing.
   *
   * @param epochMs - milliseconds since 1970
   */
  static at(epochMs: number, clock: Clock = systemClock): Deadline {
    return Deadline.after(epochMs - clock.now(), clock);
  }

  /** Milliseconds left; 0 when it is over, Infinity when it never ends. */
  get remainingMs(): number {
    return Math.max(0, this.#at - this.#clock.monotonic());
  }

  /** Whether it is over. */
  get expired(): boolean {
    return this.remainingMs === 0;
  }

  /** The earlier of the two; both must be of one clock. */
  earlier(other: Deadline): Deadline {
    return other.#at < this.#at ? other : this;
  }

  /**
   * Does work within the deadline. The work gets a signal that aborts at the deadline or with the caller's signal; if it does not heed it, the
   * result is not waited for any longer.
   *
   * @param what - names the work in the error: "reading the model"
   * @param work - the work
   * @param signal - the caller's
   * @throws MarinError RIGGING_TIMEOUT; the signal's reason; what the work throws
   */
  async guard<T>(what: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const milliseconds = this.remainingMs;
    const timeout = (): MarinError => new MarinError("RIGGING_TIMEOUT", `Timed out: ${what} took longer than the ${String(Math.round(milliseconds))} ms that were left.`, { data: { what, timeoutMs: milliseconds } });
    if (milliseconds === 0) throw timeout();
    const stop = new AbortController();
    const done = new AbortController();
    const abort = (): void => stop.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    if (milliseconds < Infinity) void this.#clock.sleep(milliseconds, done.signal).then(() => stop.abort(timeout()), () => undefined);
    try {
      return await Promise.race([work(stop.signal), rejectsWith(stop.signal)]);
    } finally {
      done.abort();
      signal?.removeEventListener("abort", abort);
    }
  }
}

function rejectsWith(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
