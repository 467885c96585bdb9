import { type Entry, loadEntry, parentConnection } from "@marin/fray";
import { MarinError } from "../platform.js";
import { runInContext } from "./context.js";
import { type WireFailure, failureToWire } from "./failure.js";
import { serveProcessContext } from "./process-context.js";
import type { TaskIdentity } from "./task-identity.js";

/** How a task's function ended. */
export type TaskAnswer = { readonly kind: "returned"; readonly value: unknown } | { readonly kind: "threw"; readonly failure: WireFailure };

/**
 * Runs a task's function in its own process, inside the task's context. The backend calls it there.
 *
 * @param identity - who the task is
 * @param work - the function
 * @param args - its arguments
 */
export async function runTask(identity: TaskIdentity, work: Entry, args: readonly unknown[]): Promise<TaskAnswer> {
  const connection = parentConnection();
  if (connection === undefined) throw new MarinError("IRIS_NO_CONTROLLER", "runTask works only in a process that an iris controller has started.");
  const { context, abort, finish } = serveProcessContext(connection, identity);
  // The function has had its time: what it asked for at the end is all that is left to do.
  process.once("SIGTERM", () => {
    abort(new MarinError("IRIS_CANCELLED", "The task's process was told to end."));
    void finish().then(() => process.exit(143));
  });
  const answer = await runInContext(context, async (): Promise<TaskAnswer> => {
    try {
      const run = await loadEntry(work);
      context.signal.throwIfAborted();
      return { kind: "returned", value: await run(...args) };
    } catch (error) {
      return { kind: "threw", failure: failureToWire(error) };
    }
  });
  await finish();
  return answer;
}
