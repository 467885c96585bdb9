import { isMarinError, MarinError, type Connection } from "@marin/ducky";
import type { Entry } from "./entry.js";
import { mapPool } from "./map-pool.js";
import { WorkerSet } from "./worker-set.js";
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
  readonly #set: WorkerSet;

  private constructor(set: WorkerSet) {
    this.#set = set;
  }

  /**
   * Starts the workers, all at once.
   *
   * @throws MarinError FRAY_BAD_CONCURRENCY for a size below 1; FRAY_WORKER_LOST; what `prepare` throws
   */
  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const set = new WorkerSet(options);
    await set.startAll();
    return new WorkerPool(set);
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
    const concurrency = ordered ? lookAhead * this.#set.size : this.#set.size;
    yield* mapPool(items, concurrency, async (item, { index, signal }) => (await this.#run(named as Entry, item, index, signal)) as R, options);
  }

  /** Stops the workers; iterations under way fail with FRAY_POOL_CLOSED or FRAY_WORKER_STOPPED. */
  close(): Promise<void> {
    return this.#set.close();
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(named: Entry, item: unknown, index: number, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#set.run(named, [item], signal);
    } catch (error) {
      if (!isMarinError(error, "FRAY_WORKER_LOST")) throw error;
      throw new MarinError(error.code, `Item ${index} has no result. ${error.message}`, { data: { ...error.data, index }, cause: error });
    }
  }
}
