import type { DocumentFrequencies } from "./document-frequencies.js";
import { shingleWords } from "./sketch.js";
import type { TemplateSlots } from "./template-slots.js";

/** A text as {@link compare} sees it. */
export interface Comparable {
  /** The shingles in order. */
  readonly sequence: Uint32Array;
  /** The shingles, each once, ascending. */
  readonly set: Uint32Array;
}

/** When two texts count as near duplicates. */
export interface CompareRule {
  /** Least Jaccard similarity of the shingle sets. */
  readonly minSimilarity: number;
  /** A shingle in more documents than this is common: it can be boilerplate. */
  readonly commonAbove: number;
  readonly frequencies: DocumentFrequencies;
  /** The templates of all documents. */
  readonly slots: () => TemplateSlots;
}

/** Texts of fewer words are facts rather than prose: one word changed can make another fact, so they must agree in more. */
const shortWords = 40;
const shortSimilarity = 0.8;
/** A run of at least this many words that the other text has nowhere is a passage; edits of single words seldom make one. */
const passageWords = 12;
/** Share of its words that both texts may have in such passages and still be copies. */
const passageShare = 0.08;
/** Share of the differing words that may fill in a template; and of the words that do, together with that of all words. */
const slotShare = { ofDiffering: 0.4, ofFilled: 0.4, ofAll: 0.03 };
/** Share of the words of a passage that fills in a template that may differ where it is the same passage. */
const editedShare = 0.35;
/** Shared shingles in a row that end what was filled in: fewer are a phrase that two facts have in common by chance. */
const slotEnd = 5;
/** Where the parts of their own are the lesser part of two texts, those parts must agree this much to decide alone. */
const ownSimilarity = 0.8;
/** And be as many shingles at least. */
const ownShingles = 40;

/**
 * The Jaccard similarity of two texts' shingle sets, or `undefined` when they are no near duplicates.
 *
 * Being similar is not enough: documents that share a long licence, header or form are, and each says something of its own. So the words in which they
 * differ are looked at. They make two documents where both have whole passages that the other has nowhere, and where they stand at places at which the many documents that
 * share the surrounding text differ as well. A copy differs otherwise: by single words, by words added on one side, by passages moved, and, where many documents share the text, one side still
 * reads as most of them do.
 */
export function compare(a: Comparable, b: Comparable, rule: CompareRule): number | undefined {
  const [least, most] = a.set.length < b.set.length ? [a.set.length, b.set.length] : [b.set.length, a.set.length];
  const needed = least + shingleWords - 1 < shortWords ? Math.max(shortSimilarity, rule.minSimilarity) : rule.minSimilarity;
  if (least < needed * most) return undefined;
  const shared: Shared = [flags(0, a.set.length), flags(1, b.set.length)];
  const { similarity, own } = overlap(a, b, rule, shared);
  if (similarity < needed) return undefined;
  if (similarity === 1) return 1;
  const passages = Math.min(passageLength(differences(a, shared[0], 1)), passageLength(differences(b, shared[1], 1)));
  if (passages > passageShare * Math.min(a.sequence.length, b.sequence.length)) return undefined;
  if (own.share >= 0.5 ? own.similarity >= needed : own.similarity >= ownSimilarity && own.count >= ownShingles) return similarity;
  return isTemplate(a, b, rule, shared) ? undefined : similarity;
}

/** For each shingle of the one set and of the other 1 where it is in both. */
type Shared = readonly [Uint8Array, Uint8Array];

/** Used by one comparison after the other. */
const scratch: [Uint8Array, Uint8Array] = [new Uint8Array(1024), new Uint8Array(1024)];

function flags(side: 0 | 1, length: number): Uint8Array {
  if (scratch[side].length < length) scratch[side] = new Uint8Array(2 * length);
  return scratch[side].fill(0, 0, length);
}

