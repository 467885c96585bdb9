import { compare, type Comparable, type CompareRule } from "./compare.js";
import { DocumentFrequencies } from "./document-frequencies.js";
import { murmur3Words } from "./hash.js";
import { Lsh } from "./lsh.js";
import { estimateJaccard, MinHash } from "./minhash.js";
import { distinct } from "./shingle.js";
import type { TextSketch } from "./sketch.js";
import { TemplateSlots } from "./template-slots.js";

/** A document for {@link findDuplicates}. */
export interface SketchedDocument {
  /** Names the document; different from every other's. Decides between documents that are alike in all else. */
  readonly id: string;
  readonly sketch: TextSketch;
}

/** Settings of {@link findDuplicates}. */
export interface DuplicateOptions {
  /** Least Jaccard similarity of the sets of three-word shingles, above 0 and up to 1. One word in ten changed leaves about 0.57. Default 0.35. */
  readonly minSimilarity?: number;
  /** A shingle in more documents than this can be boilerplate, and speaks for no similarity on its own. At least 1. Default 8. */
  readonly commonAbove?: number;
  /** Bands of the signatures, see `Lsh`. Default 96. */
  readonly bands?: number;
  /** Rows of a band. Default 2. */
  readonly rows?: number;
  /** Chooses the hash functions, an unsigned 32-bit number. Default 42. */
  readonly seed?: number;
}

/** A document that can go, and the kept one that says the same. */
export interface RemovedDocument {
  /** Index of the document among the input. */
  readonly index: number;
  /** Index of a document that is kept. */
  readonly keptIndex: number;
  /** "exact": the kept one's text is the same; "near": it was compared and found similar. */
  readonly reason: "exact" | "near";
  /** Jaccard similarity of the two sets of shingles; 1 where only case, punctuation or white space differ. */
  readonly similarity: number;
}

/** What {@link findDuplicates} found. */
export interface Duplicates {
  /** In the order of the input. */
  readonly removed: readonly RemovedDocument[];
  /** Kept documents for which at least one other goes. */
  readonly clusters: number;
  /** Pairs of different texts that were compared. */
  readonly candidates: number;
  /** Those of them that were found to be near duplicates. */
  readonly verified: number;
}

/** How many times as long as the kept document one that is removed can be. */
const longest = 1.5;
/**
 * Least estimated similarity of the shingles that few documents hold for a pair to be compared. It is far below that of all shingles where much of a text is boilerplate, each edit of which makes a rare
 * shingle; unrelated texts stay below 0.02.
 */
const leastEstimate = 0.07;
/** Kept documents that a bucket of common text holds, and that a document is compared with through such buckets: what bounds the work where thousands share a template. */
const commonCandidates = 8;

/**
 * Finds exact and near duplicates, and decides which of them are kept.
 *
 * Candidates come from MinHash signatures cut into bands; every pair is then compared by its real shingles, and words (see
 * `compare`). A document is removed only for one that is kept and was itself compared with it: similarity is never passed on
 * through a third. Of documents that are alike the one with the most near duplicates is kept, then the longest, then that of the smallest id. The result
 * depends on the documents and options alone, not on their order.
 *
 * Time and memory grow linearly with the text: a band's bucket holds at most `commonAbove` documents of the first kind of signature, made of the shingles that few documents
 * hold, and documents that mostly consist of common shingles are compared with at most 8 kept ones more.
 *
 * @throws RangeError when an option is out of range, or two documents have one id
 */
