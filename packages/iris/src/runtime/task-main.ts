import { type Entry, loadEntry, parentConnection } from "@marin/fray";
import { childClient } from "../client/client.js";
import { remoteSubmit } from "../client/jobs-service.js";
import { MarinError } from "../platform.js";
import { runInContext, setProcessContext } from "./context.js";
import { ExitHooks } from "./exit-hooks.js";
import { type WireFailure, failureFromWire, failureToWire } from "./failure.js";
import { connectionChannel } from "./task-channel.js";
import { taskContext } from "./task-context.js";
import type { TaskIdentity } from "./task-identity.js";
import { controlService } from "./task-service.js";

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
  const controller = new AbortController();
  const hooks = new ExitHooks();
  const channel = connectionChannel(connection);
  const client = childClient(remoteSubmit(connection), (name) => channel.registry.resolve(name));
  const context = taskContext({ identity, channel, client, signal: controller.signal, hooks });
  setProcessContext(context);
  connection.serve(controlService, {
    stop: ({ reason }) => {
      controller.abort(failureFromWire(reason));
      return null;
    },
  });
  // The function has had its time: what it asked for at the end is all that is left to do.
  process.once("SIGTERM", () => {
    controller.abort(new MarinError("IRIS_CANCELLED", "The task's process was told to end."));
    void runInContext(context, () => hooks.run(context.log)).then(() => process.exit(143));
  });
  const answer = await runInContext(context, async (): Promise<TaskAnswer> => {
    try {
      const run = await loadEntry(work);
      controller.signal.throwIfAborted();
      return { kind: "returned", value: await run(...args) };
    } catch (error) {
      return { kind: "threw", failure: failureToWire(error) };
    } finally {
      await hooks.run(context.log);
    }
  });
  await channel.flush();
  return answer;
}
