import { isMarinError, MarinError, type Connection } from "@marin/ducky";
import type { Entry } from "./entry.js";
import { mapPool } from "./map-pool.js";
import { stopGraceMs, WorkerHost } from "./worker/host.js";
import type { WorkerExit } from "./worker/start.js";

/** What a pool's `prepare` function is told in each worker. */
export interface PoolMember {
  /** Place of the worker, from 0 up. */
  readonly index: number;
  /** How many workers there are. */
  readonly size: number;
  /** The pool's name. */
  readonly name: string;
}

/** A worker of a pool as whoever opened the pool sees it. */
export interface PoolWorker extends PoolMember {
  /** Process id; undefined for a thread. */
  readonly pid: number | undefined;
  /** To the worker, to serve what its functions call. */
  readonly connection: Connection;
  /** Fulfilled when it has ended. */
  readonly exited: Promise<WorkerExit>;
}

/** Settings of {@link WorkerPool.start}. */
export interface WorkerPoolOptions {
  /** How many workers; at least 1. */
  readonly size: number;
  /** Processes of their own, or threads of this one. */
  readonly kind: "process" | "thread";
  /** Shown in errors; each worker's name is this and its place. */
  readonly name: string;
  /** Runs in each worker before any item. Default: nothing. */
  readonly prepare?: Entry<[PoolMember]>;
  /** Variables beside this process's own. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called here with each worker before its `prepare`, also for one that takes a dead one's place. Default: nothing. */
  readonly onWorker?: (worker: PoolWorker) => void;
  /** Takes each line of a worker's standard output. Default: this process's standard output. */
  readonly onStdout?: (line: string, index: number) => void;
  /** Takes each line of a worker's standard error. Default: this process's standard error. */
  readonly onStderr?: (line: string, index: number) => void;
}

/** Settings of {@link WorkerPool.map}. */
export interface WorkerMapOptions {
  /** Ends the iteration, with the signal's reason as its error, when aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Whether results come in the order of the items, else as they are ready. Default: true. */
  readonly ordered?: boolean;
}

/** Items in work or waiting for the consumer, for each worker: a second one keeps it busy while an earlier result is waited for. */
const lookAhead = 2;

/** Workers that map items through exported functions, one item at a time each. */
export class WorkerPool implements AsyncDisposable {
  readonly #options: WorkerPoolOptions;
  readonly #hosts: (WorkerHost | undefined)[];
  readonly #idle: number[] = [];
  readonly #waiting: { readonly take: (index: number) => void; readonly refuse: (error: unknown) => void }[] = [];
  #closing: Promise<void> | undefined;

  private constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#hosts = new Array<undefined>(options.size).fill(undefined);
  }

  /**
   * Starts the workers, all at once.
   *
   * @throws MarinError FRAY_BAD_CONCURRENCY for a size below 1; FRAY_WORKER_LOST; what `prepare` throws
   */
  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const { size } = options;
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new MarinError("FRAY_BAD_CONCURRENCY", `A pool's size is a whole number of at least 1, found ${String(size)}.`, { data: { size } });
    }
    const pool = new WorkerPool(options);
    const started = await Promise.allSettled(Array.from({ length: size }, (_, index) => pool.#worker(index)));
    const failure = started.find((result) => result.status === "rejected");
    if (failure !== undefined) {
      await pool.close();
      throw failure.reason;
    }
    for (let index = 0; index < size; index += 1) pool.#release(index);
    return pool;
  }

  /**
   * Calls the function with each item, in the workers, and gives the results in the order of the items. At most twice as
   * many items as there are workers are in work or wait for the consumer. The first failure is thrown after all results before it;
   * however the iteration ends, functions still running get `currentCall().signal` aborted and are waited for; a worker whose function
   * does not end within 4 s is ended, and another takes its place when it is needed.
   *
   * @param named - made by `entry`; takes one item
   * @param items - the source; read only as there is room
   * @throws MarinError FRAY_WORKER_LOST naming the item (`data.index`) whose worker died, which is not tried again; FRAY_POOL_CLOSED; what the
   * function throws; the signal's reason
   */
  async *map<I, R>(named: Entry<[I], R>, items: Iterable<I> | AsyncIterable<I>, options: WorkerMapOptions = {}): AsyncGenerator<R, void, void> {
    const { ordered = true } = options;
    const concurrency = ordered ? lookAhead * this.#options.size : this.#options.size;
    yield* mapPool(items, concurrency, async (item, { index, signal }) => (await this.#run(named as Entry, item, index, signal)) as R, options);
  }

  /** Stops the workers; iterations under way fail with FRAY_POOL_CLOSED or FRAY_WORKER_STOPPED. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const { refuse } of this.#waiting.splice(0)) refuse(this.#closed());
      await Promise.all(this.#hosts.map(async (host) => host?.stop(stopGraceMs)));
    })();
    return this.#closing;
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(named: Entry, item: unknown, itemIndex: number, signal: AbortSignal): Promise<unknown> {
    const index = await this.#acquire(signal);
    let killer: NodeJS.Timeout | undefined;
    try {
      const host = await this.#worker(index);
      const onAbort = (): void => {
        killer = setTimeout(() => host.kill(), stopGraceMs);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await host.run(named, [item], signal);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    } catch (error) {
      if (!isMarinError(error, "FRAY_WORKER_LOST")) throw error;
      throw new MarinError(error.code, `Item ${itemIndex} has no result. ${error.message}`, { data: { ...error.data, index: itemIndex }, cause: error });
    } finally {
      clearTimeout(killer);
      this.#release(index);
    }
  }

  /** The place of a worker that has nothing to do. */
  #acquire(signal: AbortSignal): Promise<number> {
    if (this.#closing !== undefined) return Promise.reject(this.#closed());
    const index = this.#idle.shift();
    if (index !== undefined) return Promise.resolve(index);
    return new Promise((resolve, reject) => {
      const waiter = {
        take: (free: number): void => {
          signal.removeEventListener("abort", onAbort);
          resolve(free);
        },
        refuse: reject,
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #release(index: number): void {
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#idle.push(index);
    else waiter.take(index);
  }

  /** The worker of a place; a new one where there is none or the last one has died. */
  async #worker(index: number): Promise<WorkerHost> {
    const present = this.#hosts[index];
    if (present?.alive === true) return present;
    if (this.#closing !== undefined) throw this.#closed();
    const { kind, name, size, prepare, env = {}, onWorker } = this.#options;
    const member = { index, size, name };
    const host = new WorkerHost({
      kind,
      name: `${name}-${index}`,
      env,
      detached: false,
      onStdout: (line) => {
        if (this.#options.onStdout === undefined) process.stdout.write(`${line}\n`);
        else this.#options.onStdout(line, index);
      },
      onStderr: (line) => {
        if (this.#options.onStderr === undefined) process.stderr.write(`${line}\n`);
        else this.#options.onStderr(line, index);
      },
    });
    this.#hosts[index] = host;
    onWorker?.({ ...member, pid: host.pid, connection: host.connection, exited: host.exited });
    await host.ready();
    if (prepare !== undefined) {
      await host.run(prepare as Entry, [member]).catch((error: unknown) => {
        host.kill();
        throw error;
      });
    }
    return host;
  }

  #closed(): MarinError {
    return new MarinError("FRAY_POOL_CLOSED", `The pool "${this.#options.name}" is closed.`, { data: { pool: this.#options.name } });
  }
}
