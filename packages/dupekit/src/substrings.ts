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
  const repeated = repeatedHashes(codes, starts, minCharacters);
  const seen = new WindowTable(codes, minCharacters);
  const hasher = new WindowHash(codes, minCharacters);
  return texts.map((text, index) => {
    const spans: TextSpan[] = [];
    const [textStart, textEnd] = [starts[index] ?? 0, starts[index + 1] ?? total];
    let [start, end] = [textStart, textStart];
    const close = (): void => {
      const span = wholeCharacters(text, start - textStart, end - textStart);
      if (span.end > span.start) spans.push(span);
    };
    for (let position = textStart, hash = hasher.at(position, textEnd); position + minCharacters <= textEnd; ) {
      const first = repeated.has(hash) ? seen.firstOccurrence(hash, position) : position;
      if (first + minCharacters > position) {
        hash = hasher.next(hash, position, textEnd);
        position += 1;
        continue;
      }
      // What follows alike on both sides is repeated too, and known to the table from its first occurrence.
      const firstEnd = endOf(starts, first, total);
      let length = minCharacters;
      while (position + length < textEnd && first + length < firstEnd && codes[first + length] === codes[position + length]) length += 1;
      if (position > end) {
        close();
        start = position;
      }
      end = position + length;
      position = end - minCharacters + 1;
      hash = hasher.at(position, textEnd);
    }
    close();
    return spans;
  });
}

/** The end of the text that this position is in. */
function endOf(starts: readonly number[], position: number, total: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return starts[low] ?? total;
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

/** A rolling 32-bit hash of runs of `size` characters (Karp and Rabin 1987), modulo 2^32. */
class WindowHash {
  readonly #codes: Uint16Array;
  readonly #size: number;
  /** What the first character of a window is multiplied by. */
  readonly #lead: number;

  constructor(codes: Uint16Array, size: number) {
    this.#codes = codes;
    this.#size = size;
    let lead = 1;
    for (let power = 1; power < size; power += 1) lead = Math.imul(lead, base);
    this.#lead = lead;
  }

  /** The hash of the window that begins here; 0 where the text ends before it does. */
  at(position: number, textEnd: number): number {
    if (position + this.#size > textEnd) return 0;
    let hash = 0;
    for (let index = position; index < position + this.#size; index += 1) hash = (Math.imul(hash, base) + spread(this.#codes[index] ?? 0)) | 0;
    return hash;
  }

  /** The hash of the window behind the one that begins here. */
  next(hash: number, position: number, textEnd: number): number {
    const entering = position + this.#size;
    if (entering >= textEnd) return 0;
    return (Math.imul(hash - Math.imul(spread(this.#codes[position] ?? 0), this.#lead), base) + spread(this.#codes[entering] ?? 0)) | 0;
  }
}

/** The hashes of windows that occur twice and more, and one in sixteen of the others. */
function repeatedHashes(codes: Uint16Array, starts: readonly number[], size: number): BitSet {
  const [once, twice] = [new BitSet(codes.length * bitsPerCharacter), new BitSet(codes.length * bitsPerCharacter)];
  const hasher = new WindowHash(codes, size);
  for (const [text, start] of starts.entries()) {
    const end = starts[text + 1] ?? codes.length;
    for (let position = start, hash = hasher.at(start, end); position + size <= end; position += 1) {
      if (once.add(hash)) twice.add(hash);
      hash = hasher.next(hash, position, end);
    }
  }
  return twice;
}

/** A character code as a well-mixed number, so that texts of few different characters hash well. */
function spread(code: number): number {
  const mixed = Math.imul(code + 1, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}

function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** Bits by hashes: 2^10 to 2^32 of them, at least as many as asked for where possible. */
class BitSet {
  readonly #words: Int32Array;
  readonly #shift: number;

  constructor(bits: number) {
    const power = Math.min(32, Math.max(10, Math.ceil(Math.log2(bits))));
    this.#words = new Int32Array(2 ** (power - 5));
    this.#shift = 32 - power;
  }

  has(hash: number): boolean {
    const bit = mix(hash) >>> this.#shift;
    return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }

  /** @returns whether it was there */
  add(hash: number): boolean {
    const bit = mix(hash) >>> this.#shift;
    const word = this.#words[bit >>> 5] ?? 0;
    if ((word & (1 << (bit & 31))) !== 0) return true;
    this.#words[bit >>> 5] = word | (1 << (bit & 31));
    return false;
  }
}

/** The first occurrence of each window, by hash and then by its characters: an open-addressing table. */
class WindowTable {
  readonly #codes: Uint16Array;
  readonly #size: number;
  #hashes = new Int32Array(1 << 12);
  /** Position plus one; 0 where the place is free. */
  #positions = new Uint32Array(1 << 12);
  #used = 0;

  constructor(codes: Uint16Array, size: number) {
    this.#codes = codes;
    this.#size = size;
  }

  /** Where this window first occurred, which is here when it is new. */
  firstOccurrence(hash: number, position: number): number {
    const mask = this.#hashes.length - 1;
    let place = mix(hash) & mask;
    for (let found = this.#positions[place] ?? 0; found !== 0; found = this.#positions[place] ?? 0) {
      if (this.#hashes[place] === hash && this.#isSame(found - 1, position)) return found - 1;
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
    for (let index = 0; index < this.#size; index += 1) if (codes[first + index] !== codes[own + index]) return false;
    return true;
  }

  #grow(): void {
    const [hashes, positions] = [this.#hashes, this.#positions];
    this.#hashes = new Int32Array(hashes.length * 2);
    this.#positions = new Uint32Array(hashes.length * 2);
    const mask = this.#hashes.length - 1;
    for (let index = 0; index < hashes.length; index += 1) {
      const position = positions[index] ?? 0;
      if (position === 0) continue;
      let place = mix(hashes[index] ?? 0) & mask;
      while (this.#positions[place] !== 0) place = (place + 1) & mask;
      this.#hashes[place] = hashes[index] ?? 0;
      this.#positions[place] = position;
    }
  }
}
