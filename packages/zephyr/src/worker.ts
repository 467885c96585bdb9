import { randomUUID } from "node:crypto";
import { type Entry, entry, getIrisCtx, isMarinError, MarinError, openWorkerPool } from "@marin/iris";
import { addCounters, type Counters } from "./context.js";
import { endRun, type runShard, type ShardAnswer, type ShardTask } from "./worker-main.js";

/** Settings of {@link mapShards}. */
export interface MapShardsOptions<I, R> {
  /** The function that works on an item, named by `entry`; it runs inside a task, in a worker process or in this one. */
  readonly entry: Entry<[I], R>;
  /** Plain data that structuredClone takes: paths, ranges of rows. */
  readonly items: Iterable<I> | AsyncIterable<I>;
  /** Names the work in logs, errors and the registry. Without spaces. */
  readonly name: string;
  /** Worker processes; 0 works in this process, one item at a time. Default 0. */
  readonly workers?: number;
  /** Ends the work, with its reason as the error. Default: the running task's signal. */
  readonly signal?: AbortSignal;
  /** Whether finished items are reported as the task's progress; false where the caller counts in units of its own. Default true. */
  readonly reportProgress?: boolean;
}

/** The results of {@link mapShards}, in the items' order. Iterate once. */
export interface ShardResults<R> extends AsyncIterable<R> {
  /** What `zephyrContext().count` counted in the items whose results were given out so far, added up. */
  counters(): Counters;
}

const workerMain = new URL(import.meta.url.endsWith(".ts") ? "./worker-main.ts" : "./worker-main.js", import.meta.url);

/**
 * Works on items in worker processes, and hands each result over as soon as it is there: for a caller that does something with results one by one, in
 * this process, while the workers go on (marin's steps write one file of what many workers have read). What is written by the workers themselves, or
 * has to be grouped, sorted or resumed, is a `Dataset` and `execute`, which gives its results when all of it is done, through files.
 *
 * Results come in the items' order and are the same for any number of workers. Each
 * worker takes the next item when it has finished one, registers itself as `zephyr/<name>/<run>/<worker>` while it works, reports
 * the items that it has finished as progress, and cleans up when it ends or is stopped. The workers start when the results are first asked
 * for, and end with the iteration, however it ends.
 *
 * @param options - what to run, on what, and with how many workers
 * @returns the results; iterating throws MarinError ZEPHYR_ITEM_FAILED naming the item whose function threw (its error is the
 * cause), ZEPHYR_WORKER_LOST naming the item whose worker died; results before it are given out first. No item is tried twice
 */
export function mapShards<I, R>(options: MapShardsOptions<I, R>): ShardResults<R> {
  let counters: Counters = {};
  return {
    counters: () => counters,
    async *[Symbol.asyncIterator]() {
      for await (const { value, counters: ofItem } of answers(options)) {
        counters = addCounters(counters, ofItem);
        yield value as R;
      }
    },
  };
}

async function* answers<I, R>({ entry: work, items, name, workers = 0, signal = getIrisCtx()?.signal, reportProgress = true }: MapShardsOptions<I, R>): AsyncGenerator<ShardAnswer> {
  signal?.throwIfAborted();
  const run = randomUUID();
  // Items on their way, for messages: those before the result that comes next are done.
  const labels = new Map<number, string>();
  const tasks = async function* (): AsyncGenerator<ShardTask> {
    let index = 0;
    for await (const item of items) {
      labels.set(index, labelOf(item));
      yield { run, name, work: work as Entry, item, index, reportProgress };
      index += 1;
    }
  };
  await using pool = await openWorkerPool({ workers, name });
  let next = 0;
  try {
    for await (const answer of pool.map(entry<typeof runShard>(workerMain, "runShard"), tasks(), signal === undefined ? {} : { signal })) {
      labels.delete(next);
      next += 1;
      yield answer;
    }
  } catch (error) {
    throw signal?.aborted === true ? error : itemError(error, name, labels);
  } finally {
    endRun(run);
  }
}

/** The error of a worker as one that names the item. */
function itemError(error: unknown, name: string, labels: ReadonlyMap<number, string>): unknown {
  if (!isMarinError(error)) return error;
  const index = Number(error.data["index"]);
  const label = labels.get(index) ?? "";
  if (error.code === "ZEPHYR_ITEM_FAILED") {
    return new MarinError(error.code, error.message.replace("{item}", label), { data: { ...error.data, label }, cause: error.cause });
  }
  if (error.code !== "FRAY_WORKER_LOST" || Number.isNaN(index)) return error;
  return new MarinError("ZEPHYR_WORKER_LOST", `"${name}" lost the worker of item ${String(index)} (${label}): ${error.message}`, { data: { ...error.data, name, item: index, label }, cause: error });
}

function labelOf(item: unknown): string {
  const named = typeof item === "object" && item !== null ? ((item as { readonly name?: unknown }).name ?? (item as { readonly path?: unknown }).path) : item;
  const label = typeof named === "string" ? named : (JSON.stringify(item, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)) ?? String(item));
  return label.length > 200 ? `${label.slice(0, 200)}...` : label;
}