export function findDuplicates(documents: readonly SketchedDocument[], options: DuplicateOptions = {}): Duplicates {
  const settings = checked(options);
  const entries = sortedEntries(documents);
  const { representatives, copies } = collapse(entries);
  const clustering = cluster(representatives, settings);

  const removed: RemovedDocument[] = [];
  for (const [entry, kept] of clustering.removed) removed.push({ index: entry.index, keptIndex: kept.entry.index, reason: "near", similarity: kept.similarity });
  for (const [entry, representative] of copies) {
    // A copy follows its original: to the same kept document, with the same similarity.
    const kept = clustering.removed.get(representative) ?? { entry: representative, similarity: 1 };
    removed.push({ index: entry.index, keptIndex: kept.entry.index, reason: entry.hash === kept.entry.hash ? "exact" : "near", similarity: kept.similarity });
  }
  removed.sort((a, b) => a.index - b.index);
  return { removed, clusters: new Set(removed.map(({ keptIndex }) => keptIndex)).size, candidates: clustering.candidates, verified: clustering.verified };
}

interface Entry extends Comparable {
  readonly index: number;
  readonly id: string;
  readonly hash: string;
  readonly length: number;
}

interface Kept {
  readonly entry: Entry;
  readonly similarity: number;
}

function checked(options: DuplicateOptions): Required<DuplicateOptions> {
  const settings = { minSimilarity: 0.35, commonAbove: 8, bands: 96, rows: 2, seed: 42, ...options };
  if (!(settings.minSimilarity > 0 && settings.minSimilarity <= 1)) throw new RangeError(`minSimilarity is above 0 and at most 1, found ${String(settings.minSimilarity)}.`);
  if (!Number.isSafeInteger(settings.commonAbove) || settings.commonAbove < 1) {
    throw new RangeError(`commonAbove is a whole number of at least 1, found ${String(settings.commonAbove)}.`);
  }
  return settings;
}

/** Ascending by id, so that nothing after this depends on the order of the input. */
function sortedEntries(documents: readonly SketchedDocument[]): Entry[] {
  const entries = documents.map(({ id, sketch }, index): Entry => ({
    index,
    id,
    hash: sketch.hash,
    length: sketch.length,
    sequence: sketch.shingles,
    set: distinct(sketch.shingles),
  }));
  entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const [index, { id }] of entries.entries()) {
    if (index > 0 && entries[index - 1]?.id === id) throw new RangeError(`Every document has an id of its own; ${JSON.stringify(id)} occurs twice.`);
  }
  return entries;
}

