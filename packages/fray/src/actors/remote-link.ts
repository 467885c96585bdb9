import { isMarinError, MarinError } from "@marin/ducky";
import type { ActorRef } from "../actor.js";
import type { ActorCaller } from "./caller.js";
import { pause } from "./call-options.js";
import type { Connections } from "./connections.js";
import { unavailable, type ActorLink, type ActorState } from "./link.js";
import type { ActorDescription } from "./messages.js";

/** Between two attempts to connect: at first, and at most. */
const firstDelayMs = 50;
const maxDelayMs = 2_000;

/** An actor at an address. */
export class RemoteLink implements ActorLink {
  readonly name: string;
  readonly #connections: Connections;
  #address: string;
  #caller: ActorCaller | undefined;
  #connecting: Promise<ActorCaller> | undefined;
  #description: ActorDescription | undefined;
  #closed = false;

  constructor({ name, address }: ActorRef, connections: Connections) {
    this.name = name;
    this.#address = address;
    this.#connections = connections;
  }

  get title(): string {
    return `The actor "${this.name}" at ${this.#address}`;
  }

  get state(): ActorState {
    if (this.#closed) return "stopped";
    return this.caller === undefined ? "unreachable" : "running";
  }

  get incarnation(): number {
    return this.#description?.incarnation ?? 0;
  }

  get caller(): ActorCaller | undefined {
    return this.#caller?.alive === true && !this.#closed ? this.#caller : undefined;
  }

  get ref(): ActorRef {
    return { name: this.name, address: this.#address };
  }

  /**
   * Connects, and gives what the host says of the actor.
   *
   * @param signal - ends the attempt
   * @param outer - the part of the signal that is the caller's own: its reason is thrown unchanged
   */
  async find(signal: AbortSignal, outer: AbortSignal | undefined): Promise<ActorDescription> {
    try {
      await this.#connect(signal);
    } catch (cause) {
      outer?.throwIfAborted();
      if (isMarinError(cause, "FRAY_UNKNOWN_ACTOR") || isMarinError(cause, "FRAY_NO_TRANSPORT")) throw cause;
      throw unavailable(this, "unreachable", "describe", "no", cause);
    }
    return this.#description as ActorDescription;
  }

  async acquire(method: string): Promise<ActorCaller> {
    if (this.#closed) throw unavailable(this, "stopped", method, "no");
    const { caller } = this;
    if (caller !== undefined) return caller;
    const signal = AbortSignal.timeout(this.#connections.connectTimeoutMs);
    try {
      return await this.#connectOnce(signal);
    } catch (cause) {
      throw unavailable(this, "unreachable", method, "no", cause);
    }
  }

  async ready(method: string, signal: AbortSignal): Promise<ActorCaller> {
    const givesUpAt = performance.now() + this.#connections.unreachableMs;
    for (let delay = firstDelayMs; ; delay = Math.min(2 * delay, maxDelayMs)) {
      if (this.#closed) throw unavailable(this, "stopped", method, "unknown");
      signal.throwIfAborted();
      try {
        return this.caller ?? (await this.#connectOnce(AbortSignal.any([signal, AbortSignal.timeout(this.#connections.connectTimeoutMs)])));
      } catch (cause) {
        signal.throwIfAborted();
        if (performance.now() > givesUpAt) throw unavailable(this, "unreachable", method, "unknown", cause);
      }
      await pause(delay, signal);
    }
  }

  async lost(caller: ActorCaller, method: string): Promise<MarinError> {
    return unavailable(this, this.#closed ? "stopped" : "unreachable", method, "unknown", await caller.closed);
  }

  /** Ends the handle. */
  close(): void {
    this.#closed = true;
  }

  /** One attempt at a time, whoever asks. */
  #connectOnce(signal: AbortSignal): Promise<ActorCaller> {
    this.#connecting ??= this.#connect(signal).finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(signal: AbortSignal): Promise<ActorCaller> {
    const address = await this.#connections.resolve({ name: this.name, address: this.#address });
    signal.throwIfAborted();
    this.#address = address;
    const caller = await this.#connections.get(address, signal);
    this.#description = await describe(caller, this.name, signal);
    this.#caller = caller;
    return caller;
  }
}

function describe(caller: ActorCaller, name: string, signal: AbortSignal): Promise<ActorDescription> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      // A host that takes connections and does not answer is as good as none; one that others wait for as well is left to them.
      if (caller.openCalls <= 1) caller.close();
      reject(isMarinError(signal.reason) ? signal.reason : new MarinError("FRAY_TIMEOUT", `The host of the actor "${name}" has not answered in time.`, { data: { actor: name }, cause: signal.reason }));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    caller
      .describe(name)
      .then(resolve, reject)
      .finally(() => {
        signal.removeEventListener("abort", onAbort);
      });
  });
}
