/** The worker's side of an actor: functions that {@link createActor} asks its worker to run. One worker holds one actor. */
import { MarinError } from "@marin/ducky";
import { describeEntry, loadEntry, type Entry } from "../entry.js";
import { currentCall } from "../shared.js";

type Method = (...args: unknown[]) => unknown;
type Stream = AsyncGenerator<unknown> | Generator<unknown>;

/** How a method answers: once, or as a generator. */
export type MethodKinds = Readonly<Record<string, "call" | "stream">>;

let instance: object = {};
let lastTurn: Promise<unknown> = Promise.resolve();
const streams = new Map<number, Stream>();

/** Makes the instance and tells its methods. */
export async function create(named: Entry, args: unknown[]): Promise<MethodKinds> {
  const made = await loadEntry(named);
  const isClass = /^class\b/.test(Function.prototype.toString.call(made));
  const created: unknown = isClass ? Reflect.construct(made, args) : await made(...args);
  if (typeof created !== "object" || created === null) {
    throw new MarinError("FRAY_BAD_ACTOR", `${describeEntry(named)} gives no object: an actor is a class, or a function that makes an object with methods.`, { data: { ...named } });
  }
  instance = created;
  const kinds = methodsOf(created);
  // Awaiting the handle would call it.
  if ("then" in kinds) throw new MarinError("FRAY_BAD_ACTOR", `The actor of ${describeEntry(named)} has a method "then": its handle would look like a promise. Name it otherwise.`, { data: { ...named } });
  return kinds;
}

/** Calls a method when its turn has come. */
export function invoke(name: string, args: unknown[]): Promise<unknown> {
  return inTurn(() => method(name)(...args));
}

/** Starts a generator; it runs when it is asked for items. */
export function open(id: number, name: string, args: unknown[]): Promise<void> {
  return inTurn(() => void streams.set(id, method(name)(...args) as Stream));
}

/** Takes the next item of a generator. Other calls have their turns between two items, so a caller may use the actor while it reads. */
export function next(id: number): Promise<IteratorResult<unknown>> {
  return inTurn(async () => {
    const stream = streams.get(id);
    if (stream === undefined) return { done: true, value: undefined };
    let result: IteratorResult<unknown> | undefined;
    try {
      result = await stream.next();
    } finally {
      if (result?.done !== false) streams.delete(id);
    }
    return result.done === true ? { done: true, value: undefined } : result;
  });
}

/** Ends a generator that nobody reads any more. */
export function close(id: number): Promise<void> {
  return inTurn(async () => {
    const stream = streams.get(id);
    streams.delete(id);
    await stream?.return(undefined);
  });
}

/** One at a time, in the order of the calls; one that is cancelled before its turn does not run. */
function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
  const signal = currentCall()?.signal;
  const turn = lastTurn.then(async () => {
    signal?.throwIfAborted();
    return work();
  });
  lastTurn = turn.catch(() => undefined);
  return turn;
}

function method(name: string): Method {
  return ((instance as Readonly<Record<string, Method>>)[name] as Method).bind(instance);
}

function methodsOf(object: object): MethodKinds {
  const kinds: Record<string, "call" | "stream"> = {};
  for (let owner: object | null = object; owner !== null && owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object | null) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner)) as [string, PropertyDescriptor][]) {
      if (typeof value !== "function" || name === "constructor" || name in kinds) continue;
      kinds[name] = /Generator/.test((value as () => void).constructor.name) ? "stream" : "call";
    }
  }
  return kinds;
}
