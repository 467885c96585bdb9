import { Lsh } from "../src/lsh.js";
import { findDuplicates } from "../src/near-duplicates.js";
import type { Preset } from "../src/presets.js";
import { sketchText, type TextSketch } from "../src/sketch.js";
import type { Labelled, labelledSet } from "./labelled.js";
import { bruteForceJaccard } from "./real-texts.js";

/** How well the copies of one strength of edit are found under a preset. */
export interface Quality {
  readonly edit: string;
  /** Mean Jaccard similarity of originals and copies, by sets of strings. */
  readonly similarity: number;
  /** Share that the preset's S-curve says become candidates, from the similarity of each pair. */
  readonly expected: number;
  /** Share that became candidates. */
  readonly candidates: number;
  /** Share found after verification. */
  readonly found: number;
  /** Share of what was removed that is truly a copy of what it goes for; 1 where nothing was. */
  readonly precision: number;
  /** The most that a removed document's similarity is off the Jaccard similarity of three-word shingles, by sets of strings. */
  readonly similarityError: number;
}

const comparedShingles = { unit: "word", size: 3 };

/** Measures a preset on a labelled set, one strength of edit at a time; without one the default way, which has no S-curve of all shingles: there nothing is to be missed. */
export function measureQuality({ originals, copies }: ReturnType<typeof labelledSet>, preset: Preset | undefined): Quality[] {
  const lsh = preset === undefined ? undefined : new Lsh(preset);
  const sketched = (documents: readonly Labelled[]): TextSketch[] => documents.map(({ text }) => sketchText(text, preset === undefined ? {} : { preset }));
  const keysOf = ({ signature }: TextSketch): ArrayLike<number | bigint> => (signature === undefined ? [] : (lsh?.keys(signature.values) ?? []));
  const own = sketched(originals);
  const ownKeys = own.map(keysOf);
  return Object.entries(copies).map(([edit, edited]) => {
    const sketches = sketched(edited);
    const similarities = originals.map(({ text }, index) => bruteForceJaccard(text, edited[index]?.text ?? "", preset ?? comparedShingles));
    const keys = sketches.map(keysOf);
    const isCandidate = (index: number): boolean => lsh === undefined || Array.from(ownKeys[index] ?? []).some((key, band) => key === keys[index]?.[band]);
    const documents = [...originals, ...edited];
    const all = [...own, ...sketches];
    const { removed } = findDuplicates(documents.map(({ id }, index) => ({ id, sketch: all[index] as TextSketch })), { preset });
    const right = removed.filter(({ index, duplicateOf }) => documents[index]?.group === documents[duplicateOf]?.group).length;
    const errors = removed.map(({ index, duplicateOf, similarity }) => Math.abs(similarity - bruteForceJaccard(documents[index]?.text ?? "", documents[duplicateOf]?.text ?? "", comparedShingles)));
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      edit,
      similarity: mean(similarities),
      expected: mean(similarities.map((similarity) => lsh?.probability(similarity) ?? 1)),
      candidates: mean(originals.map((_, index) => Number(isCandidate(index)))),
      found: right / originals.length,
      precision: removed.length === 0 ? 1 : right / removed.length,
      similarityError: Math.max(0, ...errors),
    };
  });
}
