import { cleanText, shingleSequence } from "@marin/dupekit";

/** Which runs of words are compared. */
export interface NgramRule {
  /** Words of an n-gram. */
  readonly ngramWords: number;
  /** A paragraph of fewer words than an n-gram is one n-gram, the whole of it, from so many words on. */
  readonly leastWords: number;
}

/** The n-grams of a text: every run of words, across paragraphs too, and every paragraph shorter than one. Those without a letter are left out: runs of numbers are alike in tables of all kinds. */
export interface TextNgrams {
  /** 64-bit hashes of the n-grams. */
  readonly hashes: BigUint64Array;
  /** The word that each begins with. */
  readonly starts: Uint32Array;
  /** The word after each. */
  readonly ends: Uint32Array;
  /** First word of each paragraph and the word after it; paragraphs without words are passed over. */
  readonly paragraphs: readonly Paragraph[];
}

/** A paragraph of a text. */
export interface Paragraph {
  readonly start: number;
  readonly end: number;
  /** N-grams that lie inside it. */
  readonly ngrams: number;
  /** The text as it was written. */
  readonly text: string;
}

/** The n-grams of a text whose paragraphs lie between empty lines. Case, punctuation and white space make no difference. */
export function textNgrams(text: string, rule: NgramRule): TextNgrams {
  return ngramsOf(text.split(/\n[^\S\n]*\n\s*/), rule);
}

/** The different n-grams of a passage of an evaluation. Line breaks lie elsewhere in another's copy of it, so it is one paragraph. */
export function passageNgrams(passage: string, rule: NgramRule): Set<bigint> {
  return new Set(ngramsOf([passage], rule).hashes);
}

function ngramsOf(texts: readonly string[], { ngramWords, leastWords }: NgramRule): TextNgrams {
  const cleaned = texts.map((text) => ({ text, words: cleanText(text) })).filter(({ words }) => words !== "");
  const whole = cleaned.map(({ words }) => words).join(" ");
  const letters = lettersBefore(whole);
  const wordCount = letters.length - 1;
  const spells = (start: number, end: number): boolean => (letters[end] ?? 0) > (letters[start] ?? 0);

  const hashes = new BigUint64Array(wordCount + cleaned.length);
  const [starts, ends] = [new Uint32Array(hashes.length), new Uint32Array(hashes.length)];
  let count = 0;
  const add = (start: number, end: number, hash: bigint): void => {
    [hashes[count], starts[count], ends[count]] = [hash, start, end];
    count += 1;
  };
  if (wordCount >= ngramWords) {
    const sequence = shingleSequence(whole, { size: ngramWords, bits: 64 });
    for (let start = 0; start < sequence.length; start += 1) if (spells(start, start + ngramWords)) add(start, start + ngramWords, sequence[start] ?? 0n);
  }
  const runs = starts.slice(0, count);
  const paragraphs: Paragraph[] = [];
  let start = 0;
  for (const { text, words } of cleaned) {
    const end = start + countWords(words);
    const isShort = end - start < ngramWords && end - start >= leastWords && spells(start, end);
    if (isShort) add(start, end, shingleSequence(words, { size: ngramWords, bits: 64 })[0] ?? 0n);
    // Starts ascend, so those inside lie together.
    const inside = Math.max(0, lowerBound(runs, end - ngramWords + 1) - lowerBound(runs, start));
    paragraphs.push({ start, end, ngrams: isShort ? 1 : inside, text });
    start = end;
  }
  return { hashes: hashes.slice(0, count), starts: starts.slice(0, count), ends: ends.slice(0, count), paragraphs };
}

/** How many words with a letter stand before each word, and at the end before all. */
function lettersBefore(cleaned: string): Uint32Array {
  const counts = [0];
  for (let start = 0; start < cleaned.length; ) {
    const space = cleaned.indexOf(" ", start);
    const end = space === -1 ? cleaned.length : space;
    counts.push((counts.at(-1) ?? 0) + Number(hasLetter(cleaned, start, end)));
    start = end + 1;
  }
  return Uint32Array.from(counts);
}

function hasLetter(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    // Most words are settled by their first character: the text is in lower case.
    if (code >= 97 && code <= 122) return true;
    if (code > 127) return /\p{L}/u.test(text.slice(start, end));
  }
  return false;
}

function countWords(cleaned: string): number {
  let count = 1;
  for (let at = cleaned.indexOf(" "); at !== -1; at = cleaned.indexOf(" ", at + 1)) count += 1;
  return count;
}

/** Index of the first of the values, which ascend, that is not below the bound; their number where all are. */
function lowerBound(values: Uint32Array, bound: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((values[middle] ?? 0) < bound) from = middle + 1;
    else to = middle;
  }
  return from;
}
