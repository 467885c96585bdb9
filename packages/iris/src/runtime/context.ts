import { AsyncLocalStorage } from "node:async_hooks";
import type { IrisClient } from "../client/client.js";
import type { Resources } from "../jobs/job-spec.js";
import { MarinError, type Logger, type SecretStore, type Storage } from "../platform.js";
import type { Registry } from "./endpoints.js";
import type { ExtensionKey } from "./extensions.js";
import { inheritedContext } from "./inherited-context.js";

/** How far a task has come. */
export interface TaskProgress {
  /** Units done. */
  readonly done: number;
  /** Units in all, where known. */
  readonly total?: number;
  /** What is counted: "steps", "documents". */
  readonly unit: string;
  /** One short phrase for people: "loss 4.21, 9,300 tokens/s". */
  readonly detail?: string;
}

/** Named measurements of one moment, for example `{ loss: 3.1, tokensPerSecond: 9000 }`. */
export type MetricValues = Readonly<Record<string, number>>;

/** Takes a task's measurements. */
export interface MetricsReporter {
  /**
   * @param values - the measurements; a name keeps its meaning and unit for the whole job
   * @param step - the step they belong to, where the work has steps
   */
  report(values: MetricValues, step?: number): void;
}

/** What a task knows about itself and can reach. Ask {@link irisCtx} for it. */
export interface IrisContext {
  /** The job the task belongs to. */
  readonly jobId: string;
  /** How often this task was started before: 0 on the first start. */
  readonly attempt: number;
  /** This task among the job's tasks, from 0 up. */
  readonly taskIndex: number;
  /** Tasks of the job, at least 1. */
  readonly numTasks: number;
  /** What the task may use of its machine. */
  readonly resources: Resources;
  /** The task's log. */
  readonly log: Logger;
  /** The task's measurements. */
  readonly metrics: MetricsReporter;
  /** Aborted when the task is to stop: save what matters, clean up, return. */
  readonly signal: AbortSignal;
  /** Files, wherever they lie. */
  readonly storage: Storage;
  /** Secrets by name. */
  readonly secrets: SecretStore;
  /** Where tasks find each other. */
  readonly registry: Registry;
  /** Submits jobs as children of this one: they end when it ends. Its `jobs()` are those submitted through it. */
  readonly client: IrisClient;
  /** Reports how far the task has come. */
  progress(progress: TaskProgress): void;
  /** The task's TCP ports by the names of its spec's `ports`. */
  readonly ports: Readonly<Record<string, number>>;
  /**
   * The TCP port the task was given under a name of its spec's `ports`.
   *
   * @throws MarinError IRIS_NO_PORT; lists the names that were asked for
   */
  port(name: string): number;
  /** Asks for clean-up when the task ends or is cancelled; the last asked for runs first. */
  onExit(hook: () => void | Promise<void>): void;
  /** The service offered under a key, or undefined when this context offers none. */
  extension<T>(key: ExtensionKey<T>): T | undefined;
}

const key: unique symbol = Symbol.for("marin.iris.context");

interface Shared {
  readonly storage: AsyncLocalStorage<IrisContext>;
  /** The context of the task that this whole process or thread belongs to; null once it is known that there is none. */
  ofProcess: IrisContext | null | undefined;
}

/** On the global object, so that two copies of this package in one thread see the same context. */
function shared(): Shared {
  const holder = globalThis as { [key]?: Shared };
  return (holder[key] ??= { storage: new AsyncLocalStorage<IrisContext>(), ofProcess: undefined });
}

/**
 * The context of the running task, or undefined outside one. Follows await, timers and callbacks started inside, and reaches the worker
 * threads and child processes that a task's process starts.
 */
export function getIrisCtx(): IrisContext | undefined {
  const state = shared();
  const own = state.storage.getStore();
  if (own !== undefined) return own;
  if (state.ofProcess === undefined) state.ofProcess = inheritedContext() ?? null;
  return state.ofProcess ?? undefined;
}

/** Runs a function, and everything it starts, inside a context. */
export function runInContext<T>(context: IrisContext, run: () => T): T {
  return shared().storage.run(context, run);
}

/** Makes a context that of the whole process or thread, whose one task it is. */
export function setProcessContext(context: IrisContext): void {
  shared().ofProcess = context;
}

/**
 * The context of the running task.
 *
 * @throws MarinError IRIS_NO_CONTEXT outside a task; says how to run inside one
 */
export function irisCtx(): IrisContext {
  const context = getIrisCtx();
  if (context !== undefined) return context;
  throw new MarinError(
    "IRIS_NO_CONTEXT",
    "This code needs a task context and runs outside one. Wrap the call in withLocalContext({}, () => ...) from @marin/iris, " +
      "or use getIrisCtx(), which returns undefined here.",
  );
}

