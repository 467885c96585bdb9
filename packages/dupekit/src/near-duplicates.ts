import { connectedComponents } from "./connected-components.js";
import { checkKeep, type Duplicates, duplicatesOf, type KeepPolicy, type RemovedDocument } from "./duplicates.js";
import { collapse, entriesOf, type Entry, type Rank, rankOf, type SketchedDocument } from "./entries.js";
import type { Preset } from "./presets.js";
import { jaccard } from "./shingle.js";
import { type PairSettings, SimilarPairs } from "./similar-pairs.js";

/** Settings of {@link findDuplicatesAgainst}. */
export interface CompareOptions {
  /**
   * How candidates are found: pairs that share a band of this preset's signatures, which the sketches must carry (`sketchText(text, { preset })`). Default none: pairs that share a band of 96 of 2 rows of the signatures of their
   * rare shingles, which finds copies of one word in ten changed, also where most of the text is boilerplate.
   */
  readonly preset?: Preset | undefined;
  /** Whether candidates are compared by their words, so that only near duplicates go. `false` takes the preset's candidates as they are, accidents and templates included; needs a preset. Default true. */
  readonly verify?: boolean | undefined;
  /** Least Jaccard similarity of the sets of three-word shingles, above 0 and up to 1. One word in ten changed leaves about 0.57. Default 0.35. */
  readonly minSimilarity?: number | undefined;
  /** A shingle in more documents than this can be boilerplate, and speaks for no similarity on its own. At least 1. Default 8. */
  readonly commonAbove?: number | undefined;
  /** Chooses the hash functions of the signatures of rare shingles, an unsigned 32-bit number. Default 42. */
  readonly seed?: number | undefined;
}

/** Settings of {@link findDuplicates}. */
export interface DuplicateOptions extends CompareOptions {
  /** Which one of several duplicates stays. Default "central". */
  readonly keep?: KeepPolicy | undefined;
  /**
   * What holds a cluster together. "direct": a document goes only for one that stays and that it was found to be a duplicate of. "transitive": the connected components of all pairs, as other pipelines
   * have it: a duplicate of a duplicate goes too, however little it is like the one that stays. Default "direct".
   */
  readonly link?: "direct" | "transitive" | undefined;
}

/** How many times as long as the kept document one that is removed can be. */
const longest = 1.5;

/**
 * Finds exact and near duplicates, and decides which of them are kept.
 *
 * Candidates come from MinHash signatures cut into bands; every pair is then compared by its real shingles, and words (see
 * `compare`). A document half as long again as the kept one is never removed for it. The result depends on the documents and options alone, not on their order (but for the policy "first").
 *
 * Time and memory grow linearly with the text: a bucket of rare shingles holds at most `commonAbove` documents, one of a preset's signatures is used up to 32, and
 * documents that mostly consist of common shingles are compared with at most 8 kept ones more.
 *
 * @throws RangeError when an option is out of range, two documents have one id, or a sketch has no signature of the preset
 */
export function findDuplicates(documents: readonly SketchedDocument[], options: DuplicateOptions = {}): Duplicates {
  const { keep = "central", link = "direct" } = options;
  checkKeep(keep);
  if (!["direct", "transitive"].includes(link)) throw new RangeError(`link is "direct" or "transitive", found ${JSON.stringify(link)}.`);
  const settings = checked(options, documents);
  const { representatives, copies } = collapse(entriesOf(documents), rankOf(keep));
  const pairs = new SimilarPairs(representatives, settings);
  const order = [...representatives].sort(orderOf(keep, pairs));
  const direct = keepOneByOne(order, pairs, () => true);
  const removed = link === "direct" ? direct : keepOfComponents(representatives, order, pairs);
  return duplicatesOf(withCopies(removed, copies), keep, pairs);
}

/**
 * A against B: finds the documents that are exact or near duplicates of a reference document. The documents are not compared with each other, and the reference documents never go: a new crawl against what
 * is there already, training text against a benchmark.
 *
 * @param documents - of which some go
 * @param reference - of which none goes; ids may be those of the documents
 * @param options - as for `findDuplicates`
 * @returns `duplicateOf` is an index among the reference
 * @throws RangeError when an option is out of range, two documents (or two reference documents) have one id, or a sketch has no signature of the preset
 */
export function findDuplicatesAgainst(documents: readonly SketchedDocument[], reference: readonly SketchedDocument[], options: CompareOptions = {}): Duplicates {
  const settings = checked(options, [...documents, ...reference]);
  const rank = rankOf("longest");
  const { representatives, copies } = collapse(entriesOf(documents, reference), rank);
  const pairs = new SimilarPairs(representatives, settings);
  const removed = keepOneByOne([...representatives].sort(rank), pairs, ({ isReference }) => isReference);
  const all = withCopies(removed, copies, ({ isReference }) => isReference);
  return duplicatesOf(all, "longest", pairs);
}

