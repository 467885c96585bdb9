import { MarinError } from "@marin/ducky";
import { entry, type Entry } from "../entry.js";
import type * as actorHost from "../worker/actor-host.js";
import { WorkerHost } from "../worker/host.js";
import { ActorCaller } from "./caller.js";
import type { ActorDescription } from "./messages.js";

const hostModule = new URL(import.meta.url.endsWith(".ts") ? "../worker/actor-host.ts" : "../worker/actor-host.js", import.meta.url);

/** How a worker of actors is started. */
export interface ActorWorkerOptions {
  readonly kind: "process" | "thread";
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly onStdout: (line: string) => void;
  readonly onStderr: (line: string) => void;
}

/** A worker, and the calls to the actors in it. */
export class ActorWorker {
  readonly caller: ActorCaller;
  readonly #host: WorkerHost;
  readonly #kind: "process" | "thread";
  #actors = 0;

  constructor(options: ActorWorkerOptions) {
    this.#host = new WorkerHost({ ...options, detached: false });
    this.#kind = options.kind;
    this.caller = new ActorCaller(this.#host.actorChannel);
    void this.caller.closed.then(() => {
      this.#host.endUnreachable();
    });
  }

  get kind(): "process" | "thread" {
    return this.#kind;
  }

  get alive(): boolean {
    return this.#host.alive && this.caller.alive;
  }

  /** Makes an actor in it. */
  async create(spec: actorHost.ActorSpec): Promise<ActorDescription> {
    this.#actors += 1;
    try {
      return (await this.#host.run(entry<typeof actorHost.createActor>(hostModule, "createActor") as Entry, [spec])) as ActorDescription;
    } catch (error) {
      this.#actors -= 1;
      throw error;
    }
  }

  /** Stops an actor, and with the last one the worker. One that does not end within the grace is left alone while there are others, which would fall with it. */
  async remove(name: string, graceMs: number): Promise<void> {
    this.#actors -= 1;
    const removed = this.#host.run(entry<typeof actorHost.removeActor>(hostModule, "removeActor") as Entry, [name]).catch(() => undefined);
    if (this.#actors > 0) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([removed, new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)))]);
      clearTimeout(timer);
    } else {
      await this.#host.stop(graceMs);
    }
  }

  /** Ends it where no actor is left in it. */
  async stopIfEmpty(graceMs: number): Promise<void> {
    if (this.#actors === 0) await this.#host.stop(graceMs);
  }

  kill(): void {
    this.#host.kill();
  }

  /** Why it has ended. */
  loss(): Promise<MarinError> {
    return this.#host.loss();
  }
}

/** The workers of a client's actors: one for each actor, but for those that share one by its name. */
export class ActorWorkers {
  readonly #named = new Map<string, ActorWorker>();

  /**
   * A worker for an actor: that of the name where there is one that lives, else a new one.
   *
   * @throws MarinError FRAY_BAD_OPTION for a name that stands for a worker of the other kind
   */
  get(shared: string | undefined, options: ActorWorkerOptions): ActorWorker {
    const present = shared === undefined ? undefined : this.#named.get(shared);
    if (present?.alive === true) {
      if (present.kind !== options.kind) {
        throw new MarinError("FRAY_BAD_OPTION", `The worker "${String(shared)}" is a ${present.kind}: an actor in it cannot ask for a ${options.kind}.`, { data: { worker: shared, kind: options.kind } });
      }
      return present;
    }
    const worker = new ActorWorker({ ...options, name: shared ?? options.name });
    if (shared !== undefined) this.#named.set(shared, worker);
    return worker;
  }
}
