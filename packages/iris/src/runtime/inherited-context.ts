import { currentCall, parentConnection } from "@marin/fray";
import { remoteIrisApi } from "../client/iris-service.js";
import { forwardingApi } from "../client/lazy-api.js";
import { MarinError } from "../platform.js";
import { accompanyWithContext } from "./accompany.js";
import type { IrisContext } from "./context.js";
import { ExitHooks } from "./exit-hooks.js";
import { brokenChannel, connectionChannel } from "./task-channel.js";
import { taskContext } from "./task-context.js";
import { identityFromEnvironment } from "./task-identity.js";

/**
 * The context of a process or worker thread that a task's process has started without iris's help; undefined elsewhere. A fray worker reports
 * through its parent; any other process or thread has nobody to report to but standard error.
 */
export function inheritedContext(): IrisContext | undefined {
  const identity = identityFromEnvironment();
  if (identity === undefined) return undefined;
  const connection = parentConnection();
  const channel = connection === undefined ? brokenChannel() : connectionChannel(connection);
  const api = connection === undefined ? forwardingApi(refuse) : remoteIrisApi(connection);
  const hooks = new ExitHooks();
  const never = new AbortController().signal;
  const context = taskContext({ identity, channel, api, signal: never, hooks });
  process.once("beforeExit", () => void hooks.run(context.log));
  accompanyWithContext(() => context);
  return Object.defineProperty(context, "signal", { get: () => currentCall()?.signal ?? never, enumerable: true });
}

async function refuse(): Promise<never> {
  throw new MarinError("IRIS_NO_CONTROLLER", "This process was started by a task, but not as a fray worker: it has no way to submit jobs. Submit them from the task itself.");
}
