import { createHash } from "node:crypto";
import { shingleSequence } from "./shingle.js";

/** Words of a shingle for duplicate detection: an edited word changes three shingles, and few shingles occur by chance in unrelated texts. */
export const shingleWords = 3;

/** What duplicate detection needs to know of a text: plain data, which a worker can compute and send. */
export interface TextSketch {
  /** {@link contentHash} of the text: equal for equal texts. */
  readonly hash: string;
  /** Characters (UTF-16 code units) of the text. */
  readonly length: number;
  /** The text's shingles of three words, in order. */
  readonly shingles: Uint32Array;
}

/** SHA-256 of a text's UTF-8 bytes, 64 hexadecimal digits. Texts are exact duplicates when it is equal. */
export function contentHash(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** Sketches a text for `findDuplicates`. */
export function sketchText(text: string): TextSketch {
  return { hash: contentHash(text), length: text.length, shingles: shingleSequence(text, { unit: "word", size: shingleWords }) };
}
