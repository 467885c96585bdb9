import { type Entry, irisCtx, loadEntry, MarinError } from "@marin/iris";
import { counted, type Counters } from "./context.js";
import { registerWorker } from "./presence.js";

/** One item of `mapShards`, as a worker gets it. */
export interface ShardTask {
  /** Which call of mapShards it belongs to. */
  readonly run: string;
  /** The work's name. */
  readonly name: string;
  /** The function. */
  readonly work: Entry;
  /** Its argument. */
  readonly item: unknown;
  /** Its place among the items, from 0 up. */
  readonly index: number;
  /** Whether the worker tells how many items it has finished. */
  readonly reportProgress: boolean;
}

/** What a worker gives back. */
export interface ShardAnswer {
  /** The function's result. */
  readonly value: unknown;
  /** What it counted. */
  readonly counters: Counters;
}

/** Items finished, by run. */
const finished = new Map<string, number>();

/** Works on one item, in a worker's context. */
export async function runShard({ run, name, work, item, index, reportProgress }: ShardTask): Promise<ShardAnswer> {
  const context = irisCtx();
  context.signal.throwIfAborted();
  await registerWorker(run, name);
  const load = await loadEntry(work);
  let answer: ShardAnswer;
  try {
    answer = await counted(() => load(item));
  } catch (cause) {
    if (context.signal.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("ZEPHYR_ITEM_FAILED", `"${name}" failed at item ${String(index)} ({item}): ${reason}`, { data: { name, index, item: index }, cause });
  }
  const done = (finished.get(run) ?? 0) + 1;
  finished.set(run, done);
  if (reportProgress) context.progress({ done, unit: "items" });
  return answer;
}

/** Forgets a run that worked in this process. */
export function endRun(run: string): void {
  finished.delete(run);
}
