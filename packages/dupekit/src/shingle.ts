import type { Punctuation } from "./clean-table.js";
import { checkedPunctuation, cleanBytes, cleanInto, cleanText } from "./clean-text.js";
import { littleEndianBytes } from "./endian.js";
import { murmur3Words } from "./hash.js";
import type { HashArray } from "./minhash.js";
import { kernelsFor, roundUp, type Kernels } from "./wasm/kernels.js";
import { xxh3_64 } from "./xxh3.js";

/** Settings of {@link shingles}. */
export interface ShingleOptions<Bits extends 32 | 64 = 32 | 64> {
  /** What is counted as one unit: words or characters of the cleaned text, or numbers of a vocabulary. Default "word"; "token" of numbers. */
  readonly unit?: "word" | "character" | "token";
  /** Units in a shingle, at least 1. Default 5. */
  readonly size?: number;
  /**
   * Bits of a shingle's hash. 32: MurmurHash3 of the units (words by a MurmurHash3 of their own). 64: XXH3 of the shingle's UTF-8 text, words with a space between; of tokens, of their 32-bit
   * little-endian numbers. Default 32.
   */
  readonly bits?: Bits;
  /** What goes when the text is cleaned, see `cleanText`; tokens are of the text as it is. Default "unicode". */
  readonly punctuation?: Punctuation;
  /** Makes the numbers of a text, whole and from 0 to 4294967295; needed for the tokens of a text. */
  readonly tokenize?: (text: string) => ArrayLike<number>;
}

/**
 * The set of a text's shingles (runs of `size` neighbouring words, characters or tokens) as hashes,
 * distinct and ascending. A text shorter than one shingle has one, the whole text; an empty one has none.
 *
 * Two shingles share a hash of 32 bits by accident with probability 2^-32: in a pair of documents of 10,000 shingles each, 0.05 are
 * expected to.
 *
 * @param input - a text, or its tokens, which are no negative numbers and below 2^32
 * @throws RangeError when the size is not a whole number of at least 1, another option is out of its range, or `unit` does not go with the input
 */
export function shingles<Bits extends 32 | 64 = 32>(input: string | ArrayLike<number>, options: ShingleOptions<Bits> = {}): HashArray<Bits> {
  return distinct(shingleSequence(input, options));
}

/**
 * Every shingle of a text in its order, repetitions included: shingle `i` begins at unit `i`. Otherwise as {@link shingles}.
 *
 * @throws RangeError as {@link shingles}
 */
export function shingleSequence<Bits extends 32 | 64 = 32>(input: string | ArrayLike<number>, options: ShingleOptions<Bits> = {}): HashArray<Bits> {
  const { unit = typeof input === "string" ? "word" : "token", size = 5, bits = 32 as Bits } = options;
  if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`A shingle's size is a whole number of at least 1, found ${String(size)}.`);
  if (bits !== 32 && bits !== 64) throw new RangeError(`bits is 32 or 64, found ${String(bits)}.`);
  const punctuation = checkedPunctuation(options.punctuation);
  if (unit === "token") return ofTokens(tokensOf(input, options.tokenize), size, bits) as HashArray<Bits>;
  if ((unit as string) !== "word" && (unit as string) !== "character") throw new RangeError(`unit is "word", "character" or "token", found ${JSON.stringify(unit)}.`);
  if (typeof input !== "string") throw new RangeError(`Shingles of ${unit}s are made of a text; of numbers, unit is "token".`);
  return ofText(input, { unit, size, bits, punctuation }) as HashArray<Bits>;
}

/** The values of an array, each once, ascending. */
export function distinct<Hashes extends Uint32Array | BigUint64Array>(values: Hashes): Hashes {
  if (values.length === 0) return values;
  // Both kinds are alike in all that is done here; one stands for both where the compiler asks which.
  const hashes = values.slice().sort() as Uint32Array;
  let kept = 1;
  for (let index = 1; index < hashes.length; index += 1) {
    if (hashes[index] !== hashes[kept - 1]) hashes[kept++] = hashes[index] ?? 0;
  }
  return hashes.slice(0, kept) as Hashes;
}

/**
 * The Jaccard similarity of two sets of {@link shingles}: shared ones by all. 1 for two empty sets.
 *
 * @param a - distinct, ascending
 * @param b - distinct, ascending, of as many bits
 */
