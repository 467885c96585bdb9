import { ApiError } from "./api-error.js";
import type { Slots } from "./slots.js";

/** One request being worked on. */
export interface RequestJob {
  /** Aborted with an {@link ApiError} when the client goes away, and when the server no longer waits. */
  readonly signal: AbortSignal;
  /** Why the work ended: the reason of the signal where it is aborted, else the error. */
  reason(error: unknown): unknown;
  /** Says that the work is over. Harmless when called again. */
  end(): void;
}

/** Milliseconds that requests have to say that they were ended. */
const LAST_WORDS_MS = 500;

/** All requests being worked on, so that a server can wait for them and end them. */
export class Work {
  readonly #slots: Slots;
  readonly #onServed: () => void;
  readonly #running = new Set<AbortController>();
  readonly #idle = new Set<() => void>();
  #ending = false;

  /**
   * @param slots - places for requests
   * @param onServed - told when a request that had a place is over
   */
  constructor(slots: Slots, onServed: () => void = () => undefined) {
    this.#slots = slots;
    this.#onServed = onServed;
  }

  /** Whether no more requests are taken. */
  get ending(): boolean {
    return this.#ending;
  }

  /**
   * Waits for a request's turn. When the client goes away the request's place is free at once.
   *
   * @param client - aborted when the client goes away
   * @throws ApiError 503 while the server stops, 429 when too many wait, 499 when the client is gone
   */
  async begin(client: AbortSignal): Promise<RequestJob> {
    if (this.#ending) throw stopping();
    if (client.aborted) throw gone();
    const controller = new AbortController();
    const { signal } = controller;
    const forget = (): void => {
      client.removeEventListener("abort", leave);
      this.#running.delete(controller);
      if (this.#running.size === 0) for (const tell of this.#idle) tell();
    };
    const leave = (): void => {
      controller.abort(gone());
      forget();
    };
    client.addEventListener("abort", leave, { once: true });
    this.#running.add(controller);
    try {
      const slot = await this.#slots.acquire(signal);
      let over = false;
      return {
        signal,
        reason: (error) => (signal.aborted ? (signal.reason as ApiError) : error),
        end: () => {
          if (over) return;
          over = true;
          slot.release();
          forget();
          this.#onServed();
        },
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Takes no more requests; lets those that there are go on for `graceMs`, then ends them. */
  async end(graceMs: number): Promise<void> {
    this.#ending = true;
    await this.#idleWithin(graceMs);
    for (const controller of this.#running) controller.abort(stopping());
    await this.#idleWithin(LAST_WORDS_MS);
  }

  async #idleWithin(ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(deadline);
        this.#idle.delete(done);
        resolve();
      };
      const deadline = setTimeout(done, ms);
      this.#idle.add(done);
    });
  }
}

function stopping(): ApiError {
  return new ApiError(503, "the server is stopping", { code: "stopping", headers: { Connection: "close" } });
}

function gone(): ApiError {
  return new ApiError(499, "the client went away", { code: "client_closed_request" });
}
