import { randomUUID } from "node:crypto";
import type { ActorCallOptions } from "../actor.js";
import { Future } from "../future.js";
import { checkOptions, isPassing, maxTimerMs, pause, retryMs, timedOut } from "./call-options.js";
import type { ActorCaller } from "./caller.js";
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

function callOnce(link: ActorLink, method: string, args: readonly unknown[], { signal, timeoutMs }: ActorCallOptions): Future<unknown> {
  let caller: ActorCaller | undefined;
  let id = 0;
  let timer: NodeJS.Timeout | undefined;
  const { future, fulfil, reject } = Future.withResolvers<unknown>(
    (reason) => {
      clearTimeout(timer);
      caller?.cancel(id, reason);
    },
    signal === undefined ? undefined : { signal },
  );
  if (signal !== undefined && future.state !== "pending") return future;
  const send = (to: ActorCaller): void => {
    caller = to;
    id = to.call(link.name, method, args, undefined, {
      result: (value) => {
        if (timer !== undefined) clearTimeout(timer);
        fulfil(value);
      },
      error: (error) => {
        if (timer !== undefined) clearTimeout(timer);
        reject(error);
      },
      lost: () => {
        clearTimeout(timer);
        void link.lost(to, method).then(reject);
      },
    });
  };
  if (timeoutMs !== undefined && timeoutMs < maxTimerMs) {
    timer = setTimeout(() => {
      const error = timedOut(link, method, timeoutMs);
      reject(error);
      caller?.cancel(id, error);
    }, timeoutMs);
  }
  try {
    if (link.caller !== undefined) {
      send(link.caller);
      return future;
    }
  } catch (error) {
    clearTimeout(timer);
    reject(error);
    return future;
  }
  link
    .acquire(method)
    .then((to) => {
      // It was cancelled, or its time was up, before it could be made.
      if (future.state === "pending") send(to);
    })
    .catch((error: unknown) => {
      clearTimeout(timer);
      reject(error);
    });
  return future;
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
