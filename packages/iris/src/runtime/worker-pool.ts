import type { Connection } from "@marin/ducky";
import { WorkerPool, loadEntry, mapPool } from "@marin/fray";
import { type Entry, MarinError, entry } from "../platform.js";
import { type IrisContext, type TaskProgress, getIrisCtx, irisCtx, runInContext } from "./context.js";
import { failureToWire } from "./failure.js";
import { withLocalContext } from "./local-context.js";
import type { PoolItem, openPoolWorker, runPoolItem } from "./pool-main.js";
import { relayTo } from "./relay.js";
import { serveRelay } from "./serve-relay.js";
import { type TaskIdentity, identityVariable } from "./task-identity.js";
import { controlService } from "./task-service.js";

/** Settings of {@link openWorkerPool}. */
export interface WorkerPoolOptions {
  /** Workers, started at once. 0: no worker, the items are worked on in this process, one at a time. */
  readonly workers: number;
  /** Names the pool in errors and in the log. */
  readonly name: string;
  /** A process or a thread for each worker. Default "process". */
  readonly kind?: "process" | "thread";
}

/** Settings of {@link TaskPool.map}. */
export interface PoolMapOptions {
  /** Ends the work, with its reason as the error. Default: the opener's context's signal. */
  readonly signal?: AbortSignal;
}

/** Workers that run exported functions on items, each inside a context of its own. Made by {@link openWorkerPool}. */
export interface TaskPool extends AsyncDisposable {
  /** Workers; 0 when the items are worked on in this process. */
  readonly workers: number;
  /**
   * Runs a function on each item and gives the results in the items' order, whatever the number of workers. Items are taken as workers
   * become free. The first failure, in the items' order, ends it.
   *
   * @param work - takes one item; made by `entry`
   * @param items - plain data that structuredClone takes
   * @param options - see {@link PoolMapOptions}
   * @throws what the function throws; MarinError FRAY_WORKER_LOST naming the item (`data.index`) whose worker died
   */
  map<I, R>(work: Entry<[I], R>, items: Iterable<I> | AsyncIterable<I>, options?: PoolMapOptions): AsyncIterable<R>;
  /** Ends the workers, after what their contexts' `onExit` asked for. */
  close(): Promise<void>;
}

const poolMain = new URL(import.meta.url.endsWith(".ts") ? "./pool-main.ts" : "./pool-main.js", import.meta.url);

/** How long a worker may take to clean up. */
const finishMs = 4_000;

/**
 * Starts workers that work for the running task. Each has a context in which `taskIndex` is its place and `numTasks` their number; what it
 * logs and measures goes to the opener's context, progress as the sum over the workers. The pool closes when the opener's task ends, if not before.
 *
 * @param options - how many, and their name
 * @throws MarinError IRIS_BAD_POOL, FRAY_WORKER_LOST (a worker could not be started)
 */
export async function openWorkerPool(options: WorkerPoolOptions): Promise<TaskPool> {
  const { workers, name } = options;
  if (!Number.isSafeInteger(workers) || workers < 0) {
    throw new MarinError("IRIS_BAD_POOL", `The pool "${name}" needs a whole number of workers, 0 or more, found ${String(workers)}.`, { data: { name, workers } });
  }
  const opener = getIrisCtx();
  const context = opener ?? withLocalContext({}, irisCtx);
  const pool = workers === 0 ? inlinePool(context) : await ProcessPool.start(options, context);
  // A context made here is over already: what is asked for at its exit would be done at once.
  opener?.onExit(() => pool.close());
  return pool;
}

function inlinePool(context: IrisContext): TaskPool {
  const close = async (): Promise<void> => undefined;
  return {
    workers: 0,
    map: (work, items, { signal = context.signal } = {}) =>
      mapPool(
        items,
        1,
        async (item, task) => {
          const run = await loadEntry(work);
          return runInContext(context, () => withLocalContext({ jobId: context.jobId, attempt: context.attempt, signal: task.signal }, async () => run(item)));
        },
        { signal },
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
}

class ProcessPool implements TaskPool {
  readonly workers: number;
  readonly #context: IrisContext;
  readonly #pool: WorkerPool;
  readonly #connections: ReadonlySet<Connection>;
  #closing: Promise<void> | undefined;

  private constructor(context: IrisContext, workers: number, pool: WorkerPool, connections: ReadonlySet<Connection>) {
    this.#context = context;
    this.workers = workers;
    this.#pool = pool;
    this.#connections = connections;
  }

  static async start({ workers, name, kind = "process" }: WorkerPoolOptions, context: IrisContext): Promise<ProcessPool> {
    const { jobId, attempt, resources } = context;
    const share = { cpu: resources.cpu / workers, memoryBytes: Math.floor(resources.memoryBytes / workers), diskBytes: Math.floor(resources.diskBytes / workers) };
    // Each worker puts its own place in.
    const identity: TaskIdentity = { jobId, attempt, taskIndex: 0, numTasks: workers, resources: share, ports: {} };
    const connections = new Set<Connection>();
    const sum = new ProgressSum((progress) => context.progress(progress));
    const label = (index: number): string => `${name}-${String(index)}`;
    const pool = await WorkerPool.start({
      size: workers,
      name,
      kind,
      env: { [identityVariable]: JSON.stringify(identity) },
      prepare: entry<typeof openPoolWorker>(poolMain, "openPoolWorker"),
      onWorker: ({ index, connection, exited }) => {
        connections.add(connection);
        const relay = relayTo(context, label(index), (progress) => sum.add(index, progress));
        serveRelay(connection, relay);
        void exited.then(() => {
          connections.delete(connection);
          return relay.close();
        });
      },
      onStdout: (line, index) => context.log.info(line, { worker: label(index) }),
      onStderr: (line, index) => context.log.warn(line, { worker: label(index) }),
    });
    return new ProcessPool(context, workers, pool, connections);
  }

  map<I, R>(work: Entry<[I], R>, items: Iterable<I> | AsyncIterable<I>, { signal = this.#context.signal }: PoolMapOptions = {}): AsyncIterable<R> {
    const run = entry<typeof runPoolItem>(poolMain, "runPoolItem");
    return this.#pool.map(run, withWork(work as Entry, items), { signal }) as AsyncIterable<R>;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const reason = failureToWire(new MarinError("IRIS_CANCELLED", "The pool of this worker is closed."));
    const finishing = [...this.#connections].map(async (connection) => {
      const control = connection.client(controlService);
      await control.abort({ reason });
      await control.finish({}, { timeoutMs: finishMs });
    });
    // A worker that does not answer is ended all the same.
    await Promise.allSettled(finishing);
    await this.#pool.close();
  }
}

async function* withWork<I>(work: Entry, items: Iterable<I> | AsyncIterable<I>): AsyncGenerator<PoolItem, void, void> {
  for await (const item of items) yield { work, item };
}

/** What the workers of a pool have done together. */
class ProgressSum {
  readonly #latest = new Map<number, TaskProgress>();
  readonly #tell: (progress: TaskProgress) => void;

  constructor(tell: (progress: TaskProgress) => void) {
    this.#tell = tell;
  }

  add(index: number, progress: TaskProgress): void {
    this.#latest.set(index, progress);
    const { unit } = progress;
    const same = [...this.#latest.values()].filter((each) => each.unit === unit);
    const done = same.reduce((sum, each) => sum + each.done, 0);
    const totals = same.map(({ total }) => total).filter((total) => total !== undefined);
    this.#tell({ done, unit, ...(totals.length < same.length ? {} : { total: totals.reduce((sum, each) => sum + each, 0) }) });
  }
}