export function jaccard<Hashes extends Uint32Array | BigUint64Array>(a: Hashes, b: Hashes): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const left = a[i] ?? 0;
    const right = b[j] ?? 0;
    if (left === right) shared += 1;
    if (left <= right) i += 1;
    if (left >= right) j += 1;
  }
  const all = a.length + b.length - shared;
  return all === 0 ? 1 : shared / all;
}

interface TextShingling {
  readonly unit: "word" | "character";
  readonly size: number;
  readonly bits: 32 | 64;
  readonly punctuation: Punctuation;
}

/** Memory of the kernels for one unit of text: 32-bit numbers; or up to three bytes, where each begins, and 64-bit hashes. */
const unitBytes = { 32: 4, 64: 3 + 4 + 8 } as const;

function ofText(text: string, shingling: TextShingling): HashArray {
  const { unit, size, bits, punctuation } = shingling;
  const kernels = kernelsFor(cleanBytes(text.length) + text.length * unitBytes[bits]);
  if (kernels === undefined) return ofTextPortable(text, shingling);
  const { run } = kernels;
  const { at, units } = cleanInto(kernels, text, punctuation);
  kernels.reserve(units * (2 + unitBytes[bits]) + 128);
  const numbers = roundUp(at + units * 2);
  if (bits === 32) return numbersAt(kernels, numbers, run.windows32(numbers, unit === "word" ? run.wordHashes(at, units, numbers) : run.codePoints(at, units, numbers), size));
  const words = unit === "word" ? 1 : 0;
  const starts = roundUp(numbers + units * 3);
  const count = run.encode(at, units, numbers, starts, words);
  const hashes = roundUp(starts + (count + 1) * 4);
  return hashesAt(kernels, hashes, run.windows64(numbers, starts, count, size, words, hashes));
}

/** As the kernels do it. */
function ofTextPortable(text: string, { unit, size, bits, punctuation }: TextShingling): HashArray {
  const cleaned = cleanText(text, { punctuation });
  if (bits === 32) return windows32(unit === "word" ? wordHashes(cleaned) : codePoints(cleaned), size);
  const units = unit === "word" ? cleaned.split(" ").filter((word) => word !== "") : Array.from(cleaned);
  const separator = unit === "word" ? " " : "";
  return windowsOf(units.length, size, (start, end) => xxh3_64(units.slice(start, end).join(separator)));
}

function ofTokens(tokens: Uint32Array, size: number, bits: 32 | 64): HashArray {
  const kernels = kernelsFor(tokens.byteLength + tokens.length * 8 + 64);
  if (kernels === undefined) return bits === 32 ? windows32(tokens, size) : windowsOf(tokens.length, size, (start, end) => xxh3_64(littleEndianBytes(tokens.subarray(start, end))));
  const { run, free } = kernels;
  kernels.words.set(tokens, free >>> 2);
  if (bits === 32) return numbersAt(kernels, free, run.windows32(free, tokens.length, size));
  const hashes = roundUp(free + tokens.byteLength);
  return hashesAt(kernels, hashes, run.tokenWindows64(free, tokens.length, size, hashes));
}

function tokensOf(input: string | ArrayLike<number>, tokenize: ShingleOptions["tokenize"]): Uint32Array {
  if (typeof input === "string" && tokenize === undefined) throw new RangeError(`Shingles of a text's tokens need tokenize, which makes its numbers.`);
  const found = typeof input === "string" ? (tokenize?.(input) ?? []) : input;
  if (found instanceof Uint32Array) return found;
  return Uint32Array.from(found, (token, index) => {
    if (token !== token >>> 0) throw new RangeError(`Tokens are whole numbers from 0 to 4294967295, found ${String(token)} at ${String(index)}.`);
    return token;
  });
}

function numbersAt({ words }: Kernels, at: number, count: number): Uint32Array {
  return words.slice(at >>> 2, (at >>> 2) + count);
}

function hashesAt({ bytes }: Kernels, at: number, count: number): BigUint64Array {
  return new BigUint64Array(bytes.buffer.slice(at, at + count * 8));
}

function windows32(units: Uint32Array, size: number): Uint32Array {
  if (units.length === 0) return units;
  const length = Math.min(size, units.length);
  const hashes = new Uint32Array(units.length - length + 1);
  for (let start = 0; start < hashes.length; start += 1) hashes[start] = murmur3Words(units, start, start + length, 0);
  return hashes;
}

function windowsOf(units: number, size: number, hash: (start: number, end: number) => bigint): BigUint64Array {
  const length = Math.min(size, units);
  return BigUint64Array.from({ length: units === 0 ? 0 : units - length + 1 }, (_, start) => hash(start, start + length));
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
