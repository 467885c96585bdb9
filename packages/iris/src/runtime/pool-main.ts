import { type Entry, type PoolMember, currentCall, loadEntry, parentConnection } from "@marin/fray";
import { MarinError } from "../platform.js";
import { type IrisContext, runInContext } from "./context.js";
import { type ServedTask, serveProcessContext } from "./process-context.js";
import { identityFromEnvironment } from "./task-identity.js";

/** One item for a worker of a pool. */
export interface PoolItem {
  /** The function. */
  readonly work: Entry;
  /** Its argument. */
  readonly item: unknown;
}

/** Of this process or thread. */
let opened: ServedTask | undefined;

/** Makes this fray worker one of an iris pool: its context is that of all items it will work on. */
export function openPoolWorker({ index, size }: PoolMember): void {
  const connection = parentConnection();
  const opener = identityFromEnvironment();
  if (connection === undefined || opener === undefined) throw notOpen();
  opened = serveProcessContext(connection, { ...opener, taskIndex: index, numTasks: size });
}

/** Works on one item. */
export async function runPoolItem({ work, item }: PoolItem): Promise<unknown> {
  if (opened === undefined) throw notOpen();
  const { context, channel } = opened;
  const call = currentCall()?.signal;
  const signal = call === undefined ? context.signal : AbortSignal.any([context.signal, call]);
  const ofItem = Object.create(context, { signal: { value: signal, enumerable: true } }) as IrisContext;
  try {
    const run = await loadEntry(work);
    return await runInContext(ofItem, () => run(item));
  } finally {
    await channel.flush();
  }
}

function notOpen(): MarinError {
  return new MarinError("IRIS_NO_CONTROLLER", "This function works only in a worker that openWorkerPool has started.");
}