/** Equal texts, and texts of the same words, have one representative; the others follow it. */
function collapse(entries: readonly Entry[]): { representatives: Entry[]; copies: Map<Entry, Entry> } {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    // A text without words says nothing about what it is like but its own hash.
    const key = entry.sequence.length === 0 ? entry.hash : `${String(entry.sequence.length)} ${[1, 2, 3].map((seed) => murmur3Words(entry.sequence, 0, entry.sequence.length, seed)).join(" ")}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  const copies = new Map<Entry, Entry>();
  const representatives: Entry[] = [];
  for (const group of groups.values()) {
    const [first, ...rest] = [...group].sort((a, b) => b.length - a.length) as [Entry, ...Entry[]];
    representatives.push(first);
    for (const entry of rest) copies.set(entry, first);
  }
  representatives.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { representatives, copies };
}

/** Decides which representatives are kept, and for each other one the kept one it is most similar to. */
function cluster(entries: readonly Entry[], settings: Required<DuplicateOptions>): { removed: Map<Entry, Kept>; candidates: number; verified: number } {
  const frequencies = new DocumentFrequencies();
  for (const { set } of entries) frequencies.add(set);
  const { minSimilarity, commonAbove } = settings;
  // Most corpora hold no pair that needs it.
  let slots: TemplateSlots | undefined;
  const rule: CompareRule = {
    minSimilarity,
    commonAbove,
    frequencies,
    slots: () => (slots ??= new TemplateSlots(entries.map(({ sequence }) => sequence), frequencies, commonAbove)),
  };
  const lsh = new Lsh(settings);
  const minHash = new MinHash({ permutations: lsh.permutations, seed: settings.seed });

  const own = entries.map(({ set }) => set.filter((shingle) => frequencies.of(shingle) <= commonAbove));
  const signatures = own.map((set) => (set.length === 0 ? undefined : minHash.signature(set)));
  const pairs = lsh.candidates(signatures).filter(([a, b]) => estimateJaccard(signatures[a] as Uint32Array, signatures[b] as Uint32Array) >= leastEstimate);
  const neighbours = new Map<Entry, Map<Entry, number>>();
  let verified = 0;
  for (const [left, right] of pairs) {
    const [a, b] = [entries[left] as Entry, entries[right] as Entry];
    const similarity = compare(a, b, rule);
    if (similarity === undefined) continue;
    verified += 1;
    neighbours.set(a, (neighbours.get(a) ?? new Map<Entry, number>()).set(b, similarity));
    neighbours.set(b, (neighbours.get(b) ?? new Map<Entry, number>()).set(a, similarity));
  }

  let candidates = pairs.length;
  const common = new CommonText(lsh, minHash);
  const isCommon = new Map(entries.map((entry, index) => [entry, (own[index]?.length ?? 0) * 2 < entry.set.length]));
  const degree = (entry: Entry): number => neighbours.get(entry)?.size ?? 0;
  const shared = new Map(entries.map((entry) => [entry, entry.set.reduce((count, shingle) => count + Number(frequencies.of(shingle) > 1), 0)]));
  const order = [...entries].sort((a, b) => degree(b) - degree(a) || (shared.get(b) ?? 0) - (shared.get(a) ?? 0) || b.length - a.length);
  const kept = new Set<Entry>();
  const removed = new Map<Entry, Kept>();
  for (const entry of order) {
    let best: Kept | undefined;
    const consider = (other: Entry, similarity: number): void => {
      // A much longer text says more than the kept one.
      if (entry.length > longest * other.length) return;
      const isBetter = best === undefined || similarity > best.similarity || (similarity === best.similarity && other.id < best.entry.id);
      if (isBetter) best = { entry: other, similarity };
    };
    for (const [other, similarity] of neighbours.get(entry) ?? []) if (kept.has(other)) consider(other, similarity);
    if (isCommon.get(entry) === true) {
      const keys = common.keys(entry);
      if (best === undefined) {
        for (const other of common.find(keys)) {
          candidates += 1;
          const similarity = compare(entry, other, rule);
          if (similarity === undefined) continue;
          verified += 1;
          consider(other, similarity);
        }
      }
      if (best === undefined) common.add(entry, keys);
    }
    if (best === undefined) kept.add(entry);
    else removed.set(entry, best);
  }
  return { removed, candidates, verified };
}

/** Kept documents that mostly consist of common text, by the bands of the signatures of all their shingles. */
class CommonText {
  readonly #lsh: Lsh;
  readonly #minHash: MinHash;
  readonly #buckets = new Map<string, Entry[]>();

  constructor(lsh: Lsh, minHash: MinHash) {
    this.#lsh = lsh;
    this.#minHash = minHash;
  }

  keys({ set }: Entry): string[] {
    return Array.from(this.#lsh.keys(this.#minHash.signature(set)), (key, band) => `${String(band)} ${String(key)}`);
  }

  add(entry: Entry, keys: readonly string[]): void {
    for (const key of keys) {
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) this.#buckets.set(key, [entry]);
      else if (bucket.length < commonCandidates) bucket.push(entry);
    }
  }

  /** Those that agree in the most bands, at most 8. */
  find(keys: readonly string[]): Entry[] {
    const agreement = new Map<Entry, number>();
    for (const key of keys) for (const entry of this.#buckets.get(key) ?? []) agreement.set(entry, (agreement.get(entry) ?? 0) + 1);
    return [...agreement]
      .sort(([a, bandsA], [b, bandsB]) => bandsB - bandsA || (a.id < b.id ? -1 : 1))
      .slice(0, commonCandidates)
      .map(([entry]) => entry);
  }
}
