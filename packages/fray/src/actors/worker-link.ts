import { isMarinError, type MarinError } from "@marin/ducky";
import type { ActorOptions } from "../client.js";
import { describeEntry, type Entry } from "../entry.js";
import type { CurrentActor } from "../shared.js";
import type { ActorWorker, ActorWorkers } from "./actor-workers.js";
import type { ActorCaller } from "./caller.js";
import { unavailable, type ActorLink, type ActorState } from "./link.js";
import type { ActorSnapshot, MethodKinds } from "./messages.js";

/** The longest time before a restart. */
const maxRestartDelayMs = 10_000;

/** An actor in a worker of this process, with its restarts. */
export class WorkerLink implements ActorLink {
  readonly name: string;
  readonly title: string;
  readonly #made: Entry;
  readonly #args: readonly unknown[];
  readonly #options: ActorOptions;
  readonly #place: Pick<CurrentActor, "index" | "size">;
  readonly #workers: ActorWorkers;
  readonly #waiting = new Set<() => void>();
  #worker: ActorWorker | undefined;
  #snapshot: ActorSnapshot | undefined;
  #incarnation = 1;
  #state: ActorState = "running";
  #restarts = 0;
  #delays = 0;
  #cause: MarinError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;

  constructor(made: Entry, args: readonly unknown[], options: ActorOptions, place: Pick<CurrentActor, "index" | "size">, workers: ActorWorkers) {
    this.name = options.name;
    this.title = `The actor "${options.name}" (${describeEntry(made)})`;
    this.#made = made;
    this.#args = args;
    this.#options = options;
    this.#place = place;
    this.#workers = workers;
  }

  get state(): ActorState {
    return this.#state === "running" && this.#worker?.alive !== true ? "restarting" : this.#state;
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  get caller(): ActorCaller | undefined {
    return this.#state === "running" && this.#worker?.caller.alive === true ? this.#worker.caller : undefined;
  }

  /**
   * Starts the first incarnation.
   *
   * @throws what the constructor throws; MarinError FRAY_WORKER_LOST, FRAY_BAD_ACTOR
   */
  async start(): Promise<MethodKinds> {
    const { kind, name, env = {}, worker: shared } = this.#options;
    const worker = this.#workers.get(shared, {
      kind,
      name,
      env,
      onStdout: this.#options.onStdout ?? ((line) => process.stdout.write(`${line}\n`)),
      onStderr: this.#options.onStderr ?? ((line) => process.stderr.write(`${line}\n`)),
    });
    this.#worker = worker;
    const { maxConcurrency = 1, mailboxLimit = 10_000, snapshotEvery = 1 } = this.#options;
    const actor = { name, incarnation: this.#incarnation, ...this.#place };
    try {
      worker.caller.onSnapshot(name, (snapshot) => {
        this.#snapshot = snapshot;
      });
      const { methods } = await worker.create({ actor, made: this.#made, args: this.#args, maxConcurrency, mailboxLimit, snapshotEvery, snapshot: this.#snapshot });
      this.#state = "running";
      this.#delays = 0;
      void worker.caller.closed.then(() => this.#onLost(worker));
      return methods;
    } catch (error) {
      await worker.stopIfEmpty(0);
      throw error;
    }
  }

  acquire(method: string): Promise<ActorCaller> {
    return this.caller === undefined ? Promise.reject(unavailable(this, this.state, method, "no", this.#cause)) : Promise.resolve(this.caller);
  }

  async ready(method: string, signal: AbortSignal): Promise<ActorCaller> {
    for (;;) {
      signal.throwIfAborted();
      const { caller } = this;
      if (caller !== undefined) return caller;
      if (this.#state === "dead" || this.#state === "stopped") throw unavailable(this, this.#state, method, "unknown", this.#cause);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal.addEventListener("abort", wake, { once: true });
      });
    }
  }

  async lost(caller: ActorCaller, method: string): Promise<MarinError> {
    const worker = this.#worker;
    const cause = worker?.caller === caller ? await worker.loss() : this.#cause;
    return unavailable(this, this.#state === "running" ? "restarting" : this.#state, method, "unknown", cause);
  }

  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  kill(): void {
    this.#worker?.kill();
  }

  async #stop(graceMs: number): Promise<void> {
    const wasDead = this.#state === "dead";
    if (!wasDead) this.#state = "stopped";
    clearTimeout(this.#timer);
    this.#wake();
    if (this.#worker?.alive === true) await this.#worker.remove(this.name, graceMs);
    this.#worker?.caller.onSnapshot(this.name, undefined);
  }

  async #onLost(worker: ActorWorker): Promise<void> {
    if (this.#worker !== worker || this.#stopping !== undefined) return;
    const { restarts = 0 } = this.#options;
    // Said before it is known why: a call made now is refused at once.
    this.#state = this.#restarts < restarts ? "restarting" : "dead";
    this.#cause = await worker.loss();
    if (this.#state === "dead" || this.#stopping !== undefined) {
      this.#wake();
      return;
    }
    this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    const { restarts = 0, restartDelayMs = 100 } = this.#options;
    if (this.#restarts >= restarts) {
      this.#state = "dead";
      this.#wake();
      return;
    }
    this.#restarts += 1;
    const delay = Math.min(restartDelayMs * 2 ** this.#delays, maxRestartDelayMs);
    this.#delays += 1;
    this.#timer = setTimeout(() => void this.#restart(), delay);
  }

  async #restart(): Promise<void> {
    this.#incarnation += 1;
    try {
      await this.start();
      if (this.#stopping !== undefined) await this.#worker?.remove(this.name, 0);
      this.#wake();
    } catch (error) {
      if (isMarinError(error)) this.#cause = error;
      if (this.#stopping === undefined) this.#scheduleRestart();
    }
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
