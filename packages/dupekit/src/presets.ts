import type { Punctuation } from "./clean-table.js";
import { MinHash, type Signature } from "./minhash.js";
import { shingleSequence, type ShingleOptions } from "./shingle.js";

/** How a known system looks for near duplicates: what is shingled, and how signatures are cut into bands. `new Lsh(preset)` takes one. */
export interface Preset {
  readonly name: string;
  /** What a shingle consists of. */
  readonly unit: "word" | "character" | "token";
  /** Units in a shingle. */
  readonly size: number;
  /** Bands of a signature. */
  readonly bands: number;
  /** Rows of a band. */
  readonly rows: number;
  /** Chooses the hash functions. */
  readonly seed: number;
  /** Bits of the hashes. */
  readonly bits: 32 | 64;
  /** What goes when the text is cleaned. */
  readonly punctuation: Punctuation;
  /** Only so many characters (UTF-16 code units) of a text count. */
  readonly maxCharacters?: number;
}

/**
 * The published settings of four systems. Signatures are this package's own: they find what those systems find, but are not their numbers.
 *
 * `marin`: marin's fuzzy_minhash.py. `fineweb`: datatrove's example for FineWeb. `nemo`: NeMo Curator 24.07. `duplodocus`: its defaults.
 */
export const presets = {
  marin: { name: "marin", unit: "character", size: 5, bands: 26, rows: 11, seed: 42, bits: 64, punctuation: "ascii", maxCharacters: 500_000 },
  fineweb: { name: "fineweb", unit: "word", size: 5, bands: 14, rows: 8, seed: 1, bits: 64, punctuation: "unicode" },
  nemo: { name: "nemo", unit: "character", size: 5, bands: 20, rows: 13, seed: 42, bits: 32, punctuation: "ascii" },
  duplodocus: { name: "duplodocus", unit: "token", size: 5, bands: 20, rows: 5, seed: 42, bits: 64, punctuation: "unicode" },
} as const satisfies Readonly<Record<string, Preset>>;

const minHashes = new WeakMap<Preset, MinHash<32 | 64>>();

/**
 * The signature of a text under a preset.
 *
 * @param preset - one of {@link presets}, or an own one
 * @param options - `tokenize` makes the numbers of a text where the preset's unit is "token"; without it words stand for tokens
 * @throws RangeError for a preset whose numbers are out of range
 */
export function presetSignature(text: string, preset: Preset, options: Pick<ShingleOptions, "tokenize"> = {}): Signature {
  return minHashOf(preset).signature(presetShingles(text, preset, options));
}

/**
 * The shingles of a text under a preset, in order, repetitions included.
 *
 * @throws RangeError as {@link presetSignature}
 */
export function presetShingles(text: string, preset: Preset, { tokenize }: Pick<ShingleOptions, "tokenize"> = {}): Uint32Array | BigUint64Array {
  const { size, bits, punctuation, maxCharacters } = preset;
  const part = maxCharacters === undefined ? text : text.slice(0, maxCharacters);
  const unit = preset.unit === "token" && tokenize === undefined ? "word" : preset.unit;
  return shingleSequence<32 | 64>(part, { unit, size, bits, punctuation, ...(tokenize === undefined ? {} : { tokenize }) });
}

function minHashOf(preset: Preset): MinHash<32 | 64> {
  let minHash = minHashes.get(preset);
  if (minHash === undefined) minHashes.set(preset, (minHash = new MinHash<32 | 64>({ permutations: preset.bands * preset.rows, seed: preset.seed, bits: preset.bits })));
  return minHash;
}
