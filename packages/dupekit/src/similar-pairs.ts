import { compare, type CompareRule } from "./compare.js";
import { DocumentFrequencies } from "./document-frequencies.js";
import type { Entry } from "./entries.js";
import { Lsh } from "./lsh.js";
import { estimateJaccard, MinHash, type Signature } from "./minhash.js";
import type { Preset } from "./presets.js";
import { TemplateSlots } from "./template-slots.js";

/** How pairs come to be compared, and when they count. */
export interface PairSettings {
  readonly minSimilarity: number;
  readonly commonAbove: number;
  readonly seed: number;
  readonly preset: Preset | undefined;
  readonly verify: boolean;
}

/** Bands and rows of the signatures of rare shingles: a pair of similarity 0.35 is missed once in 280,000 times. */
const rareBands = { bands: 96, rows: 2 };
/**
 * Least estimated similarity of the shingles that few documents hold for a pair to be compared. It is far below that of all shingles where much of a text is boilerplate, each edit of
 * which makes a rare shingle; unrelated texts stay below 0.02.
 */
const leastEstimate = 0.07;
/** Documents of a preset's bucket up to which all of them are compared with each other. More of them share a template, and are told apart by what is rare. */
const largestBucket = 32;
/** Kept documents that a bucket of common text holds, and that a document is compared with through such buckets: what bounds the work where thousands share a template. */
const commonCandidates = 8;

/**
 * The pairs of near duplicates among texts that all differ.
 *
 * Candidates share a band of the preset's signatures or, without a preset and in crowded buckets, of the signatures of their rare shingles. Each is compared by `compare`.
 * What is left are copies of text that many documents hold, which has no rare shingles: {@link compareCommon} finds them while documents are kept one by one.
 */
export class SimilarPairs {
  readonly #entries: readonly Entry[];
  readonly #settings: PairSettings;
  readonly #hasReferences: boolean;
  readonly #neighbours = new Map<Entry, Map<Entry, number>>();
  readonly #frequencies = new DocumentFrequencies();
  readonly #rule: CompareRule;
  readonly #isCommon = new Set<Entry>();
  readonly #lsh = new Lsh(rareBands);
  readonly #minHash: MinHash;
  readonly #buckets = new Map<number, Entry[]>();
  #lastKeys: { readonly entry: Entry; readonly keys: readonly number[] } | undefined;
  /** Pairs compared. */
  candidates = 0;
  /** Pairs found to be near duplicates. */
  verified = 0;

