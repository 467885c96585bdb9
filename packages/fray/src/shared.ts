import { AsyncLocalStorage } from "node:async_hooks";
import type { Connection } from "@marin/ducky";
import type { Companion, NewWorker } from "./companions.js";

/** An actor, as its own code may ask about it. */
export interface CurrentActor {
  readonly name: string;
  /** 1 for the first, one more with each restart. */
  readonly incarnation: number;
  /** Its place in its group, from 0 up; 0 for one that is in none. */
  readonly index: number;
  /** Actors in its group; 1 for one that is in none. */
  readonly size: number;
}

/** What a call under way in a worker may ask about itself. */
export interface CurrentCall {
  /** Aborted when whoever made the call cancels it, stops the worker, or is gone: the function should end then. */
  readonly signal: AbortSignal;
  /** The actor whose method, constructor or hook this is; undefined for a function. */
  readonly actor?: CurrentActor;
}

interface Shared {
  readonly calls: AsyncLocalStorage<CurrentCall>;
  readonly companions: Map<string, (worker: NewWorker) => Companion | undefined>;
  parent: Connection | undefined;
}

const key: unique symbol = Symbol.for("marin.fray");
const holder = globalThis as { [key]?: Shared };

/** One per thread, on the global object, so that two copies of this package in one worker agree. */
export const shared: Shared = (holder[key] ??= { calls: new AsyncLocalStorage<CurrentCall>(), companions: new Map(), parent: undefined });

/**
 * The call that this code runs in, correct across `await` and timers; undefined outside of a function that a worker was
 * asked to run and of an actor's methods.
 */
export function currentCall(): CurrentCall | undefined {
  return shared.calls.getStore();
}

/**
 * In a worker: the connection to whoever started it, over which both sides may serve and call services of their own.
 * Undefined in a process or thread that is no worker.
 */
export function parentConnection(): Connection | undefined {
  return shared.parent;
}
