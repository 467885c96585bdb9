import type { SourceFile } from "../readers/format.js";
import type { WriteSpec } from "../writers/write-spec.js";
import type { GroupSpec, JoinSpec, ShardOp } from "./ops.js";
import type { ReadSettings } from "./source.js";
import type { AnyWork } from "./work.js";

/** What a shard of a stage reads. */
export type ShardInput =
  | { readonly kind: "items"; readonly items: readonly unknown[] }
  | { readonly kind: "iterable"; readonly iterate: () => AsyncIterable<unknown> }
  | { readonly kind: "file"; readonly file: SourceFile; readonly read: ReadSettings }
  /** Shards of an earlier stage, from `start` up to, not including, `end`, one after the other. */
  | { readonly kind: "stage"; readonly stage: number; readonly start: number; readonly end: number }
  /** The groups that an earlier stage has scattered to this shard. */
  | { readonly kind: "groups"; readonly stage: number; readonly shard: number; readonly group: GroupSpec }
  /** An even share of all records of an earlier stage, in their order. */
  | { readonly kind: "share"; readonly stage: number; readonly shard: number; readonly shards: number }
  | { readonly kind: "join"; readonly left: ShardPlan; readonly right: ShardPlan; readonly join: JoinSpec };

/** An operation of a shard in a stage: one of the dataset, or a part of one. */
export type StageOp = ShardOp | { readonly kind: "fold"; readonly work: AnyWork };

/** From which operation on a shard has which number: it changes behind a union. */
export interface ShardNumber {
  /** Index of the first operation that it holds for. */
  readonly from: number;
  readonly shard: number;
  readonly shards: number;
}

/** What is done for one shard of a stage. */
export interface ShardPlan {
  readonly input: ShardInput;
  /** Shards that do the same share one array. */
  readonly ops: readonly StageOp[];
  readonly numbers: readonly ShardNumber[];
}

/** What becomes of the records of a stage's shards. */
export type StageOutput =
  /** Handed over to the next stage, or the results. With `enough`, shards are not needed behind the first ones that have so many records together. */
  | { readonly kind: "records"; readonly enough?: number }
  /** Written to the user's files, one for each shard; the records are then what was written. */
  | { readonly kind: "write"; readonly write: WriteSpec; readonly paths: readonly string[] }
  /** Sent to the shards of the next stage by their keys. */
  | { readonly kind: "scatter"; readonly group: GroupSpec; readonly shards: number };

/** A part of a plan whose shards do not need each other. It begins when all stages before it have ended. */
export interface Stage {
  /** Its place in the plan, from 0 up. */
  readonly index: number;
  /** What it does, in a few words. */
  readonly name: string;
  readonly shards: readonly ShardPlan[];
  readonly output: StageOutput;
}

/** How a dataset is executed: stages in order, the last of which gives the results. Plain data, but for inline functions and iterables. */
export interface Plan {
  readonly stages: readonly Stage[];
}
