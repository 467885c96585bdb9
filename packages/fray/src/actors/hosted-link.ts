import { MarinError } from "@marin/ducky";
import type { ActorCaller } from "./caller.js";
import type { ActorCell } from "./cell.js";
import { unavailable, type ActorLink, type ActorState } from "./link.js";

/** An object of this process that is offered as an actor. */
export class HostedLink implements ActorLink {
  readonly name: string;
  readonly title: string;
  readonly incarnation: number;
  readonly #cell: ActorCell;
  readonly #caller: ActorCaller;
  #stopping: Promise<void> | undefined;

  constructor(name: string, incarnation: number, cell: ActorCell, caller: ActorCaller) {
    this.name = name;
    this.title = `The actor "${name}" of this process`;
    this.incarnation = incarnation;
    this.#cell = cell;
    this.#caller = caller;
  }

  get state(): ActorState {
    return this.#stopping === undefined ? "running" : "stopped";
  }

  get caller(): ActorCaller | undefined {
    return this.#stopping === undefined ? this.#caller : undefined;
  }

  acquire(method: string): Promise<ActorCaller> {
    return this.caller === undefined ? Promise.reject(unavailable(this, "stopped", method, "no")) : Promise.resolve(this.caller);
  }

  ready(method: string): Promise<ActorCaller> {
    return this.acquire(method);
  }

  async lost(_caller: ActorCaller, method: string): Promise<MarinError> {
    return unavailable(this, "stopped", method, "unknown");
  }

  /** Stops it; what has not ended within the grace is left alone. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    const reason = new MarinError("FRAY_ACTOR_UNAVAILABLE", `${this.title} was stopped: the call was not run.`, { data: { actor: this.name, state: "stopped", ran: "no" } });
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#cell.stop(reason), new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)))]);
    clearTimeout(timer);
    // What has been answered arrives first.
    await new Promise((resolve) => setImmediate(resolve));
    this.#caller.close();
  }
}
