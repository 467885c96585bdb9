import { checkKeep, type Duplicates, duplicatesOf, type KeepPolicy, type RemovedDocument } from "./duplicates.js";

/** A document for {@link findExactDuplicates}. */
export interface HashedDocument {
  /** Names the document; different from every other's. */
  readonly id: string;
  /** Equal for equal texts, as `contentHash` gives it. */
  readonly hash: string;
}

/**
 * Finds the documents whose hashes are equal. All that `findDuplicates` does besides is left out, so hashes are all that is needed of the texts.
 *
 * @param documents - the documents
 * @param options - `keep`: which one stays; equal texts are equally long and alike, so "central" and "longest" leave that of the smallest id. Default "central"
 * @throws RangeError for two documents of one id, or an unknown policy
 */
export function findExactDuplicates(documents: readonly HashedDocument[], options: { readonly keep?: KeepPolicy } = {}): Duplicates {
  const { keep = "central" } = options;
  checkKeep(keep);
  const ids = new Set<string>();
  const kept = new Map<string, number>();
  for (const [index, { id, hash }] of documents.entries()) {
    if (ids.size === ids.add(id).size) throw new RangeError(`Every document has an id of its own; ${JSON.stringify(id)} occurs twice.`);
    const other = kept.get(hash);
    if (other === undefined || (keep !== "first" && id < (documents[other]?.id ?? ""))) kept.set(hash, index);
  }
  const removed = documents.flatMap(({ hash }, index): RemovedDocument[] => {
    const duplicateOf = kept.get(hash) ?? index;
    return duplicateOf === index ? [] : [{ index, duplicateOf, reason: "exact", similarity: 1 }];
  });
  return duplicatesOf(removed, keep, { candidates: 0, verified: 0 });
}
