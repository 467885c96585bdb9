import { getIrisCtx, type Logger, MarinError, parseBytes, silentLogger, type Storage } from "@marin/iris";
import type { Counters } from "../context.js";
import { currentStorage } from "../storage.js";

/** How far an execution has come. */
export interface ExecuteProgress {
  /** The stage that runs, from 0 up. */
  readonly stage: number;
  /** Stages of the plan. */
  readonly stages: number;
  /** Shards of the stage. */
  readonly shards: number;
  /** Those that are finished. */
  readonly finished: number;
  /** Those in work. */
  readonly running: number;
  /** Workers lost so far, in all stages. */
  readonly workerLosses: number;
  /** All of it in a line for people. */
  readonly text: string;
}

/** Settings of {@link execute}. */
export interface ExecuteOptions {
  /** Names the execution in logs, errors and worker processes. Default "pipeline". */
  readonly name?: string;
  /** Workers; 0 works in this process, one shard at a time. Default 0. */
  readonly workers?: number;
  /** Whether a worker is a thread of this process, or a process of its own, whose crash or want of memory harms nobody else. Default "thread". */
  readonly isolation?: "thread" | "process";
  /**
   * Directory for what stages hand over. It stays, and the next execution of the same plan takes up the shards that are finished there.
   * Default: a temporary one.
   */
  readonly scratch?: string;
  /** What a worker may hold for sorting: bytes, or text such as "256MiB". Default "256MiB". */
  readonly memoryBytes?: number | string;
  /** How many workers a shard may lose before it is taken for poisonous. Default 3. */
  readonly maxWorkerLosses?: number;
  /** Ends the execution, with its reason as the error. Default: the running task's signal. */
  readonly signal?: AbortSignal;
  /** Told whenever a shard begins, is finished, or loses its worker. */
  readonly onProgress?: (progress: ExecuteProgress) => void;
  /** A warning is logged when no shard was finished for so long. Default 600000. */
  readonly stallWarningMs?: number;
}

/** What became of a stage. */
export interface StageReport {
  /** Its place in the plan. */
  readonly stage: number;
  /** What it does. */
  readonly name: string;
  readonly shards: number;
  /** Shards that an earlier execution had finished, in the same scratch directory. */
  readonly resumed: number;
  /** Shards whose output was there already. */
  readonly skipped: number;
  /** Workers that died. */
  readonly workerLosses: number;
  /** Records that its shards have given, or written; undefined when skipped outputs do not tell. */
  readonly records: number | undefined;
  /** What its functions and readers have counted. */
  readonly counters: Counters;
}

/** What an execution gives. */
export interface ExecuteResult<T> {
  /** The items of the dataset, in order: of one that writes, what was written. */
  readonly results: T[];
  /** What was counted, in all stages together. */
  readonly counters: Counters;
  /** Each stage. */
  readonly stages: readonly StageReport[];
}

/** Settings, checked, with all defaults. */
export interface Settings {
  readonly name: string;
  readonly workers: number;
  readonly isolation: "thread" | "process";
  readonly scratch: string | undefined;
  readonly memoryBytes: number;
  readonly maxWorkerLosses: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: ExecuteProgress) => void;
  readonly stallWarningMs: number;
  readonly storage: Storage;
  readonly log: Logger;
}

/** @throws MarinError ZEPHYR_BAD_OPTION naming the option; RIGGING_BAD_SIZE */
export function settingsOf(options: ExecuteOptions): Settings {
  const { name = "pipeline", workers = 0, isolation = "thread", scratch, memoryBytes = "256MiB", maxWorkerLosses = 3, onProgress, stallWarningMs = 600_000 } = options;
  const context = getIrisCtx();
  const bytes = typeof memoryBytes === "number" ? memoryBytes : parseBytes(memoryBytes);
  requireWhole("workers", workers, 0);
  requireWhole("maxWorkerLosses", maxWorkerLosses, 0);
  requireWhole("memoryBytes", bytes, 1);
  if (!(stallWarningMs > 0)) throw badOption("stallWarningMs", stallWarningMs, "a number above 0");
  return {
    name,
    workers,
    isolation,
    scratch,
    memoryBytes: bytes,
    maxWorkerLosses,
    signal: options.signal ?? context?.signal,
    onProgress: onProgress ?? (() => undefined),
    stallWarningMs,
    storage: currentStorage(),
    log: context?.log ?? silentLogger,
  };
}

function requireWhole(option: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw badOption(option, value, `a whole number of at least ${String(least)}`);
}

function badOption(option: string, value: number, right: string): MarinError {
  return new MarinError("ZEPHYR_BAD_OPTION", `${option} is ${right}, found ${String(value)}.`, { data: { option, value } });
}
