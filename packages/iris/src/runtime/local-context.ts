import { IrisClient } from "../client/client.js";
import { MarinError, type Logger, SecretStore, type Storage, createLogger, createStorage } from "../platform.js";
import { machineCapacity } from "../cluster-file.js";
import type { Resources } from "../jobs/job-spec.js";
import { accompanyWithContext } from "./accompany.js";
import { type IrisContext, type MetricsReporter, type TaskProgress, getIrisCtx, runInContext } from "./context.js";
import { type Registry, localRegistry } from "./endpoints.js";
import { ExitHooks } from "./exit-hooks.js";
import type { ExtensionKey, ProvidedExtension } from "./extensions.js";
import { portOf } from "./task-port.js";

/** Settings of {@link withLocalContext}. Inside another context, those marked (inherited) default to that context's. */
export interface LocalContextOptions {
  /** Default "local". */
  readonly jobId?: string;
  /** Default 0. */
  readonly attempt?: number;
  /** Default 0. */
  readonly taskIndex?: number;
  /** Default 1. */
  readonly numTasks?: number;
  /** (inherited) Default: all of the machine. */
  readonly resources?: Resources;
  /** (inherited) Default: lines on standard error. */
  readonly log?: Logger;
  /** (inherited) Takes the measurements. Default: they are dropped. */
  readonly onMetrics?: MetricsReporter["report"];
  /** (inherited) Takes the progress reports. Default: they are dropped. */
  readonly onProgress?: (progress: TaskProgress) => void;
  /** Aborts the task. Default: never. The surrounding context's signal aborts it as well. */
  readonly signal?: AbortSignal;
  /** (inherited) Default: the local disk, buckets, this process's memory, by the path. */
  readonly storage?: Storage;
  /** (inherited) Default: a `SecretStore` on the environment. */
  readonly secrets?: SecretStore;
  /** (inherited) Default: a registry of its own, emptied when the function ends. */
  readonly registry?: Registry;
  /** (inherited) Default: jobs run on this machine; made when it is first asked for, and closed when the function ends. */
  readonly client?: IrisClient;
  /** (inherited) TCP ports by name. Default none. */
  readonly ports?: Readonly<Record<string, number>>;
  /** Services offered, each made by `provide`. (inherited) A key offered here hides the surrounding context's. */
  readonly extensions?: readonly ProvidedExtension[];
}

/**
 * Runs a function as the task of a job on this machine: inside it, and in everything it starts, {@link irisCtx} works.
 *
 * @param options - who the task is and what it can reach; all have defaults
 * @param run - the task; may be asynchronous
 * @returns what `run` returns
 * @throws MarinError IRIS_BAD_CONTEXT when taskIndex, numTasks or attempt do not fit each other
 */
export function withLocalContext<T>(options: LocalContextOptions, run: () => T): T {
  accompanyWithContext(getIrisCtx);
  const hooks = new ExitHooks();
  const context = localContext(options, getIrisCtx(), hooks);
  const finish = (): Promise<void> => runInContext(context, () => hooks.run(context.log));
  let result: T;
  try {
    result = runInContext(context, run);
  } catch (error) {
    void finish();
    throw error;
  }
  if (!isPromiseLike(result)) {
    void finish();
    return result;
  }
  // The same type of promise to its user; it settles after the clean-up.
  return result.then(
    async (value) => {
      await finish();
      return value;
    },
    async (error: unknown) => {
      await finish();
      throw error;
    },
  ) as T;
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function localContext(options: LocalContextOptions, outer: IrisContext | undefined, hooks: ExitHooks): IrisContext {
  const { jobId = "local", attempt = 0, taskIndex = 0, numTasks = 1, onMetrics, onProgress } = options;
  if (![attempt, taskIndex, numTasks].every(Number.isSafeInteger) || attempt < 0 || taskIndex < 0 || taskIndex >= numTasks) {
    throw new MarinError(
      "IRIS_BAD_CONTEXT",
      `There is no task ${String(taskIndex)} of ${String(numTasks)}, attempt ${String(attempt)}: taskIndex counts from 0 up to numTasks - 1, attempt from 0 up.`,
      { data: { taskIndex, numTasks, attempt } },
    );
  }
  const offered = new Map((options.extensions ?? []).map(({ name, implementation }) => [name, implementation]));
  const signals = [options.signal, outer?.signal].filter((signal) => signal !== undefined);
  let { client } = options;
  const ports = options.ports ?? outer?.ports ?? {};
  return {
    jobId,
    attempt,
    taskIndex,
    numTasks,
    resources: options.resources ?? outer?.resources ?? machineCapacity(),
    log: options.log ?? outer?.log ?? createLogger(),
    metrics: onMetrics !== undefined ? { report: onMetrics } : (outer?.metrics ?? { report: () => undefined }),
    signal: AbortSignal.any(signals),
    storage: options.storage ?? outer?.storage ?? createStorage(),
    secrets: options.secrets ?? outer?.secrets ?? new SecretStore(),
    registry: options.registry ?? outer?.registry ?? localRegistry(jobId),
    get client() {
      return (client ??= outer?.client ?? localClient(hooks));
    },
    progress: onProgress ?? ((progress) => outer?.progress(progress)),
    ports,
    port: (name) => portOf(ports, name, jobId),
    onExit: (hook) => hooks.add(hook),
    extension: <E>(key: ExtensionKey<E>) => (offered.has(key.name) ? (offered.get(key.name) as E) : outer?.extension(key)),
  };
}

function localClient(hooks: ExitHooks): IrisClient {
  const client = IrisClient.local();
  hooks.add(() => client.close());
  return client;
}
