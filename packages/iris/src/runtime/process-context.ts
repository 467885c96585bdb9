import type { Connection } from "@marin/ducky";
import { childClient } from "../client/client.js";
import { remoteSubmit } from "../client/jobs-service.js";
import { accompanyWithContext } from "./accompany.js";
import { type IrisContext, getIrisCtx, runInContext, setProcessContext } from "./context.js";
import { ExitHooks } from "./exit-hooks.js";
import { failureFromWire } from "./failure.js";
import { type TaskChannel, connectionChannel } from "./task-channel.js";
import { taskContext } from "./task-context.js";
import { type TaskIdentity, identityVariable } from "./task-identity.js";
import { controlService } from "./task-service.js";

/** A process or thread that belongs to one task as a whole. */
export interface ServedTask {
  /** Its context. */
  readonly context: IrisContext;
  /** The way to whoever started it. */
  readonly channel: TaskChannel;
  /** Aborts its context's signal. */
  readonly abort: (reason: Error) => void;
  /** Runs what `onExit` asked for and waits until all reports have arrived. */
  readonly finish: () => Promise<void>;
}

/**
 * Gives this process or thread the context of a task, and lets the other end of the connection stop it.
 *
 * @param connection - to whoever started it, who serves "iris.task"
 * @param identity - who the task is
 */
export function serveProcessContext(connection: Connection, identity: TaskIdentity): ServedTask {
  // For what it starts in turn.
  process.env[identityVariable] = JSON.stringify(identity);
  const controller = new AbortController();
  const hooks = new ExitHooks();
  const channel = connectionChannel(connection);
  const client = childClient(remoteSubmit(connection), (name) => channel.registry.resolve(name));
  const context = taskContext({ identity, channel, client, signal: controller.signal, hooks });
  setProcessContext(context);
  accompanyWithContext(getIrisCtx);
  const abort = (reason: Error): void => controller.abort(reason);
  const finish = async (): Promise<void> => {
    await runInContext(context, () => hooks.run(context.log));
    await channel.flush();
  };
  connection.serve(controlService, {
    abort: ({ reason }) => {
      abort(failureFromWire(reason));
      return null;
    },
    finish: async () => {
      await finish();
      return null;
    },
  });
  return { context, channel, abort, finish };
}
