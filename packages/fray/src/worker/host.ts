import { Connection, errorToWire, isMarinError, MarinError } from "@marin/ducky";
import type { ActorChannel } from "../actors/channel.js";
import { companionsOf } from "../companions.js";
import { describeEntry, type Entry } from "../entry.js";
import { fromPayload, toPayload } from "./payload.js";
import { workerConnectionLimits, workerService } from "./protocol.js";
import { startWorker, type Started, type StartOptions, type WorkerExit } from "./start.js";

/** How long functions that were told to end may take, where nobody says otherwise. */
export const stopGraceMs = 4_000;

/** Time between asking a worker to end and ending it. */
const terminateGraceMs = 1_000;

/** How long a worker may take to end itself once its connection is gone: longer than it lets its functions. */
const disconnectedGraceMs = 3_000;

/** The parent's side of a worker, for this package's own use. */
export class WorkerHost {
  readonly connection: Connection;
  readonly #name: string;
  readonly #started: Started;
  readonly #exited: Promise<WorkerExit>;
  readonly #running = new Map<number, string>();
  #lastCall = 0;
  #exit: WorkerExit | undefined;
  #stopping: Promise<WorkerExit> | undefined;

  constructor(options: StartOptions) {
    this.#name = options.name;
    const companions = companionsOf(options);
    this.#started = startWorker({ ...options, env: Object.assign({}, ...companions.map(({ env }) => env), options.env) as Record<string, string> });
    this.connection = new Connection(this.#started.transport, { peer: `worker "${options.name}"`, ...workerConnectionLimits });
    this.#exited = this.#started.exited.then((exit) => {
      this.#exit = exit;
      this.connection.close();
      return exit;
    });
    void this.connection.closed.then(() => {
      this.endUnreachable();
    });
    for (const companion of companions) companion.attach(this);
  }

  get pid(): number | undefined {
    return this.#started.pid;
  }

  get exited(): Promise<WorkerExit> {
    return this.#exited;
  }

  /** For calls to its actors. */
  get actorChannel(): ActorChannel {
    return this.#started.actorChannel;
  }

  /** Whether it can take calls. */
  get alive(): boolean {
    return this.#exit === undefined && this.#stopping === undefined;
  }

  /** Fulfilled once it can take calls; a worker that cannot is ended. */
  async ready(): Promise<void> {
    try {
      await this.#guard(async () => this.connection.client(workerService).hello({}));
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  /**
   * Runs a function in the worker. Unlike a cancelled call, it settles only when the function has ended.
   *
   * @param signal - aborts the function's signal
   */
  async run(named: Entry, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    const what = describeEntry(named);
    const payload = toPayload(args, `The arguments of ${what}`);
    const client = this.connection.client(workerService);
    const call = ++this.#lastCall;
    const abort = (): void => void client.abort({ call, reason: errorToWire(signal?.reason) }).catch(() => undefined);
    this.#running.set(call, what);
    try {
      const answer = await this.#guard(() => {
        const answering = client.run({ call, module: named.module, export: named.export, args: payload });
        signal?.addEventListener("abort", abort, { once: true });
        return answering;
      });
      return fromPayload(answer.value);
    } finally {
      this.#running.delete(call);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Why it does not answer any more; told once that is known. */
  async loss(): Promise<MarinError> {
    return this.#lost(await this.#exited);
  }

  /** Lets its functions end, then ends it; by force when that takes longer than the grace. */
  stop(graceMs: number): Promise<WorkerExit> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  kill(): void {
    this.#started.kill();
  }

  /** A worker without one of its connections is of no use: it ends itself, or is ended when it does not, or is too busy to notice. */
  endUnreachable(): void {
    if (this.#exit !== undefined || this.#stopping !== undefined) return;
    const timer = setTimeout(() => this.#started.kill(), disconnectedGraceMs);
    void this.#exited.then(() => {
      clearTimeout(timer);
    });
  }

  async #stop(graceMs: number): Promise<WorkerExit> {
    const timers = [setTimeout(() => this.#started.terminate(), graceMs), setTimeout(() => this.#started.kill(), graceMs + terminateGraceMs)];
    await this.connection.client(workerService).stop({}).catch(() => undefined);
    this.connection.close();
    const exit = await this.#exited;
    for (const timer of timers) clearTimeout(timer);
    return exit;
  }

  async #guard<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!isMarinError(error, "DUCKY_CLOSED")) throw error;
      throw this.#lost(await this.#exited);
    }
  }

  #lost({ code, signal, stderrTail }: WorkerExit): MarinError {
    const { pid } = this.#started;
    const data = { worker: this.#name, pid, code, signal, stderrTail };
    const who = `The worker "${this.#name}"${pid === undefined ? "" : ` (pid ${pid})`}`;
    if (this.#stopping !== undefined) return new MarinError("FRAY_WORKER_STOPPED", `${who} was stopped.`, { data });
    const how = signal === null ? `ended with exit code ${String(code)}` : `was ended by ${signal}`;
    const during = this.#running.size === 0 ? "" : ` while it ran ${[...new Set(this.#running.values())].slice(0, 3).join(", ")}`;
    const last = stderrTail === "" ? "" : ` Its last lines on standard error:\n${stderrTail}`;
    return new MarinError("FRAY_WORKER_LOST", `${who} ${how}${during}.${last}`, { data });
  }
}
