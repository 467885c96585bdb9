import type { BloomFilter } from "@marin/dupekit";
import { type NgramRule, type Paragraph, textNgrams } from "./text-ngrams.js";

/** What is compared, and how much of it makes a document contaminated. */
export interface DecontaminationRule extends NgramRule {
  /** Least share of a paragraph's n-grams that evaluations hold. */
  readonly minOverlap: number;
  /** Least share of an evaluation item's n-grams that the document holds, anywhere in it; null: not looked at. */
  readonly minCoverage: number | null;
}

/** The items that n-grams belong to. */
export interface NgramOwners {
  /** Numbers of the items that hold the n-gram; empty where none does. */
  of(hash: bigint): readonly number[];
  /** Different n-grams of an item. */
  total(item: number): number;
  /** Name of an item. */
  name(item: number): string;
}

/** What {@link screenText} looks n-grams up in. */
export interface NgramIndex {
  /** Calls present every n-gram of the evaluations, and next to no other. */
  readonly filter: BloomFilter;
  /** Which items hold an n-gram; asked for when the filter has called one present. */
  owners(): Promise<NgramOwners>;
}

/** What a text has in common with the evaluations. */
export interface Finding {
  readonly contaminated: boolean;
  /** Greatest share of a paragraph's n-grams that evaluations hold. */
  readonly overlap: number;
  /** Greatest share of an item's n-grams that the text holds. */
  readonly coverage: number;
  /** The paragraph that the overlap is of, or where there is none the one in which the first common n-gram begins. */
  readonly paragraph: string;
  /** The items with n-grams in the text, and the share of each that is there, greatest first. */
  readonly evaluations: readonly { readonly id: string; readonly coverage: number }[];
  /** Hashes of the n-grams in common, each once, ascending. */
  readonly ngrams: readonly bigint[];
}

/** An n-gram in common: words from `start` up to `end`. */
interface Match {
  readonly start: number;
  readonly end: number;
  readonly hash: bigint;
}

/**
 * Compares a text with the evaluations.
 *
 * @returns undefined when they have no n-gram in common
 */
export async function screenText(text: string, index: NgramIndex, rule: DecontaminationRule): Promise<Finding | undefined> {
  const { hashes, starts, ends, paragraphs } = textNgrams(text, rule);
  const called = index.filter.hasHashes(hashes);
  if (!called.includes(1)) return undefined;
  // What the filter calls present is looked up: no document goes by its error.
  const owners = await index.owners();
  const matches: Match[] = [];
  for (let at = called.indexOf(1); at !== -1; at = called.indexOf(1, at + 1)) {
    const hash = hashes[at] ?? 0n;
    if (owners.of(hash).length > 0) matches.push({ start: starts[at] ?? 0, end: ends[at] ?? 0, hash });
  }
  return matches.length === 0 ? undefined : judge(matches, paragraphs, owners, rule);
}

function judge(matches: readonly Match[], paragraphs: readonly Paragraph[], owners: NgramOwners, { minOverlap, minCoverage }: DecontaminationRule): Finding {
  const inside = new Map<number, number>();
  for (const { start, end } of matches) {
    const number = paragraphOf(start, paragraphs);
    if (end <= (paragraphs[number]?.end ?? 0)) inside.set(number, (inside.get(number) ?? 0) + 1);
  }
  let overlap = 0;
  let worst = paragraphOf(matches[0]?.start ?? 0, paragraphs);
  for (const [number, count] of [...inside].sort(([a], [b]) => a - b)) {
    const share = count / (paragraphs[number]?.ngrams ?? 1);
    if (share > overlap) [overlap, worst] = [share, number];
  }
  const ngrams = [...new Set(matches.map(({ hash }) => hash))].sort((a, b) => (a < b ? -1 : 1));
  const held = new Map<number, number>();
  for (const hash of ngrams) for (const item of owners.of(hash)) held.set(item, (held.get(item) ?? 0) + 1);
  const evaluations = [...held]
    .map(([item, count]) => ({ id: owners.name(item), coverage: count / owners.total(item) }))
    .sort((a, b) => b.coverage - a.coverage || (a.id < b.id ? -1 : 1));
  const coverage = evaluations[0]?.coverage ?? 0;
  const contaminated = overlap >= minOverlap || (minCoverage !== null && coverage >= minCoverage);
  return { contaminated, overlap, coverage, paragraph: paragraphs[worst]?.text ?? "", evaluations, ngrams };
}

/** Number of the paragraph that a word lies in. */
function paragraphOf(word: number, paragraphs: readonly Paragraph[]): number {
  let [from, to] = [0, paragraphs.length - 1];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (word < (paragraphs[middle]?.end ?? 0)) to = middle;
    else from = middle + 1;
  }
  return from;
}
