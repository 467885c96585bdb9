import { FrayWorker, entry, loadEntry, mapPool } from "@marin/fray";
import { serveTask } from "../backends/serve-task.js";
import { type Entry, MarinError, isMarinError } from "../platform.js";
import { type IrisContext, type TaskProgress, getIrisCtx, irisCtx, runInContext } from "./context.js";
import { withLocalContext } from "./local-context.js";
import type { closePoolWorker, openPoolWorker, runPoolItem } from "./pool-main.js";
import { relayTo } from "./relay.js";
import { type TaskIdentity, identityVariable } from "./task-identity.js";

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
   * @throws what the function throws; MarinError IRIS_WORKER_LOST naming the item whose worker died
   */
  map<I, R>(work: Entry<[I], R>, items: Iterable<I> | AsyncIterable<I>, options?: PoolMapOptions): AsyncIterable<R>;
  /** Ends the workers, after what their contexts' `onExit` asked for. */
  close(): Promise<void>;
}

const poolMain = new URL(import.meta.url.endsWith(".ts") ? "./pool-main.ts" : "./pool-main.js", import.meta.url);

/** How long a worker may take to clean up. */
const closeGraceMs = 4_000;

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
  const context = getIrisCtx() ?? withLocalContext({}, irisCtx);
  const pool = workers === 0 ? inlinePool(context) : new ProcessPool(options, context);
  context.onExit(() => pool.close());
  if (pool instanceof ProcessPool) await pool.start();
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

interface PoolWorker {
  readonly worker: FrayWorker;
  readonly closeEndpoints: () => Promise<void>;
}

class ProcessPool implements TaskPool {
  readonly workers: number;
  readonly #name: string;
  readonly #kind: "process" | "thread";
  readonly #context: IrisContext;
  readonly #slots: (Promise<PoolWorker> | undefined)[];
  readonly #free: number[];
  readonly #waiting: ((slot: number) => void)[] = [];
  readonly #progress: (TaskProgress | undefined)[];
  #closing: Promise<void> | undefined;

  constructor({ workers, name, kind = "process" }: WorkerPoolOptions, context: IrisContext) {
    this.workers = workers;
    this.#name = name;
    this.#kind = kind;
    this.#context = context;
    this.#slots = Array.from({ length: workers }, () => undefined);
    this.#progress = Array.from({ length: workers }, () => undefined);
    this.#free = Array.from({ length: workers }, (_, slot) => slot);
  }

  async start(): Promise<void> {
    try {
      await Promise.all(this.#slots.map((_, slot) => this.#worker(slot)));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  map<I, R>(work: Entry<[I], R>, items: Iterable<I> | AsyncIterable<I>, { signal = this.#context.signal }: PoolMapOptions = {}): AsyncIterable<R> {
    return mapPool(items, this.workers, (item, task) => this.#run(work, item, task.index, task.signal), { signal });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run<I, R>(work: Entry<[I], R>, item: I, index: number, signal: AbortSignal): Promise<R> {
    const slot = this.#free.shift() ?? (await new Promise<number>((resolve) => this.#waiting.push(resolve)));
    try {
      const { worker } = await this.#worker(slot);
      return (await worker.call(entry<typeof runPoolItem>(poolMain, "runPoolItem"), [work as Entry, item], { signal })) as R;
    } catch (error) {
      if (!isMarinError(error, "FRAY_WORKER_LOST")) throw error;
      throw new MarinError("IRIS_WORKER_LOST", `The pool "${this.#name}" lost worker ${String(slot)} at item ${String(index)}: ${error.message}`, {
        data: { ...error.data, pool: this.#name, worker: slot, item: index },
        cause: error,
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(slot);
      else next(slot);
    }
  }

  /** The worker of a slot; a new one where the last has died. */
  #worker(slot: number): Promise<PoolWorker> {
    if (this.#closing !== undefined) {
      return Promise.reject(new MarinError("IRIS_BAD_POOL", `The pool "${this.#name}" is closed: it takes no more items.`, { data: { name: this.#name } }));
    }
    return (this.#slots[slot] ??= this.#start(slot));
  }

  async #start(slot: number): Promise<PoolWorker> {
    const { jobId, attempt, resources } = this.#context;
    const identity: TaskIdentity = {
      jobId,
      attempt,
      taskIndex: slot,
      numTasks: this.workers,
      resources: { cpu: resources.cpu / this.workers, memoryBytes: Math.floor(resources.memoryBytes / this.workers), gpu: 0 },
      ports: {},
    };
    const label = `${this.#name}[${String(slot)}]`;
    const print = (level: "info" | "warn") => (line: string) => this.#context.log[level](line, { worker: label });
    const forget = (): void => {
      this.#slots[slot] = undefined;
      this.#progress[slot] = undefined;
    };
    try {
      const worker = await FrayWorker.start({
        kind: this.#kind,
        name: label,
        env: { [identityVariable]: JSON.stringify(identity) },
        onStdout: print("info"),
        onStderr: print("warn"),
      });
      const closeEndpoints = serveTask(worker.connection, relayTo(this.#context, label, (progress) => this.#progressed(slot, progress)));
      void worker.exited.then(closeEndpoints).then(forget);
      await worker.call(entry<typeof openPoolWorker>(poolMain, "openPoolWorker"), [identity]);
      return { worker, closeEndpoints };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Tells the opener's context what the workers have done together. */
  #progressed(slot: number, progress: TaskProgress): void {
    this.#progress[slot] = progress;
    const same = this.#progress.filter((each) => each?.unit === progress.unit) as TaskProgress[];
    const done = same.reduce((sum, each) => sum + each.done, 0);
    const totals = same.map(({ total }) => total);
    const total = totals.includes(undefined) ? undefined : totals.reduce<number>((sum, each) => sum + (each ?? 0), 0);
    this.#context.progress({ done, unit: progress.unit, ...(total === undefined ? {} : { total }) });
  }

  async #close(): Promise<void> {
    const slots = this.#slots.filter((slot) => slot !== undefined);
    await Promise.all(
      slots.map(async (slot) => {
        const opened = await slot.catch(() => undefined);
        if (opened === undefined) return;
        const { worker, closeEndpoints } = opened;
        const closing = worker.call(entry<typeof closePoolWorker>(poolMain, "closePoolWorker"), []);
        const timer = setTimeout(() => closing.cancel(), closeGraceMs);
        await Promise.resolve(closing).catch(() => undefined);
        clearTimeout(timer);
        await closeEndpoints();
        await worker.stop({ graceMs: closeGraceMs });
      }),
    );
  }
}