  /** @param entries - ascending by id, no two of the same words. Where some are references, only pairs of one of them and one other count */
  constructor(entries: readonly Entry[], settings: PairSettings) {
    this.#entries = entries;
    this.#settings = settings;
    this.#hasReferences = entries.some(({ isReference }) => isReference);
    this.#minHash = new MinHash({ permutations: this.#lsh.permutations, seed: settings.seed });
    const { minSimilarity, commonAbove, preset } = settings;
    // Most corpora hold no pair that needs the slots.
    let slots: TemplateSlots | undefined;
    this.#rule = {
      minSimilarity,
      commonAbove,
      frequencies: this.#frequencies,
      slots: () => (slots ??= new TemplateSlots(entries.map(({ sequence }) => sequence), this.#frequencies, commonAbove)),
    };
    if (settings.verify) for (const { set } of entries) this.#frequencies.add(set);
    const crowded = preset === undefined ? entries : this.#comparePreset(preset);
    if (settings.verify) this.#compareRare(crowded);
  }

  /** The near duplicates found so far, and how similar each is. */
  of(entry: Entry): ReadonlyMap<Entry, number> {
    return this.#neighbours.get(entry) ?? new Map<Entry, number>();
  }

  /** Its shingles that occur in other documents as well. */
  sharedShingles({ set }: Entry): number {
    return set.reduce((count, shingle) => count + Number(this.#frequencies.of(shingle) > 1), 0);
  }

  /** Compares a document that mostly consists of common text with those {@link keepCommon} was called for. Others have no pairs besides those known. */
  compareCommon(entry: Entry): void {
    if (!this.#isCommon.has(entry)) return;
    const agreement = new Map<Entry, number>();
    for (const key of this.#keys(entry)) for (const other of this.#buckets.get(key) ?? []) agreement.set(other, (agreement.get(other) ?? 0) + 1);
    const most = [...agreement].sort(([a, bandsA], [b, bandsB]) => bandsB - bandsA || (a.id < b.id ? -1 : 1)).slice(0, commonCandidates);
    for (const [other] of most) if (!this.of(entry).has(other)) this.#compare(entry, other);
  }

  /** Makes a document one of those that {@link compareCommon} compares with. */
  keepCommon(entry: Entry): void {
    if (!this.#isCommon.has(entry)) return;
    for (const key of this.#keys(entry)) {
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) this.#buckets.set(key, [entry]);
      else if (bucket.length < commonCandidates) bucket.push(entry);
    }
  }

  /** Bands of the signature of all its shingles, as one number each. */
  #keys(entry: Entry): readonly number[] {
    if (this.#lastKeys?.entry !== entry) {
      const keys = this.#lsh.keys(this.#minHash.signature(entry.set));
      this.#lastKeys = { entry, keys: Array.from(keys, (key, band) => band * 2 ** 32 + Number(key)) };
    }
    return this.#lastKeys.keys;
  }

  /** Pairs by the preset's signatures. @returns the entries of crowded buckets */
  #comparePreset(preset: Preset): Entry[] {
    const { verify } = this.#settings;
    const count = this.#entries.length;
    // Texts without words are like none.
    const signatures = this.#entries.map(({ signature, sequence }) => (sequence.length === 0 ? undefined : signature?.values));
    const crowded = new Set<number>();
    const pairs = new Set<number>();
    for (const bucket of new Lsh(preset).buckets(signatures)) {
      const isCrowded = bucket.length > largestBucket;
      if (isCrowded && verify) {
        for (const place of bucket) crowded.add(place);
        continue;
      }
      // Without verification all of a bucket are alike, so a few stand for a crowded one.
      const lefts = isCrowded ? bucket.slice(0, commonCandidates) : bucket;
      for (const right of bucket) for (const left of lefts) if (left < right) pairs.add(left * count + right);
    }
    for (const pair of Array.from(pairs).sort((a, b) => a - b)) {
      const [left, right] = [Math.floor(pair / count), pair % count];
      const [a, b] = [this.#entries[left] as Entry, this.#entries[right] as Entry];
      if (!this.#isWanted(a, b)) continue;
      if (verify) this.#compare(a, b);
      else this.#join(a, b, estimateJaccard(signatures[left] as Signature, signatures[right] as Signature));
    }
    return Array.from(crowded)
      .sort((a, b) => a - b)
      .map((place) => this.#entries[place] as Entry);
  }

  /** Pairs by the signatures of the shingles that few documents hold. */
  #compareRare(entries: readonly Entry[]): void {
    const { commonAbove } = this.#settings;
    const own = entries.map(({ set }) => set.filter((shingle) => this.#frequencies.of(shingle) <= commonAbove));
    for (const [place, entry] of entries.entries()) if ((own[place]?.length ?? 0) * 2 < entry.set.length) this.#isCommon.add(entry);
    const signatures = own.map((set) => (set.length === 0 ? undefined : this.#minHash.signature(set)));
    for (const [left, right] of this.#lsh.candidates(signatures)) {
      const [a, b] = [entries[left] as Entry, entries[right] as Entry];
      if (!this.#isWanted(a, b) || this.of(a).has(b)) continue;
      if (estimateJaccard(signatures[left] as Signature, signatures[right] as Signature) >= leastEstimate) this.#compare(a, b);
    }
  }

  #isWanted(a: Entry, b: Entry): boolean {
    return !this.#hasReferences || a.isReference !== b.isReference;
  }

  #compare(a: Entry, b: Entry): void {
    this.candidates += 1;
    const similarity = compare(a, b, this.#rule);
    if (similarity === undefined) return;
    this.verified += 1;
    this.#join(a, b, similarity);
  }

  #join(a: Entry, b: Entry, similarity: number): void {
    for (const [one, other] of [[a, b], [b, a]] as const) {
      const known = this.#neighbours.get(one);
      if (known === undefined) this.#neighbours.set(one, new Map([[other, similarity]]));
      else known.set(other, similarity);
    }
  }
}
