import { MarinError } from "@marin/iris";
import { iterate } from "./execution/iterate.js";
import { type Expr, isExpr } from "./expr/expr.js";
import { builtin } from "./plan/builtin.js";
import type { Op } from "./plan/ops.js";
import type { DatasetSource, Source } from "./plan/source.js";
import type { Work } from "./plan/work.js";
import type { ShuffleKey } from "./shuffle/types.js";
import type { FromFilesOptions } from "./sources.js";
import {
  arrowSpec,
  jsonlSpec,
  parquetSpec,
  tokensSpec,
  type WriteArrowOptions,
  type WriteOptions,
  type WriteParquetOptions,
  type WriteTokenCacheOptions,
  type WrittenFile,
} from "./writers/write-spec.js";

export type { DatasetSource } from "./plan/source.js";

/** Which shard a function of {@link Dataset.mapShard} works on. */
export interface ShardInfo {
  /** From 0 up. */
  readonly shard: number;
  /** How many there are. */
  readonly shards: number;
}

/** Settings of {@link Dataset.groupBy}. */
export interface GroupByOptions<T> {
  /** The order of the items in a group, ascending by this. Default: that of the shards, and in each that of its items. */
  readonly sortBy?: Work<[item: T], unknown>;
  /**
   * Makes one item, of the same kind, of two before they travel: associative, and indifferent to how often it was applied. Saves space where many items have
   * one key. Default: every item travels.
   */
  readonly combiner?: Work<[first: T, second: T], unknown>;
  /** Shards of the groups, at least 1. Default: as many as before. */
  readonly numOutputShards?: number;
}

/** Settings of {@link Dataset.sortedMergeJoin}. */
export interface JoinOptions<L, R, U> {
  /** The key of a left item; the left items of a shard ascend by it. */
  readonly leftKey: Work<[item: L], unknown>;
  /** The key of a right item; the right items of a shard ascend by it. */
  readonly rightKey: Work<[item: R], unknown>;
  /** Makes an item of a pair; `right` is null where there is none. Default: the fields of both, of equal names the right one's. */
  readonly combiner?: Work<[left: L, right: R | null], U>;
  /** Whether a left item without a partner is left out or kept. Default "inner". */
  readonly how?: "inner" | "left";
}

/** A record with some of its fields. */
export type Selected<T, K extends string> = { readonly [Column in K]: Column extends keyof T ? T[Column] : unknown };

/** What {@link Dataset.window} learns of an item. */
export interface WindowStep<S> {
  /** Whether the item belongs to the window that is open; else it begins the next one. */
  readonly fits: boolean;
  /** What is known of the window with the item in it. */
  readonly state: S;
}

/**
 * A lazy sequence of items in shards. Each operation gives a new dataset and does nothing by itself. Iterating runs all of them in this
 * process, shard by shard, in order, one item at a time; `execute` runs them with workers. A dataset can be iterated again when its source can.
 *
 * Functions are written inline, or named by their module (`entry`, {@link bind}), which workers need.
 */
export class Dataset<T> implements AsyncIterable<T> {
  /** Where the items come from. */
  readonly source: Source;
  /** What is done with them, in order. */
  readonly ops: readonly Op[];

  private constructor(source: Source, ops: readonly Op[]) {
    this.source = source;
    this.ops = ops;
  }

  /**
   * A dataset of the array's items.
   *
   * @param items - plain data, where workers are to work on them
   * @param options - `shards`, default 1: each gets an equal part, in order
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  static fromArray<T>(items: readonly T[], options: { readonly shards?: number } = {}): Dataset<T> {
    const { shards = 1 } = options;
    requireCount("fromArray", shards, 1);
    return new Dataset<T>({ kind: "items", items, shards }, []);
  }

  /**
   * A dataset of what a source gives: a reader, an array, a set, a generator. One shard, in this process only.
   *
   * @throws MarinError ZEPHYR_CONSUMED when iterating a dataset for the second time whose source, such as a generator,
   * gives its items only once
   */
  static fromAsyncIterable<T>(source: DatasetSource<T>): Dataset<T> {
    let consumed = false;
    return new Dataset<T>(
      {
        kind: "iterable",
        async *iterate() {
          const iterator: unknown = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
          if (iterator === source) {
            if (consumed) {
              throw new MarinError("ZEPHYR_CONSUMED", "This dataset was iterated already and its source gives its items only once: make it from an array or a reader instead.");
            }
            consumed = true;
          }
          yield* source;
        },
      },
      [],
    );
  }

  /**
   * A dataset of the records of files, each a shard, in the order of their paths. The files are looked up when the dataset is executed, iterated or planned.
   *
   * @param patterns - paths on any storage, with `*`, `**`, `{a,b}` and `{00..15}`
   * @param options - the format where names do not tell it, columns, what to do with bad records
   * @throws MarinError, when it runs: ZEPHYR_NO_FILES, ZEPHYR_UNKNOWN_FORMAT, and what the readers throw
   */
  static fromFiles<T = unknown>(patterns: string | readonly string[], options: FromFilesOptions = {}): Dataset<T> {
    return new Dataset<T>({ kind: "files", patterns: typeof patterns === "string" ? [patterns] : [...patterns], options }, []);
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return iterate(this) as AsyncIterator<T>;
  }

