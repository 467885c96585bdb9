import { createHash } from "node:crypto";
import type { Signature } from "./minhash.js";
import { type Preset, presetSignature } from "./presets.js";
import { shingleSequence } from "./shingle.js";

/** Words of a shingle for the comparison of texts: an edited word changes three shingles, and few shingles occur by chance in unrelated texts. */
export const shingleWords = 3;

/** A text's signature under a preset. */
export interface PresetSignature {
  /** The preset's name. Only signatures of one preset compare. */
  readonly preset: string;
  readonly values: Signature;
}

/** What duplicate detection needs to know of a text: plain data, which a worker can compute and send. */
export interface TextSketch {
  /** {@link contentHash} of the text: equal for equal texts. */
  readonly hash: string;
  /** Characters (UTF-16 code units) of the text. */
  readonly length: number;
  /** The text's shingles of three words, in order. */
  readonly shingles: Uint32Array;
  /** Where the candidates are to be found by a preset. */
  readonly signature?: PresetSignature;
}

/** Settings of {@link sketchText}. */
export interface SketchOptions {
  /** The preset by which candidates will be found. Default none. */
  readonly preset?: Preset;
  /** Makes a text's tokens, for a preset whose unit is the token. Without one such a preset takes words. */
  readonly tokenize?: (text: string) => ArrayLike<number>;
}

/**
 * SHA-256 of a text's UTF-8 bytes, 64 hexadecimal digits. Texts are exact duplicates when it is equal.
 *
 * Half of a surrogate pair that stands alone (an emoji cut in two) has no UTF-8; it counts as the three bytes that UTF-8 would make of its number, so that texts which differ in it alone have different hashes.
 */
export function contentHash(text: string): string {
  const hash = createHash("sha256");
  if ((text as string & { isWellFormed(): boolean }).isWellFormed()) return hash.update(text, "utf8").digest("hex");
  let from = 0;
  for (const { index } of text.matchAll(lonely)) {
    const unit = text.charCodeAt(index);
    hash.update(text.slice(from, index), "utf8").update(Uint8Array.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)));
    from = index + 1;
  }
  return hash.update(text.slice(from), "utf8").digest("hex");
}

/** Half of a surrogate pair without the other. */
const lonely = /\p{Surrogate}/gu;

/** Sketches a text for `findDuplicates`. */
export function sketchText(text: string, options: SketchOptions = {}): TextSketch {
  const { preset, ...tokens } = options;
  return {
    hash: contentHash(text),
    length: text.length,
    shingles: shingleSequence(text, { unit: "word", size: shingleWords }),
    ...(preset === undefined ? {} : { signature: { preset: preset.name, values: presetSignature(text, preset, tokens) } }),
  };
}
