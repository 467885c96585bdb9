import type { ReadOptions } from "../readers/format.js";
import type { FromFilesOptions } from "../sources.js";

/** What a dataset can be made from in this process. */
export type DatasetSource<T> = AsyncIterable<T> | Iterable<T>;

/** How the files of a source are read: plain data. */
export type ReadSettings = Omit<ReadOptions, "storage" | "signal">;

/** Where the records of a dataset come from. */
export type Source =
  | { readonly kind: "items"; readonly items: readonly unknown[]; readonly shards: number }
  | { readonly kind: "iterable"; readonly iterate: () => AsyncIterable<unknown> }
  | { readonly kind: "files"; readonly patterns: readonly string[]; readonly options: FromFilesOptions };
