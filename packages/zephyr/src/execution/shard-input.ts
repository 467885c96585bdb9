import { MarinError, type Storage } from "@marin/iris";
import { mergeJoin } from "../join/merge-join.js";
import type { GroupSpec, JoinSpec } from "../plan/ops.js";
import type { ShardInput, ShardPlan } from "../plan/stage.js";
import { resolveWork } from "../plan/work.js";
import { readRecords } from "../readers/records.js";
import { readGroups } from "../shuffle/groups.js";
import { readRecordFile, type RecordRange } from "../shuffle/record-file.js";
import type { ScatteredShard } from "../shuffle/scatter.js";
import { isPromise, runOps } from "./pipeline.js";

/** What a shard reads, with the files of earlier stages in place of their numbers. */
export type ReadyInput =
  | Extract<ShardInput, { readonly kind: "items" | "iterable" | "file" }>
  | { readonly kind: "records"; readonly ranges: readonly (Pick<RecordRange, "path"> & Partial<RecordRange>)[] }
  | { readonly kind: "groups"; readonly inputs: readonly ScatteredShard[]; readonly shard: number; readonly group: GroupSpec }
  | { readonly kind: "join"; readonly left: ReadyShard; readonly right: ReadyShard; readonly join: JoinSpec };

/** A shard that can be worked on. Plain data, but for inline functions and iterables. */
export interface ReadyShard extends Pick<ShardPlan, "ops" | "numbers"> {
  readonly input: ReadyInput;
  /** For messages: the file, or the stage, that it comes from. */
  readonly label: string;
}

/** Where a shard works. */
export interface ShardPlace {
  /** Paths of files that the work needs for itself begin with this. */
  readonly prefix: string;
  /** Memory for sorting, in bytes. */
  readonly memoryBytes: number;
  readonly storage: Storage;
  readonly signal: AbortSignal | undefined;
}

/** Gives the files of stages that have ended. */
export interface EarlierStages {
  /** Records of shards `start` to `end` of a stage, in order. */
  records(stage: number, start: number, end: number): Promise<ReadyInput>;
  /** An even share of a stage's records. */
  share(stage: number, shard: number, shards: number): Promise<ReadyInput>;
  /** What a stage has scattered. */
  scattered(stage: number): Promise<readonly ScatteredShard[]>;
}

/** A shard of a plan as one that can be worked on. */
export async function readyShard({ input, ops, numbers }: ShardPlan, earlier: EarlierStages): Promise<ReadyShard> {
  return { input: await readyInput(input, earlier), ops, numbers, label: labelOf(input) };
}

async function readyInput(input: ShardInput, earlier: EarlierStages): Promise<ReadyInput> {
  switch (input.kind) {
    case "stage":
      return earlier.records(input.stage, input.start, input.end);
    case "share":
      return earlier.share(input.stage, input.shard, input.shards);
    case "groups":
      return { kind: "groups", inputs: await earlier.scattered(input.stage), shard: input.shard, group: input.group };
    case "join":
      return { kind: "join", left: await readyShard(input.left, earlier), right: await readyShard(input.right, earlier), join: input.join };
    default:
      return input;
  }
}

/** For messages: what a shard reads. */
export function labelOf(input: ShardInput): string {
  switch (input.kind) {
    case "file": {
      const { path, part } = input.file;
      return part === undefined ? path : `${path}, ${String(part.start)} to ${String(part.end)}`;
    }
    case "items":
      return `${String(input.items.length)} items`;
    case "iterable":
      return "an iterable";
    case "join":
      return `${labelOf(input.left.input)} joined with ${labelOf(input.right.input)}`;
    default:
      return `records of stage ${String(input.stage)}`;
  }
}

/** The records of a shard, after its operations. */
export async function shardRecords({ input, ops, numbers, label }: ReadyShard, place: ShardPlace): Promise<AsyncIterable<unknown>> {
  return runOps(await openInput(input, label, place), ops, numbers, place.signal);
}

async function openInput(input: ReadyInput, label: string, place: ShardPlace): Promise<AsyncIterable<unknown>> {
  const { storage, signal } = place;
  switch (input.kind) {
    case "items":
      return each(input.items);
    case "iterable":
      return input.iterate();
    case "file":
      return readRecords(input.file, { ...input.read, storage, signal });
    case "records":
      return concatenated(input.ranges, { storage, signal });
    case "groups":
      return reduced(input, place);
    case "join": {
      const { leftKey, rightKey, combiner, how } = input.join;
      return mergeJoin(await shardRecords(input.left, inside(place, "left")), await shardRecords(input.right, inside(place, "right")), {
        leftKey: await resolveWork(leftKey),
        rightKey: await resolveWork(rightKey),
        combiner: combiner === undefined ? undefined : await resolveWork(combiner),
        how,
        describe: { left: `left side, ${input.left.label} (${label})`, right: `right side, ${input.right.label} (${label})` },
        ...place,
      });
    }
  }
}

function inside(place: ShardPlace, name: string): ShardPlace {
  return { ...place, prefix: `${place.prefix}${name}-` };
}

async function* each(items: readonly unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

async function* concatenated(ranges: readonly (Pick<RecordRange, "path"> & Partial<RecordRange>)[], options: { readonly storage: Storage; readonly signal: AbortSignal | undefined }): AsyncGenerator<unknown> {
  for (const { path, ...range } of ranges) yield* readRecordFile(path, { ...range, ...options });
}

async function* reduced({ inputs, shard, group }: Extract<ReadyInput, { kind: "groups" }>, place: ShardPlace): AsyncGenerator<unknown> {
  const groups = readGroups(inputs, shard, place);
  if (group.reducer === "first") {
    for await (const { items } of groups) {
      for await (const item of items) {
        yield item;
        break;
      }
    }
    return;
  }
  const reduce = await resolveWork(group.reducer);
  for await (const { key, items } of groups) {
    if (place.signal?.aborted === true) throw place.signal.reason;
    const made = reduce(key, items);
    const result = isPromise(made) ? await made : made;
    if (!isGenerator(result)) yield result;
    else if (Symbol.asyncIterator in result) yield* result;
    else for (const record of result) yield record;
  }
}

function isGenerator(value: unknown): value is Generator<unknown> | AsyncGenerator<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { readonly next?: unknown }).next === "function" && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

/** The refusal of work that only this process can do. */
export function localSource(workers: number): MarinError {
  return new MarinError(
    "ZEPHYR_LOCAL_SOURCE",
    `A dataset made by fromAsyncIterable lives in this process and cannot be read by ${String(workers)} workers: use fromFiles or fromArray, or execute with workers: 0.`,
    { data: { workers } },
  );
}
