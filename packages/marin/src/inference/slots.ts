import { ApiError } from "./api-error.js";

/** A place among the requests that are worked on. */
export interface Slot {
  /** Gives the place to the next in line. Harmless when called again. */
  release(): void;
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly admit: (slot: Slot) => void;
}

/** How many requests are worked on at once, and how many may wait; those that wait are served in the order in which they came. */
export class Slots {
  readonly #size: number;
  readonly #queueSize: number;
  readonly #waiting = new Set<Waiting>();
  #active = 0;

  /**
   * @param size - requests worked on at once
   * @param queueSize - requests that may wait
   */
  constructor(size: number, queueSize: number) {
    this.#size = size;
    this.#queueSize = queueSize;
  }

  /** Requests worked on. */
  get active(): number {
    return this.#active;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a place. When `signal` is aborted the place is given up at once, and the next in line gets it, even where the work takes a moment to end.
   *
   * @throws ApiError 429 when too many wait already; the signal's reason when it is aborted before there is a place
   */
  async acquire(signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    if (this.#active < this.#size) {
      this.#active += 1;
      return this.#slot(signal);
    }
    if (this.#waiting.size >= this.#queueSize) {
      throw new ApiError(429, `${String(this.#active)} requests are worked on and ${String(this.#waiting.size)} wait: try again later`, {
        code: "overloaded",
        headers: { "Retry-After": "1" },
      });
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        signal,
        admit: (slot) => {
          signal.removeEventListener("abort", leave);
          resolve(slot);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** A place that is counted already. */
  #slot(signal: AbortSignal): Slot {
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      signal.removeEventListener("abort", release);
      this.#passOn();
    };
    signal.addEventListener("abort", release, { once: true });
    return { release };
  }

  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#active -= 1;
      return;
    }
    this.#waiting.delete(next);
    next.admit(this.#slot(next.signal));
  }
}
