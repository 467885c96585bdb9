import { errorFromWire, errorToWire, MarinError } from "@marin/ducky";
import type { ActorChannel, ActorMessage } from "./channel.js";
import { badMessage, checkMessage, isCount, messageKinds } from "./messages.js";
import type { ActorTarget, CallControl, CallReply, StreamControl } from "./target.js";
import { transferListOfValue } from "./transfer.js";

/** What runs for a caller: a call that it may make again goes on without it. */
type Running = CallControl | StreamControl | { readonly goesOn: true; readonly control: CallControl };

function cancelRunning(running: Running | undefined, reason: unknown): void {
  if (running === undefined) return;
  if ("goesOn" in running) running.control.cancel(reason);
  else running.cancel(reason);
}

/** The answer of one call on its way to the caller. */
class SessionReply implements CallReply {
  given = false;
  readonly #channel: ActorChannel;
  readonly #running: Map<number, Running>;
  readonly #id: number;

  constructor(channel: ActorChannel, running: Map<number, Running>, id: number) {
    this.#channel = channel;
    this.#running = running;
    this.#id = id;
  }

  result(value: unknown): void {
    this.#settle();
    try {
      this.#channel.send([messageKinds.result, this.#id, value], transferListOfValue(value));
    } catch (error) {
      sendError(this.#channel, this.#id, error);
    }
  }

  error(error: unknown): void {
    this.#settle();
    sendError(this.#channel, this.#id, error);
  }

  #settle(): void {
    this.given = true;
    this.#running.delete(this.#id);
  }
}

function sendError(channel: ActorChannel, id: number, error: unknown): void {
  channel.send([messageKinds.error, id, errorToWire(error)]);
}

/** Offers actors, by name, to whoever is at the other end of a channel. */
export class ActorServer {
  readonly #targets = new Map<string, ActorTarget>();
  readonly #where: string;

  /** @param where - names this place in errors */
  constructor(where: string) {
    this.#where = where;
  }

  /**
   * Offers an actor.
   *
   * @throws MarinError FRAY_DUPLICATE_ACTOR
   */
  add(name: string, target: ActorTarget): void {
    if (this.#targets.has(name)) throw new MarinError("FRAY_DUPLICATE_ACTOR", `There is an actor "${name}" in ${this.#where} already: each needs a name of its own.`, { data: { actor: name } });
    this.#targets.set(name, target);
  }

  /** Offers it no longer. */
  remove(name: string): void {
    this.#targets.delete(name);
  }

  /** The actor of a name. */
  get(name: string): ActorTarget | undefined {
    return this.#targets.get(name);
  }

  /** Answers what comes over a channel until it closes. A message that breaks the protocol closes it. */
  accept(channel: ActorChannel): void {
    const session = new Session(channel, (name) => this.#find(name));
    channel.onClose(() => {
      session.end();
    });
    channel.onMessage((message) => {
      try {
        session.receive(checkMessage(message));
      } catch {
        channel.close();
        session.end();
      }
    });
  }

  #find(name: string): ActorTarget | MarinError {
    const target = this.#targets.get(name);
    if (target !== undefined) return target;
    const names = [...this.#targets.keys()];
    return new MarinError("FRAY_UNKNOWN_ACTOR", `There is no actor "${name}" in ${this.#where}; there is ${names.length === 0 ? "none" : names.slice(0, 20).join(", ")}.`, { data: { actor: name, ran: "no" } });
  }
}

/** The calls of one channel. */
class Session {
  readonly #channel: ActorChannel;
  readonly #find: (name: string) => ActorTarget | MarinError;
  readonly #running = new Map<number, Running>();

  constructor(channel: ActorChannel, find: (name: string) => ActorTarget | MarinError) {
    this.#channel = channel;
    this.#find = find;
  }

  receive(message: ActorMessage): void {
    const [kind, id] = message as readonly [number, number, ...unknown[]];
    switch (kind) {
      case messageKinds.call:
        this.#call(id, message);
        return;
      case messageKinds.stream:
        this.#stream(id, message);
        return;
      case messageKinds.describe:
        void this.#describe(id, message[2]);
        return;
      case messageKinds.cancel:
        // One that has ended meanwhile is not cancelled any more.
        cancelRunning(this.#running.get(id), reasonOf(message[2]));
        this.#running.delete(id);
        return;
      case messageKinds.credit: {
        const running = this.#running.get(id);
        if (!isCount(message[2])) throw badMessage("a credit must be a whole number");
        if (running !== undefined && "grant" in running) running.grant(message[2]);
        return;
      }
      case messageKinds.forget: {
        const target = this.#find(message[1] as string);
        if (!(target instanceof MarinError) && typeof message[2] === "string") target.forget(message[2]);
        return;
      }
      default:
        throw badMessage("it is none that a caller sends");
    }
  }

  end(): void {
    const gone = new MarinError("FRAY_CALLER_GONE", "Whoever made this call is gone.");
    for (const running of this.#running.values()) if (!("goesOn" in running)) running.cancel(gone);
    this.#running.clear();
  }

  async #describe(id: number, name: unknown): Promise<void> {
    const target = this.#find(String(name));
    try {
      if (target instanceof MarinError) throw target;
      const { methods, incarnation } = await target.describe();
      this.#channel.send([messageKinds.result, id, { methods, incarnation }]);
    } catch (error) {
      sendError(this.#channel, id, error);
    }
  }

  #call(id: number, message: ActorMessage): void {
    const [, , name, method, args, key] = message;
    if (typeof name !== "string" || typeof method !== "string" || !Array.isArray(args) || !(key === undefined || typeof key === "string")) throw badMessage("a call names no actor, method or arguments");
    const target = this.#find(name);
    if (target instanceof MarinError) {
      sendError(this.#channel, id, target);
      return;
    }
    const reply = new SessionReply(this.#channel, this.#running, id);
    const control = target.call({ method, args: args as unknown[], key }, reply);
    if (!reply.given) this.#running.set(id, key === undefined ? control : { goesOn: true, control });
  }

  #stream(id: number, message: ActorMessage): void {
    const [, , name, method, args, window, skip] = message;
    if (typeof name !== "string" || typeof method !== "string" || !Array.isArray(args) || !isCount(window) || !isCount(skip)) throw badMessage("a stream names no actor, method, arguments or window");
    const target = this.#find(name);
    if (target instanceof MarinError) {
      sendError(this.#channel, id, target);
      return;
    }
    let ended = false;
    const finish = (tell: () => void): void => {
      ended = true;
      this.#running.delete(id);
      tell();
    };
    const control = target.stream(
      { method, args: args as unknown[], window, skip },
      {
        item: (value) => {
          this.#channel.send([messageKinds.item, id, value], transferListOfValue(value));
        },
        end: () => {
          finish(() => this.#channel.send([messageKinds.end, id]));
        },
        error: (error) => {
          finish(() => sendError(this.#channel, id, error));
        },
      },
    );
    if (!ended) this.#running.set(id, control);
  }
}

function reasonOf(wire: unknown): Error {
  try {
    return errorFromWire(wire);
  } catch {
    return new MarinError("FRAY_CANCELLED", "The caller no longer wants the answer.");
  }
}
