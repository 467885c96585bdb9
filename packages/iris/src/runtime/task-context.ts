import { clientOf } from "../client/client.js";
import type { IrisApi } from "../client/iris-api.js";
import { type LogFields, type LogLevel, type Logger, SecretStore, createLogger, createStorage } from "../platform.js";
import { registryOf } from "./api-registry.js";
import type { IrisContext } from "./context.js";
import type { ExitHooks } from "./exit-hooks.js";
import type { TaskChannel } from "./task-channel.js";
import type { TaskIdentity } from "./task-identity.js";
import { plainProgress } from "./relay.js";
import { portOf } from "./task-port.js";

/** What a task's context is made of. */
interface TaskContextParts {
  readonly identity: TaskIdentity;
  readonly channel: TaskChannel;
  /** The controller, as the task may see it. */
  readonly api: IrisApi;
  readonly signal: AbortSignal;
  readonly hooks: ExitHooks;
}

/** The context of a task in its own process: what it reports goes through the channel. */
export function taskContext({ identity, channel, api, signal, hooks }: TaskContextParts): IrisContext {
  const { jobId, attempt, taskIndex, numTasks, resources, ports } = identity;
  return {
    jobId,
    attempt,
    taskIndex,
    numTasks,
    resources,
    log: channelLogger(channel),
    metrics: { report: (values, step) => channel.send({ type: "metrics", values, ...(step === undefined ? {} : { step }) }) },
    signal,
    storage: createStorage(),
    secrets: new SecretStore(),
    registry: registryOf(api),
    client: clientOf(api),
    ports,
    progress: (progress) => channel.send({ type: "progress", progress: plainProgress(progress) }),
    port: (name) => portOf(ports, name, jobId),
    onExit: (hook) => hooks.add(hook),
    extension: () => undefined,
  };
}

/** Lets rigging's logger write its JSON form, which holds no secret and nothing that cannot travel, and sends that. */
function channelLogger(channel: TaskChannel): Logger {
  return createLogger({
    level: "debug",
    format: "json",
    write: (line) => {
      const { time: _time, level, message, ...fields } = JSON.parse(line) as LogFields & { level: LogLevel; message: string };
      channel.send({ type: "log", level, message, fields });
    },
  });
}