  /** Each item replaced by what the function returns; a promise is awaited before the next item is asked for. `index` counts in the shard. */
  map<U>(transform: Work<[item: T, index: number], U>): Dataset<U> {
    return this.#with({ kind: "map", work: transform });
  }

  /** Each item replaced by the items the function returns, none or many. */
  flatMap<U>(expand: Work<[item: T, index: number], DatasetSource<U>>): Dataset<U> {
    return this.#with({ kind: "flatMap", work: expand });
  }

  /**
   * The items for which the function returns true, or the expression is true. What an expression right behind {@link Dataset.fromFiles} rules out
   * by a Parquet file's statistics is not read.
   */
  filter(keep: Expr | Work<[item: T, index: number], boolean>): Dataset<T> {
    return this.#with(isExpr(keep) ? { kind: "filter", expr: keep.node } : { kind: "filter", work: keep });
  }

  /** Records with these fields alone, in this order; a field that a record lacks is absent. Right behind {@link Dataset.fromFiles} only these columns are read. */
  select<K extends string>(...columns: K[]): Dataset<Selected<T, K>> {
    return this.#with({ kind: "select", columns });
  }

  /** The items of each shard replaced by those that the function makes of all of them: a generator that sees them one after the other. */
  mapShard<U>(transform: Work<[items: AsyncIterable<T>, info: ShardInfo], DatasetSource<U>>): Dataset<U> {
    return this.#with({ kind: "mapShard", work: transform });
  }

  /**
   * Items worked on `size` at a time: each batch replaced by the items that the function returns. The last batch of a shard may be shorter.
   *
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  mapBatches<U>(transform: Work<[batch: T[], index: number], DatasetSource<U>>, options: { readonly size: number }): Dataset<U> {
    requireCount("mapBatches", options.size, 1);
    return this.batch(options.size).flatMap(transform);
  }

  /**
   * Items gathered into arrays of `size`; the last one of a shard may be shorter.
   *
   * @param size - at least 1
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  batch(size: number): Dataset<T[]> {
    requireCount("batch", size, 1);
    return this.#with({ kind: "batch", size });
  }

  /**
   * Consecutive items gathered into arrays for as long as they fit: files up to a number of bytes, lines of one document.
   *
   * @param initial - what is known of a window without items; plain data
   * @param fold - told that and an item, says whether it fits, and what is known then. The first item of a window is always taken
   */
  window<S>(initial: S, fold: Work<[state: S, item: T], WindowStep<S>>): Dataset<T[]> {
    return this.#with({ kind: "window", initial, fold });
  }

  /**
   * The first items of each shard. The rest is not read.
   *
   * @param count - at least 0
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  takePerShard(count: number): Dataset<T> {
    requireCount("takePerShard", count, 0);
    return this.#with({ kind: "takePerShard", count });
  }

  /**
   * The first items, as one shard. The source is closed after them: the rest is not read.
   *
   * @param count - at least 0
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  take(count: number): Dataset<T> {
    requireCount("take", count, 0);
    return this.#with({ kind: "take", count });
  }

  /**
   * About this fraction of the items, chosen by the seed and each item's place alone: always the same ones.
   *
   * @param options - `fraction` from 0 to 1; `seed` a whole number
   * @throws MarinError ZEPHYR_BAD_FRACTION, ZEPHYR_BAD_COUNT
   */
  sample(options: { readonly fraction: number; readonly seed: number }): Dataset<T> {
    const { fraction, seed } = options;
    if (!(fraction >= 0 && fraction <= 1)) throw new MarinError("ZEPHYR_BAD_FRACTION", `sample() needs a fraction from 0 to 1, found ${String(fraction)}.`, { data: { fraction } });
    requireCount("sample", seed, 0);
    return this.#with({ kind: "sample", fraction, seed });
  }

  /**
   * The same items in this many shards of equal size, in order.
   *
   * @param shards - at least 1
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  reshard(shards: number): Dataset<T> {
    requireCount("reshard", shards, 1);
    return this.#with({ kind: "reshard", shards });
  }

  /** These items, then those of the other datasets; their shards one after the other. */
  union<U>(...others: Dataset<U>[]): Dataset<T | U> {
    return this.#with({ kind: "union", others });
  }

