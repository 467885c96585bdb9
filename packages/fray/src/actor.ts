import type { ActorLink, ActorState } from "./actors/link.js";
import { methodsOver } from "./actors/handle.js";
import type { MethodKinds } from "./actors/messages.js";
import type { Future } from "./future.js";

/** Settings of one call of an actor's method, or of several: {@link ActorHandle}'s `with`. */
export interface ActorCallOptions {
  /** Cancels the call when aborted: it fails at once, and `currentCall().signal` is aborted in the actor. Default: never. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the call fails with FRAY_TIMEOUT and is told to end; of a stream, the longest wait for one item. Default: none. */
  readonly timeoutMs?: number;
  /**
   * Whether the method may be run more than once with the same effect. Then a call that has lost its actor is made again, under the name it
   * had, until there is an answer, the actor is gone for good, or `timeoutMs` is over; an actor that has answered it already answers the
   * same. A stream goes on after the last item received: the generator is run anew, and must give the same items. Default: false,
   * at most once.
   */
  readonly idempotent?: boolean;
  /** Items of a stream that may be under way or wait for the consumer; with 1 the generator runs only when an item is asked for. At least 1. Default: 64. */
  readonly streamWindow?: number;
}

/** Where an actor is: plain JSON, which any process may turn into a handle by a client's `getActor`. */
export interface ActorRef {
  readonly name: string;
  /** For example "ws://node-7:41234". */
  readonly address: string;
}

/** What a handle tells of its actor. */
export interface ActorControl {
  readonly name: string;
  /** Where it stands. */
  readonly state: ActorState;
  /** 1 for the first, one more with each restart. */
  readonly incarnation: number;
  /**
   * Its name and address.
   *
   * @throws MarinError FRAY_NOT_LISTENING where its client listens nowhere
   */
  ref(): ActorRef;
  /** Stops it: calls that wait are refused, those at work aborted and waited for, for at most `graceMs` (default 4000). Of a handle that came from an address: ends only the handle. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Ends its worker at once, as a crash would: for tests of what follows. Does nothing to an actor that is not in a worker of this client. */
  kill(): void;
}

type AnyMethod = (...args: never[]) => unknown;

type ActorMethod<F> = F extends (...args: infer A) => infer R
  ? [R] extends [never]
    ? (...args: A) => Future<never>
    : R extends AsyncIterable<infer I> | Generator<infer I>
      ? (...args: A) => AsyncGenerator<I, void, void>
      : (...args: A) => Future<Awaited<R>>
  : never;

/** The methods of an actor as callers see them: each gives a {@link Future}, each generator method an asynchronous generator. */
export type ActorMethods<T> = { readonly [K in keyof T as T[K] extends AnyMethod ? (K extends string ? K : never) : never]: ActorMethod<T[K]> };

/** An object in a worker, or elsewhere, as seen from here. Disposing of it stops the actor, or ends the handle where that came from an address. */
export type ActorHandle<T> = ActorMethods<T> &
  AsyncDisposable & {
    /** The same methods under other rules: `actor.with({ timeoutMs: 500, idempotent: true }).put("k", 1)`. */
    with(options: ActorCallOptions): ActorMethods<T>;
    /** Who and where it is. */
    readonly actor: ActorControl;
    /** The {@link ActorRef}, so that `JSON.stringify` gives it. */
    toJSON(): ActorRef;
  };

/** Makes the handle of what is at the end of a link. */
export function makeHandle<T>(link: ActorLink, kinds: MethodKinds, control: Pick<ActorControl, "ref" | "stop" | "kill">): ActorHandle<T> {
  const actor: ActorControl = Object.freeze({
    name: link.name,
    get state() {
      return link.state;
    },
    get incarnation() {
      return link.incarnation;
    },
    ...control,
  });
  const handle = methodsOver(link, kinds, {}) as Record<string | symbol, unknown>;
  const own = {
    with: (options: ActorCallOptions) => Object.freeze(methodsOver(link, kinds, options)),
    actor,
    toJSON: () => control.ref(),
    [Symbol.asyncDispose]: () => control.stop(),
  };
  for (const key of Reflect.ownKeys(own)) Object.defineProperty(handle, key, { value: own[key as keyof typeof own], enumerable: false });
  return Object.freeze(handle) as ActorHandle<T>;
}
