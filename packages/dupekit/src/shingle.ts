import { murmur3Words } from "./hash.js";

/** Settings of {@link shingles}. */
export interface ShingleOptions {
  /** What is counted as one unit. Default "word". */
  readonly unit?: "word" | "character";
  /** Units in a shingle, at least 1. Default 5. */
  readonly size?: number;
}

/**
 * Text as near-duplicate detection sees it: lower case, punctuation and symbols dropped, white space runs as one space,
 * none at the ends.
 */
export function cleanText(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replace(/[\p{P}\p{S}]/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}

/**
 * The set of a text's shingles (runs of `size` neighbouring words or characters of its cleaned form) as 32-bit hashes,
 * distinct and ascending. A text shorter than one shingle has one, the whole text; an empty one has none.
 *
 * Two shingles share a hash by accident with probability 2^-32: in a pair of documents of 10,000 shingles each, 0.05 are
 * expected to.
 *
 * @throws RangeError when the size is not a whole number of at least 1
 */
export function shingles(text: string, options: ShingleOptions = {}): Uint32Array {
  return distinct(shingleSequence(text, options));
}

/**
 * Every shingle of a text in its order, repetitions included: shingle `i` begins at unit `i`. Otherwise as {@link shingles}.
 *
 * @throws RangeError when the size is not a whole number of at least 1
 */
export function shingleSequence(text: string, options: ShingleOptions = {}): Uint32Array {
  const { unit = "word", size = 5 } = options;
  if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`A shingle's size is a whole number of at least 1, found ${String(size)}.`);
  const units = unit === "word" ? wordHashes(cleanText(text)) : codePoints(cleanText(text));
  if (units.length === 0) return units;
  const length = Math.min(size, units.length);
  const hashes = new Uint32Array(units.length - length + 1);
  for (let start = 0; start < hashes.length; start += 1) hashes[start] = murmur3Words(units, start, start + length, 0);
  return hashes;
}

/** The values of an array, each once, ascending. */
export function distinct(values: Uint32Array): Uint32Array {
  if (values.length === 0) return values;
  const hashes = values.slice().sort();
  let kept = 1;
  for (let index = 1; index < hashes.length; index += 1) {
    if (hashes[index] !== hashes[kept - 1]) hashes[kept++] = hashes[index] ?? 0;
  }
  return hashes.slice(0, kept);
}

/**
 * The Jaccard similarity of two sets of {@link shingles}: shared ones by all. 1 for two empty sets.
 *
 * @param a - distinct, ascending
 * @param b - distinct, ascending
 */
export function jaccard(a: Uint32Array, b: Uint32Array): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = (a[i] ?? 0) - (b[j] ?? 0);
    if (difference === 0) shared += 1;
    if (difference <= 0) i += 1;
    if (difference >= 0) j += 1;
  }
  const all = a.length + b.length - shared;
  return all === 0 ? 1 : shared / all;
}

function wordHashes(text: string): Uint32Array {
  const codes = new Uint32Array(text.length);
  for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  const hashes = new Uint32Array(text.length);
  let words = 0;
  for (let start = 0; start < text.length; ) {
    const space = text.indexOf(" ", start);
    const end = space === -1 ? text.length : space;
    hashes[words++] = murmur3Words(codes, start, end, 0);
    start = end + 1;
  }
  return hashes.subarray(0, words);
}

function codePoints(text: string): Uint32Array {
  return Uint32Array.from(Array.from(text, (character) => character.codePointAt(0) ?? 0));
}
