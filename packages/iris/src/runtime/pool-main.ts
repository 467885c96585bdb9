import { type Entry, currentCall, loadEntry, parentConnection } from "@marin/fray";
import { childClient } from "../client/client.js";
import { remoteSubmit } from "../client/jobs-service.js";
import { MarinError } from "../platform.js";
import { type IrisContext, runInContext, setProcessContext } from "./context.js";
import { ExitHooks } from "./exit-hooks.js";
import { type TaskChannel, connectionChannel } from "./task-channel.js";
import { taskContext } from "./task-context.js";
import type { TaskIdentity } from "./task-identity.js";

interface PoolWorker {
  readonly context: IrisContext;
  readonly channel: TaskChannel;
  readonly hooks: ExitHooks;
  readonly controller: AbortController;
}

/** Of this process or thread. */
let opened: PoolWorker | undefined;

/** Makes this fray worker one of a pool: its context is that of all items it will work on. */
export function openPoolWorker(identity: TaskIdentity): void {
  const connection = parentConnection();
  if (connection === undefined) throw notOpen();
  const controller = new AbortController();
  const hooks = new ExitHooks();
  const channel = connectionChannel(connection);
  const client = childClient(remoteSubmit(connection), (name) => channel.registry.resolve(name));
  const context = taskContext({ identity, channel, client, signal: controller.signal, hooks });
  setProcessContext(context);
  opened = { context, channel, hooks, controller };
}

/** Works on one item. */
export async function runPoolItem(work: Entry, item: unknown): Promise<unknown> {
  if (opened === undefined) throw notOpen();
  const { context, channel, controller } = opened;
  const call = currentCall()?.signal;
  const signal = call === undefined ? controller.signal : AbortSignal.any([controller.signal, call]);
  const ofItem = Object.create(context, { signal: { value: signal, enumerable: true } }) as IrisContext;
  try {
    const run = await loadEntry(work);
    return await runInContext(ofItem, () => run(item));
  } finally {
    await channel.flush();
  }
}

/** Cleans up: no more items will come. */
export async function closePoolWorker(): Promise<void> {
  if (opened === undefined) return;
  const { context, channel, hooks, controller } = opened;
  controller.abort(new MarinError("IRIS_CANCELLED", "The pool of this worker is closed."));
  await runInContext(context, () => hooks.run(context.log));
  await channel.flush();
}

function notOpen(): MarinError {
  return new MarinError("IRIS_NO_CONTROLLER", "This function works only in a worker that openWorkerPool has started.");
}
