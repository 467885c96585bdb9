import { AsyncLocalStorage } from "node:async_hooks";
import { MarinError, type Logger, createLogger } from "../platform.js";
import type { ExtensionKey, ProvidedExtension } from "./extensions.js";

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
  /** The task's log. */
  readonly log: Logger;
  /** The task's measurements. */
  readonly metrics: MetricsReporter;
  /** Aborted when the task is to stop: save what matters, clean up, return. */
  readonly signal: AbortSignal;
  /** Reports how far the task has come. */
  progress(progress: TaskProgress): void;
  /** The service offered under a key, or undefined when this context offers none. */
  extension<T>(key: ExtensionKey<T>): T | undefined;
}

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
  /** (inherited) Default: lines on standard error. */
  readonly log?: Logger;
  /** (inherited) Takes the measurements. Default: they are dropped. */
  readonly onMetrics?: MetricsReporter["report"];
  /** (inherited) Takes the progress reports. Default: they are dropped. */
  readonly onProgress?: (progress: TaskProgress) => void;
  /** Aborts the task. Default: never. The surrounding context's signal aborts it as well. */
  readonly signal?: AbortSignal;
  /** Services offered, each made by `provide`. (inherited) A key offered here hides the surrounding context's. */
  readonly extensions?: readonly ProvidedExtension[];
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

/**
 * Runs a function as the task of a job on this machine: inside it, and in everything it starts, {@link irisCtx} works.
 *
 * @param options - who the task is and what it can reach; all have defaults
 * @param run - the task; may be asynchronous
 * @returns what `run` returns
 * @throws MarinError IRIS_BAD_CONTEXT when taskIndex, numTasks or attempt do not fit each other
 */
export function withLocalContext<T>(options: LocalContextOptions, run: () => T): T {
  return storage().run(localContext(options, getIrisCtx()), run);
}

function localContext(options: LocalContextOptions, outer: IrisContext | undefined): IrisContext {
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
  return {
    jobId,
    attempt,
    taskIndex,
    numTasks,
    log: options.log ?? outer?.log ?? createLogger(),
    metrics: onMetrics !== undefined ? { report: onMetrics } : (outer?.metrics ?? { report: () => undefined }),
    signal: AbortSignal.any(signals),
    progress: onProgress ?? ((progress) => outer?.progress(progress)),
    extension: <E>(key: ExtensionKey<E>) => (offered.has(key.name) ? (offered.get(key.name) as E) : outer?.extension(key)),
  };
}
