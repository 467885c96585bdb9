import type { Comparable } from "./compare.js";
import type { KeepPolicy } from "./duplicates.js";
import { murmur3Words } from "./hash.js";
import { distinct } from "./shingle.js";
import type { PresetSignature, TextSketch } from "./sketch.js";

/** A document for `findDuplicates`. */
export interface SketchedDocument {
  /** Names the document; different from every other's. Decides between documents that are alike in all else. */
  readonly id: string;
  readonly sketch: TextSketch;
}

/** A document as duplicate detection works with it. */
export interface Entry extends Comparable {
  /** Index among the documents, or among the reference documents. */
  readonly index: number;
  /** Whether it is one of the documents that others are compared with and that never go. */
  readonly isReference: boolean;
  readonly id: string;
  readonly hash: string;
  /** Characters of the text. */
  readonly length: number;
  readonly signature: PresetSignature | undefined;
}

/** A document's entry in the order that "the first" of equals means. */
export type Rank = (a: Entry, b: Entry) => number;

/**
 * Ascending by id, so that nothing after this depends on the order of the input.
 *
 * @throws RangeError when two documents, or two reference documents, have one id
 */
export function entriesOf(documents: readonly SketchedDocument[], reference: readonly SketchedDocument[] = []): Entry[] {
  const entries = [documents, reference].flatMap((part, number) =>
    part.map(({ id, sketch }, index): Entry => ({
      index,
      isReference: number === 1,
      id,
      hash: sketch.hash,
      length: sketch.length,
      sequence: sketch.shingles,
      set: distinct(sketch.shingles),
      signature: sketch.signature,
    })),
  );
  entries.sort(byId);
  for (const [place, { id, isReference }] of entries.entries()) {
    const before = entries[place - 1];
    if (before?.id === id && before.isReference === isReference) throw new RangeError(`Every document has an id of its own; ${JSON.stringify(id)} occurs twice.`);
  }
  return entries;
}

/** Reference documents first where ids are equal. */
function byId(a: Entry, b: Entry): number {
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return Number(b.isReference) - Number(a.isReference);
}

/** Which of several documents that say the same stands for all: a reference document before others, then by the policy, then by id. */
export function rankOf(keep: KeepPolicy): Rank {
  return (a, b) => Number(b.isReference) - Number(a.isReference) || (keep === "first" ? a.index - b.index : b.length - a.length) || byId(a, b);
}

/**
 * Equal texts, and texts of the same words, have one representative; the others are copies of it.
 *
 * @returns the representatives ascending by id, and the representative of each other entry
 */
export function collapse(entries: readonly Entry[], rank: Rank): { representatives: Entry[]; copies: Map<Entry, Entry> } {
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
    const [first, ...rest] = group.sort(rank) as [Entry, ...Entry[]];
    representatives.push(first);
    for (const entry of rest) if (!entry.isReference) copies.set(entry, first);
  }
  return { representatives: representatives.sort(byId), copies };
}
