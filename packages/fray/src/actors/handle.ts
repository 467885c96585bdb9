import { randomUUID } from "node:crypto";
import type { ActorCallOptions } from "../actor.js";
import { Future, FutureWork } from "../future.js";
import { checkOptions, isPassing, maxTimerMs, pause, retryMs, timedOut } from "./call-options.js";
import type { ActorCaller, CallListener } from "./caller.js";
import type { ActorLink } from "./link.js";
import type { MethodKinds } from "./messages.js";
import { ActorStream } from "./stream.js";

/** Names of calls that may be made again: of this thread, counted. */
const keyPrefix = randomUUID();
let lastKey = 0;

/** The functions of a handle: one for each method. */
export function methodsOver(link: ActorLink, kinds: MethodKinds, options: ActorCallOptions): Readonly<Record<string, (...args: unknown[]) => unknown>> {
  const methods: Record<string, (...args: unknown[]) => unknown> = {};
  for (const [method, kind] of Object.entries(kinds)) {
    methods[method] = kind === "call" ? (...args) => callOver(link, method, args, options) : (...args) => new ActorStream(link, method, args, options);
  }
  return methods;
}

/**
 * Calls a method by the rules of its options.
 *
 * @param key - names an idempotent call that somebody else has made and that is passed on
 */
export function callOver(link: ActorLink, method: string, args: readonly unknown[], options: ActorCallOptions, key?: string): Future<unknown> {
  checkOptions(method, options);
  return options.idempotent === true ? callUntilAnswered(link, method, args, options, key) : callOnce(link, method, args, options);
}

function callOnce(link: ActorLink, method: string, args: readonly unknown[], options: ActorCallOptions): Future<unknown> {
  const call = new SingleCall(link, method, args, options);
  call.start();
  return call.future;
}

/** A call that is made at most once. */
class SingleCall extends FutureWork<unknown> implements CallListener {
  readonly #link: ActorLink;
  readonly #method: string;
  readonly #args: readonly unknown[];
  readonly #timeoutMs: number | undefined;
  #caller: ActorCaller | undefined;
  #id = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(link: ActorLink, method: string, args: readonly unknown[], { signal, timeoutMs }: ActorCallOptions) {
    super(signal);
    this.#link = link;
    this.#method = method;
    this.#args = args;
    this.#timeoutMs = timeoutMs;
  }

  start(): void {
    if (this.future.state !== "pending") return;
    if (this.#timeoutMs !== undefined && this.#timeoutMs < maxTimerMs) this.#timer = setTimeout(() => this.#expire(), this.#timeoutMs);
    const { caller } = this.#link;
    if (caller === undefined) void this.#acquire();
    else this.#send(caller);
  }

  result(value: unknown): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.fulfil(value);
  }

  error(error: unknown): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.reject(error);
  }

  lost(): void {
    if (this.#caller !== undefined) void this.#link.lost(this.#caller, this.#method).then((error) => this.error(error));
  }

  // A future whose signal is aborted already is cancelled before this object's fields exist.
  cancel(reason: unknown): void {
    if (!(#caller in this)) return;
    clearTimeout(this.#timer);
    this.#caller?.cancel(this.#id, reason);
  }

  #send(caller: ActorCaller): void {
    this.#caller = caller;
    try {
      this.#id = caller.call(this.#link.name, this.#method, this.#args, undefined, this);
    } catch (error) {
      this.error(error);
    }
  }

  async #acquire(): Promise<void> {
    try {
      const caller = await this.#link.acquire(this.#method);
      // It was cancelled, or its time was up, before it could be made.
      if (this.future.state === "pending") this.#send(caller);
    } catch (error) {
      this.error(error);
    }
  }

  #expire(): void {
    const error = timedOut(this.#link, this.#method, this.#timeoutMs ?? 0);
    this.reject(error);
    this.#caller?.cancel(this.#id, error);
  }
}

/** Makes the call again, under the same key, until there is an answer. */
function callUntilAnswered(link: ActorLink, method: string, args: readonly unknown[], { signal: outer, timeoutMs }: ActorCallOptions, given: string | undefined): Future<unknown> {
  const key = given ?? `${keyPrefix}-${++lastKey}`;
  /** Where somebody else has named the call, it is theirs to say that they have the answer. */
  const answered = (caller: ActorCaller): void => {
    if (given === undefined) caller.forget(link.name, key);
  };
  return Future.run(
    (cancelled) =>
      withTimeout(link, method, timeoutMs, cancelled, async (signal) => {
        for (;;) {
          const caller = link.caller ?? (await link.ready(method, signal));
          signal.throwIfAborted();
          const answer = await oneTry(caller, link.name, method, args, key, signal);
          if (answer === undefined) {
            const error = await link.lost(caller, method);
            if (error.data["state"] === "dead" || error.data["state"] === "stopped") throw error;
            continue;
          }
          if ("value" in answer) {
            answered(caller);
            return answer.value;
          }
          // A host that passes calls on has lost its own way to the actor, or is being started again.
          if (isPassing(answer.error)) {
            await pause(retryMs, signal);
            continue;
          }
          answered(caller);
          throw answer.error;
        }
      }),
    outer === undefined ? {} : { signal: outer },
  );
}

/** The answer, or undefined where the channel has closed before it. */
function oneTry(caller: ActorCaller, actor: string, method: string, args: readonly unknown[], key: string, signal: AbortSignal): Promise<{ readonly value: unknown } | { readonly error: unknown } | undefined> {
  return new Promise((resolve, reject) => {
    let id = 0;
    const onAbort = (): void => {
      caller.cancel(id, signal.reason);
      resolve({ error: signal.reason });
    };
    const settle = (answer: { readonly value: unknown } | { readonly error: unknown } | undefined): void => {
      signal.removeEventListener("abort", onAbort);
      resolve(answer);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      id = caller.call(actor, method, args, key, {
        result: (value) => {
          settle({ value });
        },
        error: (error) => {
          settle({ error });
        },
        lost: () => {
          settle(undefined);
        },
      });
    } catch (error) {
      signal.removeEventListener("abort", onAbort);
      reject(error as Error);
    }
  });
}

async function withTimeout<T>(link: ActorLink, method: string, timeoutMs: number | undefined, cancelled: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (timeoutMs === undefined || timeoutMs > maxTimerMs) return work(cancelled);
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(timedOut(link, method, timeoutMs));
  }, timeoutMs);
  try {
    return await work(AbortSignal.any([cancelled, controller.signal]));
  } finally {
    clearTimeout(timer);
  }
}
