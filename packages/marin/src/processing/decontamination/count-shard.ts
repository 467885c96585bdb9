import { entry, getIrisCtx } from "@marin/iris";
import { readShard } from "../documents-file.js";
import { type IndexPlace, openIndex } from "./evaluation-index.js";
import { type NgramRule, textNgrams } from "./text-ngrams.js";

/** A shard of documents in which n-grams of evaluations are counted. */
export interface CountTask extends IndexPlace {
  readonly path: string;
  readonly rule: NgramRule;
}

/** N-grams of evaluations that stand in a shard, ascending, and the number of documents that hold each. */
export interface CountedNgrams {
  readonly hashes: BigUint64Array;
  readonly documents: Uint32Array;
}

/** Counts the documents of a shard that hold each n-gram of the evaluations. Equal texts are one document: a copy makes nothing more common. */
export async function countShard({ path, rule, ...place }: CountTask): Promise<CountedNgrams> {
  const index = await openIndex(place);
  const counts = new Map<bigint, number>();
  let before = "";
  for await (const { id, text } of readShard(path, getIrisCtx()?.signal)) {
    // Documents lie in the order of their ids, so those with one text lie together.
    if (id === before) continue;
    before = id;
    const { hashes } = textNgrams(text, rule);
    const called = index.filter.hasHashes(hashes);
    if (!called.includes(1)) continue;
    const known = await index.owners();
    for (const hash of new Set(hashes.filter((_, at) => called[at] === 1))) if (known.of(hash).length > 0) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  const hashes = BigUint64Array.from(counts.keys()).sort();
  return { hashes, documents: Uint32Array.from(hashes, (hash) => counts.get(hash) ?? 0) };
}

export const countShardEntry = entry<typeof countShard>(import.meta.url, "countShard");
