/**
 * Which of the documents that are duplicates of each other stays:
 * * "central": the one with the most near duplicates, then with the most text that others have too, then the longest, then that of the smallest id. Finds the
 *   most: of two copies edited apart, both are like what they were made of.
 * * "longest": the longest, then that of the smallest id.
 * * "first": the first one in the order given; the only policy under which that order matters.
 * * "none": none of them: each document that has a duplicate goes.
 */
export type KeepPolicy = "central" | "longest" | "first" | "none";

/** A document that can go, and the one that says the same. */
export interface RemovedDocument {
  /** Index of the document among the input. */
  readonly index: number;
  /** Index of the document it is a duplicate of: one that stays, unless the policy is "none". Among the reference documents where there are any. */
  readonly duplicateOf: number;
  /** "exact": the other's text is the same; "near": it was compared and found similar. */
  readonly reason: "exact" | "near";
  /** Jaccard similarity of the two sets of three-word shingles; 1 where only case, punctuation or white space differ. Without verification the signatures' estimate of the preset's shingles. */
  readonly similarity: number;
}

/** What was found. */
export interface Duplicates {
  /** In the order of the input. */
  readonly removed: readonly RemovedDocument[];
  /** Groups of documents of which one would stay. */
  readonly clusters: number;
  /** Pairs of different texts that were compared. */
  readonly candidates: number;
  /** Those of them that were found to be near duplicates. */
  readonly verified: number;
}

/** @throws RangeError for another word */
export function checkKeep(keep: KeepPolicy): void {
  const policies: readonly string[] = ["central", "longest", "first", "none"];
  if (!policies.includes(keep)) throw new RangeError(`keep is one of ${policies.join(", ")}, found ${JSON.stringify(keep)}.`);
}

/** Completes what was removed: in the order of the input, and under the policy "none" with the documents for which others went. */
export function duplicatesOf(removed: readonly RemovedDocument[], keep: KeepPolicy, compared: { readonly candidates: number; readonly verified: number }): Duplicates {
  const clusters = new Map<number, RemovedDocument>();
  for (const document of removed) {
    const best = clusters.get(document.duplicateOf);
    if (best === undefined || document.similarity > best.similarity || (document.similarity === best.similarity && document.index < best.index)) clusters.set(document.duplicateOf, document);
  }
  const others = keep === "none" ? Array.from(clusters.values(), (document) => ({ ...document, index: document.duplicateOf, duplicateOf: document.index })) : [];
  return { removed: [...removed, ...others].sort((a, b) => a.index - b.index), clusters: clusters.size, ...compared };
}
