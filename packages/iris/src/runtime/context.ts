import { AsyncLocalStorage } from "node:async_hooks";
import { MarinError, type Logger, type SecretStore } from "../platform.js";
import type { Resources } from "../jobs/job-spec.js";
import type { Registry } from "./endpoints.js";
import type { ExtensionKey } from "./extensions.js";

/** How far a task has come. */
export interface TaskProgress {
  /** Units done. */
  readonly done: number;
  /** Units in all, where known. */
  readonly total?: number;
  /** What is counted: "steps", "documents". */
  readonly unit: string;
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
  /** Secrets by name. */
  readonly secrets: SecretStore;
  /** Where tasks find each other. */
  readonly registry: Registry;
  /** Reports how far the task has come. */
  progress(progress: TaskProgress): void;
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

const storageKey = Symbol.for("marin.iris.context");

/** On the global object, so that two copies of this package in one process see the same context. */
function storage(): AsyncLocalStorage<IrisContext> {
  const holder = globalThis as { [storageKey]?: AsyncLocalStorage<IrisContext> };
  return (holder[storageKey] ??= new AsyncLocalStorage<IrisContext>());
}

/** The context of the running task, or undefined outside one. Follows await, timers and callbacks started inside. */
export function getIrisCtx(): IrisContext | undefined {
  return storage().getStore();
}

/** Runs a function, and everything it starts, inside a context. */
export function runInContext<T>(context: IrisContext, run: () => T): T {
  return storage().run(context, run);
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