interface Kept {
  readonly entry: Entry;
  readonly similarity: number;
}

function checked(options: CompareOptions, documents: readonly SketchedDocument[]): PairSettings {
  const { minSimilarity = 0.35, commonAbove = 8, seed = 42, preset, verify = true } = options;
  if (!(minSimilarity > 0 && minSimilarity <= 1)) throw new RangeError(`minSimilarity is above 0 and at most 1, found ${String(minSimilarity)}.`);
  if (!Number.isSafeInteger(commonAbove) || commonAbove < 1) throw new RangeError(`commonAbove is a whole number of at least 1, found ${String(commonAbove)}.`);
  if (!verify && preset === undefined) throw new RangeError("Without verification a preset says which documents are alike: give one, or leave verify at true.");
  if (preset !== undefined) {
    for (const { id, sketch } of documents) {
      if (sketch.signature?.preset === preset.name) continue;
      const found = sketch.signature === undefined ? "has no signature" : `has a signature of the preset ${JSON.stringify(sketch.signature.preset)}`;
      throw new RangeError(`Document ${JSON.stringify(id)} ${found}; the preset is ${JSON.stringify(preset.name)}: sketch it by sketchText(text, { preset }).`);
    }
  }
  return { minSimilarity, commonAbove, seed, preset, verify };
}

/** Those before others stay for them. */
function orderOf(keep: KeepPolicy, pairs: SimilarPairs): Rank {
  const rank = rankOf(keep);
  if (keep === "first" || keep === "longest") return rank;
  const shared = new Map<Entry, number>();
  const sharedOf = (entry: Entry): number => {
    const known = shared.get(entry) ?? pairs.sharedShingles(entry);
    shared.set(entry, known);
    return known;
  };
  return (a, b) => pairs.of(b).size - pairs.of(a).size || sharedOf(b) - sharedOf(a) || rank(a, b);
}

/** Keeps each entry in turn unless it is a duplicate of one kept before, of which it goes for the most similar. */
function keepOneByOne(order: readonly Entry[], pairs: SimilarPairs, standsForOthers: (entry: Entry) => boolean): Map<Entry, Kept> {
  const kept = new Set<Entry>();
  const removed = new Map<Entry, Kept>();
  const nearest = (entry: Entry): Kept | undefined => {
    let best: Kept | undefined;
    for (const [other, similarity] of pairs.of(entry)) {
      if (!kept.has(other) || entry.length > longest * other.length) continue;
      if (best === undefined || similarity > best.similarity || (similarity === best.similarity && other.id < best.entry.id)) best = { entry: other, similarity };
    }
    return best;
  };
  for (const entry of order) {
    let best = entry.isReference ? undefined : nearest(entry);
    if (best === undefined && !entry.isReference) {
      pairs.compareCommon(entry);
      best = nearest(entry);
    }
    if (best !== undefined) {
      removed.set(entry, best);
    } else if (standsForOthers(entry)) {
      kept.add(entry);
      pairs.keepCommon(entry);
    }
  }
  return removed;
}

/** Of each connected component of the pairs the first one in the order is kept, and those that are much longer. */
function keepOfComponents(entries: readonly Entry[], order: readonly Entry[], pairs: SimilarPairs): Map<Entry, Kept> {
  const places = new Map(entries.map((entry, place) => [entry, place]));
  const edges = entries.flatMap((entry, place) => Array.from(pairs.of(entry).keys(), (other) => [place, places.get(other) ?? place] as const));
  const labels = connectedComponents(entries.length, edges);
  const firsts = new Map<number, Entry>();
  const removed = new Map<Entry, Kept>();
  for (const entry of order) {
    const label = labels[places.get(entry) ?? 0] ?? 0;
    const first = firsts.get(label);
    if (first === undefined) firsts.set(label, entry);
    else if (entry.length <= longest * first.length) removed.set(entry, { entry: first, similarity: pairs.of(entry).get(first) ?? jaccard(entry.set, first.set) });
  }
  return removed;
}

/** Copies go with their original, for the same document and with the same similarity. An original that stays keeps them all, where it may stand for others. */
function withCopies(removed: ReadonlyMap<Entry, Kept>, copies: ReadonlyMap<Entry, Entry>, standsForOthers: (entry: Entry) => boolean = () => true): RemovedDocument[] {
  const all: RemovedDocument[] = [];
  for (const [entry, kept] of removed) all.push({ index: entry.index, duplicateOf: kept.entry.index, reason: "near", similarity: kept.similarity });
  for (const [entry, original] of copies) {
    const kept = removed.get(original) ?? { entry: original, similarity: 1 };
    if (!standsForOthers(kept.entry)) continue;
    all.push({ index: entry.index, duplicateOf: kept.entry.index, reason: entry.hash === kept.entry.hash ? "exact" : "near", similarity: kept.similarity });
  }
  return all;
}
