import { MarinError } from "@marin/ducky";
import type { ActorCallOptions } from "../actor.js";
import { checkOptions, isPassing, pause, retryMs, timedOut } from "./call-options.js";
import type { ActorCaller } from "./caller.js";
import type { ActorLink } from "./link.js";
import { Queue } from "./queue.js";

/** Items that may be under way or wait for the consumer, where nobody says otherwise. */
const defaultWindow = 64;

interface Waiter {
  readonly resolve: (result: IteratorResult<unknown, void>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The items of a generator method. Written out rather than as a generator: that would cost each item several turns of the event loop's microtasks.
 */
export class ActorStream implements AsyncGenerator<unknown, void, void> {
  readonly #link: ActorLink;
  readonly #method: string;
  readonly #args: readonly unknown[];
  readonly #options: ActorCallOptions;
  readonly #window: number;
  readonly #items = new Queue<unknown>();
  readonly #waiters = new Queue<Waiter>();
  readonly #leaving = new AbortController();
  #started = false;
  #ended: { readonly error?: unknown } | undefined;
  #caller: ActorCaller | undefined;
  #id = 0;
  #received: number;
  #owed = 0;
  #timer: NodeJS.Timeout | undefined;
  #onAbort: (() => void) | undefined;

  /** @param skip - items at the beginning that the reader has already */
  constructor(link: ActorLink, method: string, args: readonly unknown[], options: ActorCallOptions, skip = 0) {
    checkOptions(method, options);
    this.#received = skip;
    this.#link = link;
    this.#method = method;
    this.#args = args;
    this.#options = options;
    this.#window = options.streamWindow ?? defaultWindow;
  }

  next(): Promise<IteratorResult<unknown, void>> {
    if (!this.#started) this.#begin();
    if (this.#items.length > 0) {
      const value = this.#items.shift();
      this.#owe();
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended !== undefined) {
      const { error } = this.#ended;
      if (!("error" in this.#ended)) return Promise.resolve({ done: true, value: undefined });
      this.#ended = {};
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- an aborted signal's reason is whatever the caller gave
      return Promise.reject(error);
    }
    if (this.#owed > 0) this.#grant();
    this.#startTimer();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  async return(): Promise<IteratorResult<unknown, void>> {
    this.#leave(new MarinError("FRAY_CANCELLED", `The consumer of ${this.#method} has left.`, { data: { method: this.#method } }));
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<IteratorResult<unknown, void>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #begin(): void {
    this.#started = true;
    const { signal } = this.#options;
    if (signal?.aborted === true) {
      this.#finish({ error: signal.reason });
      return;
    }
    if (signal !== undefined) {
      this.#onAbort = () => {
        this.#giveUp(signal.reason);
      };
      signal.addEventListener("abort", this.#onAbort, { once: true });
    }
    if (this.#link.caller === undefined) {
      void this.#openWhenReady();
      return;
    }
    try {
      this.#open(this.#link.caller);
    } catch (error) {
      this.#finish({ error });
    }
  }

  #open(caller: ActorCaller): void {
    this.#caller = caller;
    this.#owed = 0;
    // What waits for the consumer counts as under way. An earlier try may have left a full window of it.
    const window = this.#window - this.#items.length;
    this.#id = caller.stream(this.#link.name, this.#method, this.#args, window, this.#received, {
      item: (value) => {
        this.#received += 1;
        const waiter = this.#waiters.shift();
        if (waiter === undefined) {
          this.#items.push(value);
          return;
        }
        clearTimeout(this.#timer);
        this.#owe();
        waiter.resolve({ done: false, value });
      },
      end: () => {
        this.#finish({});
      },
      error: (error) => {
        if (this.#options.idempotent === true && isPassing(error)) void this.#openWhenReady(retryMs);
        else this.#finish({ error });
      },
      lost: () => {
        void this.#lost(caller);
      },
    });
  }

  async #lost(caller: ActorCaller): Promise<void> {
    const error = await this.#link.lost(caller, this.#method);
    const gone = error.data["state"] === "dead" || error.data["state"] === "stopped";
    if (this.#options.idempotent === true && !gone) await this.#openWhenReady();
    else this.#finish({ error });
  }

  /** Opens the stream, anew where an earlier try was lost, once there is a way to the actor. */
  async #openWhenReady(delayMs = 0): Promise<void> {
    this.#caller = undefined;
    const { signal } = this.#leaving;
    try {
      if (delayMs > 0) await pause(delayMs, signal);
      const caller = this.#options.idempotent === true ? await this.#link.ready(this.#method, signal) : await this.#link.acquire(this.#method);
      if (this.#ended === undefined) this.#open(caller);
    } catch (error) {
      this.#finish({ error });
    }
  }

  #owe(): void {
    this.#owed += 1;
    if (this.#owed * 2 > this.#window && this.#window > 1) this.#grant();
  }

  #grant(): void {
    this.#caller?.grant(this.#id, this.#owed);
    this.#owed = 0;
  }

  /** The longest wait for one item. */
  #startTimer(): void {
    const { timeoutMs } = this.#options;
    if (timeoutMs === undefined || this.#waiters.length > 0) return;
    this.#timer = setTimeout(() => {
      this.#giveUp(timedOut(this.#link, this.#method, timeoutMs));
    }, timeoutMs);
  }

  /** Ends it from this side, with an error for whoever waits. */
  #giveUp(error: unknown): void {
    if (this.#ended !== undefined) return;
    this.#items.clear();
    this.#caller?.cancel(this.#id, error);
    this.#finish({ error });
    this.#leaving.abort(error);
  }

  #leave(reason: MarinError): void {
    this.#started = true;
    this.#items.clear();
    if (this.#ended === undefined) this.#caller?.cancel(this.#id, reason);
    this.#finish({});
    this.#ended = {};
    this.#leaving.abort(reason);
  }

  #finish(ended: { readonly error?: unknown }): void {
    if (this.#ended !== undefined) return;
    clearTimeout(this.#timer);
    if (this.#onAbort !== undefined) this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#ended = ended;
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift()) {
      if ("error" in ended) {
        waiter.reject(ended.error);
        this.#ended = {};
      } else waiter.resolve({ done: true, value: undefined });
    }
  }
}
