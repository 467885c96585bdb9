import type { ActorRef } from "../actor.js";
import { defaultMaxMessageBytes, transportOf, type ActorTransport } from "./actor-transport.js";
import { ActorCaller } from "./caller.js";
import { frameChannel } from "./channel.js";

/** Limits of every connection between clients. */
export const connectionLimits = { maxMessageBytes: defaultMaxMessageBytes, maxBacklogBytes: 4 * defaultMaxMessageBytes } as const;

/** What a client's connections need. */
export interface ConnectionsOptions {
  readonly transports: readonly ActorTransport[];
  readonly resolve: (ref: ActorRef) => string | Promise<string>;
  readonly connectTimeoutMs: number;
  readonly unreachableMs: number;
}

/** The connections of a client to others: one for each address, shared by all actors there. */
export class Connections {
  readonly resolve: ConnectionsOptions["resolve"];
  readonly connectTimeoutMs: number;
  readonly unreachableMs: number;
  readonly #transports: readonly ActorTransport[];
  readonly #callers = new Map<string, Promise<ActorCaller>>();
  #closed = false;

  constructor({ transports, resolve, connectTimeoutMs, unreachableMs }: ConnectionsOptions) {
    this.#transports = transports;
    this.resolve = resolve;
    this.connectTimeoutMs = connectTimeoutMs;
    this.unreachableMs = unreachableMs;
  }

  /** The connection to an address; a new one where there is none. */
  get(address: string, signal: AbortSignal): Promise<ActorCaller> {
    const present = this.#callers.get(address);
    if (present !== undefined) return present;
    const connecting = this.#connect(address, signal);
    this.#callers.set(address, connecting);
    const forget = (): void => {
      if (this.#callers.get(address) === connecting) this.#callers.delete(address);
    };
    connecting.then((caller) => caller.closed).then(forget, forget);
    return connecting;
  }

  /** Ends all of them. */
  close(): void {
    this.#closed = true;
    for (const connecting of this.#callers.values()) void connecting.then((caller) => caller.close()).catch(() => undefined);
  }

  async #connect(address: string, signal: AbortSignal): Promise<ActorCaller> {
    const transport = await transportOf(address, this.#transports).connect(address, { signal });
    const caller = new ActorCaller(frameChannel(transport, connectionLimits));
    if (this.#closed) caller.close();
    return caller;
  }
}
