import { join } from "node:path";
import { MarinError } from "@marin/rigging";
import { writeParquet } from "@marin/zephyr";
import { inWorkers, type WorkerOptions } from "../in-workers.js";
import { countShardEntry } from "./count-shard.js";
import type { IndexPlace } from "./evaluation-index.js";
import type { NgramRule } from "./text-ngrams.js";

/** What {@link dropCommonNgrams} looks at. */
export interface CommonNgramsOptions extends Omit<WorkerOptions, "name"> {
  /** Paths of the shards of documents. */
  readonly paths: readonly string[];
  /** The index of all n-grams of the evaluations. */
  readonly index: IndexPlace;
  readonly rule: NgramRule;
  /** An n-gram in more different texts than this is common. */
  readonly commonAbove: number;
}

/** N-grams that no longer count. */
export interface CommonNgrams {
  /** Different n-grams dropped. */
  readonly ngrams: number;
  /** Items of which none is left: no document can give them away. */
  readonly items: number;
}

const commonFile = "common.parquet";

/**
 * Takes the n-grams out of the items that the documents themselves have often: licences, set phrases, prayers. Tells in `common.parquet` which they were: `hash`, `evaluation`, and the `documents` that hold
 * it, ascending by the first two.
 *
 * @param items - the different n-grams of each item, by its name; those dropped are deleted from it
 * @throws MarinError MARIN_NO_EVALUATIONS when none is left
 */
export async function dropCommonNgrams(items: ReadonlyMap<string, Set<bigint>>, { paths, index, rule, commonAbove, ...spread }: CommonNgramsOptions): Promise<CommonNgrams> {
  const counts = new Map<bigint, number>();
  for await (const { hashes, documents } of inWorkers(countShardEntry, paths.map((path) => ({ path, rule, ...index })), { ...spread, name: "common" })) {
    for (const [at, hash] of hashes.entries()) counts.set(hash, (counts.get(hash) ?? 0) + (documents[at] ?? 0));
  }
  const common = new Set([...counts].filter(([, documents]) => documents > commonAbove).map(([hash]) => hash));
  const rows = [...items].flatMap(([evaluation, ngrams]) => [...ngrams].filter((hash) => common.has(hash)).map((hash) => ({ hash, evaluation, documents: counts.get(hash) ?? 0 })));
  rows.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : a.evaluation < b.evaluation ? -1 : 1));
  await writeParquet(join(index.index, commonFile), rows, { schema: { hash: "uint64", evaluation: "string", documents: "uint32" } });
  let emptied = 0;
  for (const ngrams of items.values()) {
    const size = ngrams.size;
    for (const hash of ngrams) if (common.has(hash)) ngrams.delete(hash);
    if (size > 0 && ngrams.size === 0) emptied += 1;
  }
  if ([...items.values()].every(({ size }) => size === 0)) {
    throw new MarinError("MARIN_NO_EVALUATIONS", `Every n-gram of the evaluations is in more than ${String(commonAbove)} documents, so none is left to look for: raise decontaminate.commonAbove.`, { data: { commonAbove, ngrams: common.size } });
  }
  return { ngrams: common.size, items: emptied };
}
