import type { TextSpan } from "./spans.js";

/** Settings of {@link findRepeatedSubstrings}. */
export interface SubstringOptions {
  /** Least length of a repeated passage in characters (UTF-16 code units), at least 1. Default 200, about 50 tokens of English. */
  readonly minCharacters?: number;
}

/** Odd, so that the hash of a window loses no bits of its first character. */
const base = 0x01000193;
/** Bits of the two filters for a character of text: one window in sixteen that is new is taken for a repeated one, and costs a place in the table, nothing more. */
const bitsPerCharacter = 16;

/**
 * Finds the passages of texts that occurred before, in an earlier text or further up in the same one, character for character (Lee et al., "Deduplicating
 * Training Data Makes Language Models Better", 2022). A character is in a passage when a run of at least `minCharacters` around it occurs, whole, before that run begins: so
 * nothing goes that was not said before, and of a run of one character the first `minCharacters` stay.
 *
 * Exact: hashes only choose what is compared. Two passes over the text with a rolling hash take time in proportion to it; memory is about 8 bytes
 * a character beside the texts, and 12 for each character of the first occurrences of what repeats.
 *
 * @param texts - in the order that decides which occurrence is the first
 * @param options - how long a passage is
 * @returns for each text its passages, ascending and apart from each other; a span never cuts a surrogate pair
 * @throws RangeError when `minCharacters` is not a whole number of at least 1, or the texts have 2^31 characters or more: divide them, or hand in paragraphs
 */
export function findRepeatedSubstrings(texts: readonly string[], options: SubstringOptions = {}): TextSpan[][] {
  const { minCharacters = 200 } = options;
  if (!Number.isSafeInteger(minCharacters) || minCharacters < 1) throw new RangeError(`minCharacters is a whole number of at least 1, found ${String(minCharacters)}.`);
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  if (total >= 2 ** 31) throw new RangeError(`Repeated passages are found among fewer than 2147483648 characters, found ${String(total)}: divide the texts.`);
  const codes = new Uint16Array(total);
  const starts: number[] = [];
  let at = 0;
  for (const text of texts) {
    starts.push(at);
    for (let index = 0; index < text.length; index += 1) codes[at + index] = text.charCodeAt(index);
    at += text.length;
  }
  const windows = new Windows(codes, starts, minCharacters);
  const repeated = windows.repeatedHashes();
  const seen = new WindowTable(codes, minCharacters);
  const spans: TextSpan[][] = texts.map(() => []);
  let [start, end] = [0, 0];
  let textOf = -1;
  const close = (): void => {
    const span = wholeCharacters(texts[textOf] ?? "", start, end);
    if (span.end > span.start) spans[textOf]?.push(span);
    [start, end] = [0, 0];
  };
  windows.visit((hash, position, text) => {
    if (!repeated.has(hash) || seen.firstOccurrence(hash, position) + minCharacters > position) return;
    const offset = position - (starts[text] ?? 0);
    if (text !== textOf || offset > end) {
      close();
      textOf = text;
      start = offset;
    }
    end = offset + minCharacters;
  });
  close();
  return spans;
}

