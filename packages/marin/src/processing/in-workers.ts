import { availableParallelism } from "node:os";
import type { Entry } from "@marin/iris";
import { isMarinError } from "@marin/rigging";
import { mapShards } from "@marin/zephyr";

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
 * @throws what the function throws; ZEPHYR_WORKER_LOST when a worker dies
 */
export async function* inWorkers<Item, Result>(work: Entry<[Item], Result>, items: readonly Item[], options: WorkerOptions): AsyncGenerator<Result> {
  const { name, bytes, signal } = options;
  const workers = Math.min(options.workers ?? defaultWorkers, items.length);
  try {
    yield* mapShards({ entry: work, items, name, workers: workers < 2 || bytes < inlineBytes ? 0 : workers, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    // What failed names the file itself; which share of the files it was in says nothing more.
    throw isMarinError(error, "ZEPHYR_ITEM_FAILED") ? (error.cause ?? error) : error;
  }
}

/** What a step with so many workers occupies. */
export function workerResources({ workers = defaultWorkers }: { readonly workers?: number | undefined }): { cpu: number } {
  return { cpu: Math.min(workers, availableParallelism()) };
}
