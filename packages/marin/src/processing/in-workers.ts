import { availableParallelism } from "node:os";
import { openWorkerPool, type Entry } from "@marin/iris";

/** How work is spread. */
export interface WorkerOptions {
  /** Worker processes; at most 1: this process does the work. Default: one for each processor, at most 4. */
  readonly workers?: number | undefined;
  /** Names the work in logs and errors. */
  readonly name: string;
  /** Bytes of the texts. What is done sooner than a worker starts is done here. */
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** So much text is done with in the time that a worker takes to start. */
const inlineBytes = 4 << 20;

/** Worker processes by default. */
export const defaultWorkers = Math.min(4, availableParallelism());

/**
 * Runs an exported function on each item and gives the results in the items' order, whatever the number of workers.
 *
 * @throws what the function throws; FRAY_WORKER_LOST when a worker dies
 */
export async function* inWorkers<Item, Result>(work: Entry<[Item], Result>, items: readonly Item[], options: WorkerOptions): AsyncGenerator<Result> {
  const { name, bytes, signal } = options;
  const workers = Math.min(options.workers ?? defaultWorkers, items.length);
  const pool = await openWorkerPool({ name, workers: workers < 2 || bytes < inlineBytes ? 0 : workers });
  try {
    yield* pool.map(work, items, signal === undefined ? {} : { signal });
  } finally {
    await pool.close();
  }
}

/** What a step with so many workers occupies. */
export function workerResources({ workers = defaultWorkers }: { readonly workers?: number | undefined }): { cpu: number } {
  return { cpu: Math.min(workers, availableParallelism()) };
}
