import { isMarinError, MarinError } from "@marin/iris";
import type { Counters } from "../context.js";
import type { GroupSpec } from "../plan/ops.js";
import { type AnyWork, resolveWork, type WorkFunction } from "../plan/work.js";
import { isLocal } from "../readers/chunks.js";
import { type RecordFile, writeRecordFile } from "../shuffle/record-file.js";
import { scatter, type ScatteredShard } from "../shuffle/scatter.js";
import { type WriteSpec, writeShard, type WrittenFile } from "../writers/write-spec.js";
import { type ReadyShard, type ShardPlace, shardRecords } from "./shard-input.js";

/** One attempt at one shard of a stage. */
export interface ShardTask {
  /** Names the execution among all. */
  readonly run: string;
  /** Name of the execution, in messages. */
  readonly name: string;
  readonly stage: number;
  readonly shard: number;
  /** Shards of the stage. */
  readonly shards: number;
  /** Unique among all attempts at this shard, those of earlier executions included. */
  readonly attempt: string;
  readonly work: ReadyShard;
  readonly output: TaskOutput;
  /** Begins the paths of the attempt's files. */
  readonly prefix: string;
  readonly memoryBytes: number;
}

/** Where a shard's records go. */
export type TaskOutput =
  | { readonly kind: "records" }
  | { readonly kind: "write"; readonly write: WriteSpec; readonly path: string }
  | { readonly kind: "scatter"; readonly group: GroupSpec; readonly shards: number };

/** What a shard has given: plain JSON. */
export type ShardOutput =
  | { readonly kind: "records"; readonly file: RecordFile & { readonly bytes: number } }
  | { readonly kind: "write"; readonly file: WrittenFile }
  | { readonly kind: "scatter"; readonly scattered: ScatteredShard };

/** What an attempt gives back. */
export interface ShardOutcome {
  readonly stage: number;
  readonly shard: number;
  readonly attempt: string;
  readonly output: ShardOutput;
  readonly counters: Counters;
}

/** Lines of a stack that travel with an error. */
const stackLines = 12;

/**
 * Works on a shard.
 *
 * @throws MarinError ZEPHYR_SHARD_FAILED with what went wrong as its cause; the signal's reason
 */
export async function runShardTask(task: ShardTask, place: Pick<ShardPlace, "storage" | "signal">): Promise<ShardOutput> {
  const { signal } = place;
  signal?.throwIfAborted();
  try {
    return await workOn(task, place);
  } catch (cause) {
    signal?.throwIfAborted();
    throw shardFailed(task, cause);
  }
}

async function workOn({ work, output, prefix, memoryBytes, stage }: ShardTask, { storage, signal }: Pick<ShardPlace, "storage" | "signal">): Promise<ShardOutput> {
  const records = await shardRecords(work, { prefix: `${prefix}in-`, memoryBytes, storage, signal });
  switch (output.kind) {
    case "records":
      return { kind: "records", file: await writeRecordFile(`${prefix}records`, records, { storage, signal }) };
    case "write":
      return { kind: "write", file: await writeShard(output.write, output.path, records, { storage, signal, source: work.label, scratch: localDirectory(prefix) }) };
    case "scatter": {
      const { key, sortBy, combiner } = output.group;
      const scattered = await scatter(records, {
        key: await resolveWork(key),
        sortBy: await optional(sortBy),
        combiner: combiner === "first" ? combiner : await optional(combiner),
        shards: output.shards,
        source: `${work.label} (stage ${String(stage)})`,
        prefix: `${prefix}out-`,
        memoryBytes,
        storage,
        signal,
      });
      return { kind: "scatter", scattered };
    }
  }
}

/** Writers keep records on the local disk only: where the scratch directory is elsewhere, in the system's temporary one. */
function localDirectory(prefix: string): string | undefined {
  return isLocal(prefix) ? prefix : undefined;
}

async function optional(work: AnyWork | undefined): Promise<WorkFunction | undefined> {
  return work === undefined ? undefined : resolveWork(work);
}

function shardFailed({ name, stage, shard, shards, work }: ShardTask, cause: unknown): MarinError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  // A stack does not travel with an error between processes: its text does.
  const stack = cause instanceof Error ? (cause.stack ?? "").split("\n").filter((line) => line.startsWith("    at ")).slice(0, stackLines) : [];
  const frame = stack[0]?.trim();
  const where = isMarinError(cause) || frame === undefined ? "" : ` (${frame})`;
  return new MarinError("ZEPHYR_SHARD_FAILED", `"${name}" failed in stage ${String(stage)} at shard ${String(shard)} of ${String(shards)} (${work.label}): ${reason}${where}`, {
    data: { name, stage, shard, shards, input: work.label, frame, stack: stack.join("\n") },
    cause,
  });
}