  /**
   * Items with equal keys brought together, and each group made into records. A key has the same shard always. In a shard groups come in the order of their keys' bytes.
   *
   * @param key - JSON values, bigint, Date, bytes; equal when their canonical bytes are
   * @param reducer - gets a key and the items with it; the items of a generator it returns are flattened, anything else is one record
   * @param options - see {@link GroupByOptions}
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  groupBy<K extends ShuffleKey, U>(key: Work<[item: T], K>, reducer: Work<[key: K, items: AsyncIterable<T>], Generator<U> | AsyncGenerator<U> | U>, options: GroupByOptions<T> = {}): Dataset<U> {
    const { sortBy, combiner, numOutputShards } = options;
    if (numOutputShards !== undefined) requireCount("groupBy", numOutputShards, 1);
    return this.#with({ kind: "groupBy", group: { key, reducer, sortBy, combiner }, numOutputShards });
  }

  /**
   * The first item of each key, in the order of the shards and of the items in them; its shard is that of the key.
   *
   * @param key - as that of {@link Dataset.groupBy}
   * @param options - `numOutputShards`, default: as many as before
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  deduplicate(key: Work<[item: T], ShuffleKey>, options: { readonly numOutputShards?: number } = {}): Dataset<T> {
    const { numOutputShards } = options;
    if (numOutputShards !== undefined) requireCount("deduplicate", numOutputShards, 1);
    return this.#with({ kind: "deduplicate", group: { key, reducer: "first", sortBy: undefined, combiner: "first" }, numOutputShards });
  }

  /**
   * One value of all items.
   *
   * @param local - makes a value of a shard's items
   * @param global - makes one of all shards' values, in the shards' order
   */
  reduce<L, G>(local: Work<[items: AsyncIterable<T>], L>, global: Work<[values: AsyncIterable<L>], G>): Dataset<G> {
    return this.#with({ kind: "reduce", local, global });
  }

  /** How many items there are, as a dataset of that one number. */
  count(): Dataset<number> {
    return this.#with({ kind: "count", local: builtin.countRecords, global: builtin.sumNumbers });
  }

  /**
   * Joins each shard with the shard of the same number of another dataset. Both ascend by their keys in each shard, and have as many shards: group
   * them by the key before. Every pair of equal keys gives an item.
   *
   * @throws MarinError, when it runs: ZEPHYR_UNEQUAL_SHARDS; ZEPHYR_UNSORTED naming the side, the shard and both keys
   */
  sortedMergeJoin<R, U = T & R>(right: Dataset<R>, options: JoinOptions<T, R, U>): Dataset<U> {
    const { leftKey, rightKey, combiner, how = "inner" } = options;
    return this.#with({ kind: "sortedMergeJoin", right, join: { leftKey, rightKey, combiner, how } });
  }

  /**
   * Writes each shard as a JSON Lines file, whole or not at all.
   *
   * @param pattern - `out/{shard:05d}-of-{total:05d}.jsonl.gz`, `out/{basename}.jsonl`; packed as its ending says
   * @param options - `skipExisting`
   * @throws MarinError ZEPHYR_BAD_PATTERN
   */
  writeJsonl(pattern: string, options: WriteOptions = {}): Dataset<WrittenFile> {
    return this.#with({ kind: "write", write: jsonlSpec(pattern, options) });
  }

  /**
   * Writes each shard as a Parquet file, whole or not at all. A shard without records is a file without rows.
   *
   * @param pattern - as that of {@link Dataset.writeJsonl}
   * @param options - the schema, else inferred, one for all files; row groups, compression; `skipExisting`
   * @throws MarinError ZEPHYR_BAD_PATTERN, ZEPHYR_BAD_SCHEMA
   */
  writeParquet(pattern: string, options: WriteParquetOptions = {}): Dataset<WrittenFile> {
    return this.#with({ kind: "write", write: parquetSpec(pattern, options) });
  }

  /**
   * Writes each shard as an Arrow IPC file, whole or not at all.
   *
   * @param pattern - as that of {@link Dataset.writeJsonl}
   * @param options - the schema, else inferred; `skipExisting`
   * @throws MarinError ZEPHYR_BAD_PATTERN, ZEPHYR_BAD_SCHEMA
   */
  writeArrow(pattern: string, options: WriteArrowOptions = {}): Dataset<WrittenFile> {
    return this.#with({ kind: "write", write: arrowSpec(pattern, options) });
  }

  /**
   * Writes each shard with a writer of the user's: a token cache, or any other format.
   *
   * @param pattern - as that of {@link Dataset.writeJsonl}
   * @param options - what makes a shard's writer; `skipExisting`
   * @throws MarinError ZEPHYR_BAD_PATTERN
   */
  writeTokenCache(pattern: string, options: WriteTokenCacheOptions<T>): Dataset<WrittenFile> {
    return this.#with({ kind: "write", write: tokensSpec(pattern, options) });
  }

  /** All items, in memory. */
  async toArray(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  #with<U>(op: Op): Dataset<U> {
    return new Dataset<U>(this.source, [...this.ops, op]);
  }
}

function requireCount(operation: string, count: number, least: number): void {
  if (Number.isSafeInteger(count) && count >= least) return;
  throw new MarinError("ZEPHYR_BAD_COUNT", `${operation}() needs a whole number of at least ${String(least)}, found ${String(count)}.`, { data: { operation, count } });
}