/** Similarity of all shingles and of those that few documents hold, and the share of the latter. @param shared - is filled in */
function overlap(a: Comparable, b: Comparable, rule: CompareRule, [inB, inA]: Shared): { similarity: number; own: { similarity: number; share: number; count: number } } {
  const all = { shared: 0, either: 0 };
  const own = { shared: 0, either: 0 };
  for (let i = 0, j = 0; i < a.set.length || j < b.set.length; ) {
    const left = a.set[i] ?? Infinity;
    const right = b.set[j] ?? Infinity;
    const isShared = Number(left === right);
    if (isShared === 1) inB[i] = inA[j] = 1;
    if (left <= right) i += 1;
    if (right <= left) j += 1;
    all.either += 1;
    all.shared += isShared;
    if (rule.frequencies.of(Math.min(left, right)) > rule.commonAbove) continue;
    own.either += 1;
    own.shared += isShared;
  }
  const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  return { similarity: all.either === 0 ? 1 : all.shared / all.either, own: { similarity: ratio(own.shared, own.either), share: ratio(own.either, all.either), count: own.either } };
}

/** Neighbouring words that the other text does not have in the same company. */
interface Run {
  /** Index of the first of them. */
  readonly start: number;
  readonly words: number;
}

/** The runs between stretches of at least `least` shared shingles in a row. @param shared - which shingles of the set are */
function differences(text: Comparable, shared: Uint8Array, least: number): Run[] {
  const { sequence } = text;
  const rankOfPlace = ranksOf(text);
  const runs: Run[] = [];
  // Words before this index are covered or in a run.
  let covered = 0;
  let stretch = 0;
  for (let index = 0; index < sequence.length; index += 1) {
    stretch = shared[rankOfPlace[index] ?? 0] === 1 ? stretch + 1 : 0;
    if (stretch < least) continue;
    const start = index - stretch + 1;
    if (start > covered) runs.push({ start: covered, words: start - covered });
    covered = index + shingleWords;
  }
  const words = sequence.length === 0 ? 0 : sequence.length + shingleWords - 1;
  if (words > covered) runs.push({ start: covered, words: words - covered });
  return runs;
}

function passageLength(runs: readonly Run[]): number {
  return runs.reduce((sum, { words }) => sum + (words >= passageWords ? words : 0), 0);
}

/** Whether the differing words mostly fill in a template that both share. */
function isTemplate(a: Comparable, b: Comparable, rule: CompareRule, [inB, inA]: Shared): boolean {
  let [differing, filledApart, filled] = [0, 0, 0];
  for (const [text, shared] of [[a, inB], [b, inA]] as const) {
    const mask = rule.slots().mask(text.sequence);
    const marked = (runs: readonly Run[]): Uint8Array => {
      const words = new Uint8Array(mask.length);
      for (const run of runs) words.fill(1, run.start, run.start + run.words);
      return words;
    };
    const runs = differences(text, shared, slotEnd);
    differing += runs.reduce((sum, { words }) => sum + words, 0);
    const [apart, changed] = [marked(runs), marked(differences(text, shared, 1))];
    for (let start = 0; start < mask.length; start += 1) {
      if (mask[start] === 0) continue;
      let [end, wordsApart, wordsChanged] = [start, 0, 0];
      for (; mask[end] === 1; end += 1) {
        wordsApart += apart[end] ?? 0;
        wordsChanged += changed[end] ?? 0;
      }
      filled += end - start;
      // Few words of a whole passage: the same passage, edited.
      if (end - start < passageWords || wordsChanged > editedShare * (end - start)) filledApart += wordsApart;
      start = end;
    }
  }
  return filledApart > slotShare.ofDiffering * differing || (filledApart > slotShare.ofFilled * filled && filledApart > slotShare.ofAll * (a.sequence.length + b.sequence.length));
}

const ranks = new WeakMap<Uint32Array, Uint32Array>();

/** Where in the set each shingle of the sequence is. Kept, for a text that is compared is mostly compared more than once. */
function ranksOf({ sequence, set }: Comparable): Uint32Array {
  let known = ranks.get(sequence);
  if (known === undefined) {
    known = sequence.map((shingle) => rankOf(set, shingle));
    ranks.set(sequence, known);
  }
  return known;
}

function rankOf(set: Uint32Array, value: number): number {
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((set[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
