import { type Entry, type EndpointHandle, irisCtx, loadEntry, MarinError } from "@marin/iris";
import { counted, type Counters } from "./context.js";

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

/** What this worker has done for a run, and how it is known meanwhile. */
interface Presence {
  done: number;
  readonly endpoint: Promise<EndpointHandle>;
}

const presences = new Map<string, Presence>();
/** Items finished for a run; a worker that registers anew goes on counting. */
const finished = new Map<string, number>();

/** Works on one item, in a worker's context. */
export async function runShard({ run, name, work, item, index, reportProgress }: ShardTask): Promise<ShardAnswer> {
  const context = irisCtx();
  context.signal.throwIfAborted();
  const presence = await present(run, name);
  const load = await loadEntry(work);
  let answer: ShardAnswer;
  try {
    answer = await counted(() => load(item));
  } catch (cause) {
    if (context.signal.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("ZEPHYR_ITEM_FAILED", `"${name}" failed at item ${String(index)} ({item}): ${reason}`, { data: { name, index, item: index }, cause });
  }
  presence.done += 1;
  finished.set(run, presence.done);
  if (reportProgress) context.progress({ done: presence.done, unit: "items" });
  return answer;
}

/** Forgets a run that worked in this process. */
export function endRun(run: string): void {
  finished.delete(run);
}

/** Registers this worker for a run, once; taken back when the worker's context ends. */
async function present(run: string, name: string): Promise<Presence> {
  const known = presences.get(run);
  if (known !== undefined) return known;
  const context = irisCtx();
  const { registry, taskIndex, numTasks, jobId } = context;
  const endpoint = registry.register(`zephyr/${name}/${run.slice(0, 8)}/${String(taskIndex)}`, `pid:${String(process.pid)}`, { jobId, numTasks: String(numTasks) });
  const presence: Presence = { done: finished.get(run) ?? 0, endpoint };
  presences.set(run, presence);
  context.onExit(async () => {
    presences.delete(run);
    await (await presence.endpoint).close();
  });
  await presence.endpoint;
  return presence;
}