/** The span without halves of surrogate pairs at its ends. */
function wholeCharacters(text: string, start: number, end: number): TextSpan {
  const isCut = (index: number): boolean => index > 0 && index < text.length && isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
  return { start: isCut(start) ? start + 1 : start, end: isCut(end) ? end - 1 : end };
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** All runs of `size` characters within one text, each with a 32-bit rolling hash. */
class Windows {
  readonly #codes: Uint16Array;
  readonly #starts: readonly number[];
  readonly #size: number;

  constructor(codes: Uint16Array, starts: readonly number[], size: number) {
    this.#codes = codes;
    this.#starts = starts;
    this.#size = size;
  }

  /** @param visitor - gets the hash, the position among all characters, and the index of the text */
  visit(visitor: (hash: number, position: number, text: number) => void): void {
    const [codes, size] = [this.#codes, this.#size];
    let leaving = 1;
    for (let power = 1; power < size; power += 1) leaving = Math.imul(leaving, base);
    for (const [text, start] of this.#starts.entries()) {
      const end = this.#starts[text + 1] ?? codes.length;
      let hash = 0;
      for (let position = start; position < end; position += 1) {
        if (position >= start + size) hash = (hash - Math.imul(spread(codes[position - size] ?? 0), leaving)) | 0;
        hash = (Math.imul(hash, base) + spread(codes[position] ?? 0)) | 0;
        if (position >= start + size - 1) visitor(mix(hash), position - size + 1, text);
      }
    }
  }

  /** The hashes that occur twice and more, and one in sixteen of the others. */
  repeatedHashes(): BitSet {
    const bits = Math.max(1024, this.#codes.length * bitsPerCharacter);
    const [once, twice] = [new BitSet(bits), new BitSet(bits)];
    this.visit((hash) => {
      if (once.has(hash)) twice.add(hash);
      else once.add(hash);
    });
    return twice;
  }
}

/** A character code as a well-mixed number, so that texts of few different characters hash well. */
function spread(code: number): number {
  const mixed = Math.imul(code + 1, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** Bits by 32-bit hashes. */
class BitSet {
  readonly #words: Uint32Array;
  readonly #scale: number;

  constructor(bits: number) {
    this.#words = new Uint32Array(Math.ceil(Math.min(bits, 2 ** 32) / 32));
    this.#scale = (this.#words.length * 32) / 2 ** 32;
  }

  has(hash: number): boolean {
    const bit = Math.floor(hash * this.#scale);
    return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  add(hash: number): void {
    const bit = Math.floor(hash * this.#scale);
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }
}

/** The first occurrence of each window, by hash and then by its characters: an open-addressing table. */
class WindowTable {
  readonly #codes: Uint16Array;
  readonly #size: number;
  #hashes = new Uint32Array(1 << 12);
  /** Position plus one; 0 where the place is free. */
  #positions = new Uint32Array(1 << 12);
  #used = 0;
  /** The last two windows found equal: where the next ones follow on both sides, one character decides. */
  #last = { own: -2, first: -2 };

  constructor(codes: Uint16Array, size: number) {
    this.#codes = codes;
    this.#size = size;
  }

  /** Where this window first occurred, which is here when it is new. */
  firstOccurrence(hash: number, position: number): number {
    const mask = this.#hashes.length - 1;
    let place = hash & mask;
    for (let found = this.#positions[place] ?? 0; found !== 0; found = this.#positions[place] ?? 0) {
      if (this.#hashes[place] === hash && this.#isSame(found - 1, position)) {
        this.#last = { own: position, first: found - 1 };
        return found - 1;
      }
      place = (place + 1) & mask;
    }
    this.#hashes[place] = hash;
    this.#positions[place] = position + 1;
    this.#used += 1;
    if (this.#used * 2 > this.#hashes.length) this.#grow();
    return position;
  }

  #isSame(first: number, own: number): boolean {
    const codes = this.#codes;
    const follows = own === this.#last.own + 1 && first === this.#last.first + 1;
    for (let index = follows ? this.#size - 1 : 0; index < this.#size; index += 1) if (codes[first + index] !== codes[own + index]) return false;
    return true;
  }

  #grow(): void {
    const [hashes, positions] = [this.#hashes, this.#positions];
    this.#hashes = new Uint32Array(hashes.length * 2);
    this.#positions = new Uint32Array(hashes.length * 2);
    const mask = this.#hashes.length - 1;
    for (let index = 0; index < hashes.length; index += 1) {
      const position = positions[index] ?? 0;
      if (position === 0) continue;
      let place = (hashes[index] ?? 0) & mask;
      while (this.#positions[place] !== 0) place = (place + 1) & mask;
      this.#hashes[place] = hashes[index] ?? 0;
      this.#positions[place] = position;
    }
  }
}
