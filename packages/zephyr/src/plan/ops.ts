import type { ExprNode } from "../expr/types.js";
import type { WriteSpec } from "../writers/write-spec.js";
import type { Source } from "./source.js";
import type { AnyWork } from "./work.js";

/** What a dataset is made of, whatever its items are. */
export interface AnyDataset {
  readonly source: Source;
  readonly ops: readonly Op[];
}

/** An operation that works on a shard alone: such operations are fused, they run in one pass over the shard. */
export type ShardOp =
  | { readonly kind: "map"; readonly work: AnyWork }
  | { readonly kind: "flatMap"; readonly work: AnyWork }
  | { readonly kind: "filter"; readonly work: AnyWork }
  | { readonly kind: "filter"; readonly expr: ExprNode }
  | { readonly kind: "select"; readonly columns: readonly string[] }
  | { readonly kind: "mapShard"; readonly work: AnyWork }
  | { readonly kind: "batch"; readonly size: number }
  | { readonly kind: "window"; readonly initial: unknown; readonly fold: AnyWork }
  | { readonly kind: "takePerShard"; readonly count: number }
  | { readonly kind: "sample"; readonly fraction: number; readonly seed: number };

/** How items of a shard are joined with those of the same shard of another dataset. */
export interface JoinSpec {
  readonly leftKey: AnyWork;
  readonly rightKey: AnyWork;
  /** Makes a record of a left and a right one. Undefined: the fields of both, the right ones winning. */
  readonly combiner: AnyWork | undefined;
  /** Whether left items without a partner are dropped or kept. */
  readonly how: "inner" | "left";
}

/** How items are gathered into groups. */
export interface GroupSpec {
  readonly key: AnyWork;
  /** Makes records of a group; "first": the first of its records. */
  readonly reducer: AnyWork | "first";
  readonly sortBy: AnyWork | undefined;
  /** Makes one record of two before they travel; "first": the first of them. */
  readonly combiner: AnyWork | "first" | undefined;
}

/** An operation that looks across shards. */
export type CrossShardOp =
  | { readonly kind: "take"; readonly count: number }
  | { readonly kind: "reshard"; readonly shards: number }
  | { readonly kind: "union"; readonly others: readonly AnyDataset[] }
  | { readonly kind: "groupBy" | "deduplicate"; readonly group: GroupSpec; /** Undefined: as many as there were. */ readonly numOutputShards: number | undefined }
  | { readonly kind: "reduce" | "count"; readonly local: AnyWork; readonly global: AnyWork }
  | { readonly kind: "sortedMergeJoin"; readonly right: AnyDataset; readonly join: JoinSpec }
  | { readonly kind: "write"; readonly write: WriteSpec };

/** One operation of a dataset, as plain data but for inline functions. */
export type Op = ShardOp | CrossShardOp;
