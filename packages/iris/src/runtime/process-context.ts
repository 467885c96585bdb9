import type { Connection } from "@marin/ducky";
import type { IrisApi } from "../client/iris-api.js";
import { remoteIrisApi } from "../client/iris-service.js";
import { MarinError } from "../platform.js";
import { accompanyWithContext } from "./accompany.js";
import { type IrisContext, getIrisCtx, runInContext, setProcessContext } from "./context.js";
import { ExitHooks } from "./exit-hooks.js";
import { failureFromWire } from "./failure.js";
import { type TaskChannel, connectionChannel } from "./task-channel.js";
import { taskContext } from "./task-context.js";
import { type TaskIdentity, identityVariable } from "./task-identity.js";
import { type TaskEvent, controlService } from "./task-service.js";

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

/** The task of each connection: a warm process has one after another. */
const tasks = new WeakMap<Connection, { current: ServedTask }>();

/**
 * Gives this process or thread the context of a task, in place of the task before it, and lets the other end of the connection stop it.
 *
 * @param connection - to whoever started it, who serves "iris.task"
 * @param identity - who the task is
 * @param attemptUid - the attempt that its reports name. Default "": the other end knows
 * @param write - a way for reports among what the process prints, which tells whether it took one. Default none
 */
export function serveProcessContext(connection: Connection, identity: TaskIdentity, attemptUid = "", write?: (event: TaskEvent) => boolean): ServedTask {
  // For what it starts in turn.
  process.env[identityVariable] = JSON.stringify(identity);
  const controller = new AbortController();
  const hooks = new ExitHooks();
  const channel = connectionChannel(connection, attemptUid, write);
  let ended = false;
  // What still runs of it in a warm process must not speak for the task that comes after it.
  const api = whileTrue(remoteIrisApi(connection), () => !ended);
  const context = taskContext({ identity, channel, api, signal: controller.signal, hooks });
  setProcessContext(context);
  accompanyWithContext(getIrisCtx);
  const abort = (reason: Error): void => controller.abort(reason);
  const finish = async (): Promise<void> => {
    await runInContext(context, () => hooks.run(context.log));
    await channel.flush();
    ended = true;
  };
  const task: ServedTask = { context, channel, abort, finish };
  const known = tasks.get(connection);
  if (known !== undefined) {
    known.current = task;
    return task;
  }
  const slot = { current: task };
  tasks.set(connection, slot);
  connection.serve(controlService, {
    abort: ({ reason }) => {
      slot.current.abort(failureFromWire(reason));
      return null;
    },
    finish: async () => {
      await slot.current.finish();
      return null;
    },
  });
  return task;
}

/** The api as long as a condition holds. */
function whileTrue(api: IrisApi, holds: () => boolean): IrisApi {
  return new Proxy(api, {
    get: (target, name, receiver) => {
      if (holds()) return Reflect.get(target, name, receiver) as unknown;
      throw new MarinError("IRIS_PARENT_ENDED", "The task whose code asks this has ended.");
    },
  });
}
