import { availableParallelism } from "node:os";
import type { Entry } from "@marin/iris";
import { isMarinError } from "@marin/rigging";
import { mapShards } from "@marin/zephyr";

/** How work is spread. */
export interface WorkerOptions {
  /** Worker processes; 1: this process does the work; 0: as many as the amount of text is worth. Default 0. */
  readonly workers?: number | undefined;
  /** Names the work in logs and errors. */
  readonly name: string;
  /** Bytes of the texts. */
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Text for a worker: with less of it, starting one takes longer than it saves. */
const workerBytes = 32 << 20;
const mostWorkers = Math.min(4, availableParallelism());

/** As many workers as the amount of text is worth, at most one for each processor, and 4. */
function worthWorkers(bytes: number): number {
  return Math.min(mostWorkers, Math.floor(bytes / workerBytes));
}

/**
 * Runs an exported function on each item and gives the results in the items' order, whatever the number of workers.
 *
 * @throws what the function throws; ZEPHYR_WORKER_LOST when a worker dies
 */
export async function* inWorkers<Item, Result>(work: Entry<[Item], Result>, items: readonly Item[], options: WorkerOptions): AsyncGenerator<Result> {
  const { name, bytes, signal } = options;
  const asked = options.workers ?? 0;
  const wanted = asked === 0 ? worthWorkers(bytes) : asked;
  const workers = wanted < 2 ? 0 : Math.min(wanted, items.length);
  try {
    // The steps count documents: a worker's count of files between them would make the progress jump.
    yield* mapShards({ entry: work, items, name, workers, reportProgress: false, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    // What failed names the file itself; which share of the files it was in says nothing more.
    throw isMarinError(error, "ZEPHYR_ITEM_FAILED") ? (error.cause ?? error) : error;
  }
}

/** What a step with so many workers occupies. */
export function workerResources({ workers = 0 }: { readonly workers?: number | undefined }): { cpu: number } {
  return { cpu: Math.min(workers === 0 ? mostWorkers : workers, availableParallelism()) };
}
