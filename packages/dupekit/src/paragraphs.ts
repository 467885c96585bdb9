import { BloomFilter, type BloomOptions } from "./bloom.js";
import { cleanText } from "./clean-text.js";
import { contentHash } from "./sketch.js";
import type { TextSpan } from "./spans.js";

/** What counts as a paragraph, and when two are equal. */
export interface ParagraphOptions {
  /** What ends a paragraph: each line break, or an empty line. Default "line". */
  readonly separator?: "line" | "empty line";
  /** Paragraphs of fewer characters are not looked at, nor removed: "Yes." and "Chapter 1" mean something where they stand. Default 40. */
  readonly minCharacters?: number;
  /** What must be equal: the text without white space at its ends ("text"), or its cleaned words ("words", see `cleanText`). Default "text". */
  readonly equal?: "text" | "words";
}

/** A paragraph of a text. */
export interface Paragraph extends TextSpan {
  /** The same for paragraphs that count as equal: 64 hexadecimal digits. */
  readonly hash: string;
}

/**
 * The paragraphs of a text in order. A span reaches up to the next paragraph, white space and empty lines behind included, so that removing it leaves no gap.
 *
 * @throws RangeError when `minCharacters` is no whole number of at least 0
 */
export function paragraphsOf(text: string, options: ParagraphOptions = {}): Paragraph[] {
  const { separator = "line", minCharacters = 40, equal = "text" } = options;
  if (!Number.isSafeInteger(minCharacters) || minCharacters < 0) throw new RangeError(`minCharacters is a whole number of at least 0, found ${String(minCharacters)}.`);
  const starts: number[] = [];
  let isOpen = false;
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf("\n", at);
    const end = lineEnd === -1 ? text.length : lineEnd + 1;
    const isBlank = text.slice(at, end).trim() === "";
    if (!isBlank && (!isOpen || separator === "line")) starts.push(at);
    isOpen = !isBlank;
    at = end;
  }
  return starts.flatMap((start, place) => {
    const end = starts[place + 1] ?? text.length;
    const content = text.slice(start, end).trim();
    return content.length < minCharacters ? [] : [{ start, end, hash: contentHash(equal === "words" ? cleanText(content) : content) }];
  });
}

/** Settings of {@link RepeatedParagraphs}. */
export interface RepeatedParagraphsOptions extends ParagraphOptions {
  /**
   * Where the paragraphs seen are kept: all their hashes ("exact", about 100 bytes each), or a Bloom filter, which takes 1.2 to 4 bytes each and calls
   * `falsePositiveRate` of the new paragraphs repeated. Default "exact".
   */
  readonly memory?: "exact" | BloomOptions | BloomFilter;
}

/**
 * Finds paragraphs that occurred before, document by document: in an earlier document or further up in the same one. Each paragraph is looked up and remembered in one step and once a
 * document, so a document is never found to repeat itself by being looked at.
 *
 * Handing in the same document twice makes all of it repeated the second time: after an interruption begin with a new object, or with the filter as it was saved.
 */
export class RepeatedParagraphs {
  readonly #options: ParagraphOptions;
  readonly #seen: Set<string> | BloomFilter;

  /** @param options - what a paragraph is, and how they are remembered */
  constructor(options: RepeatedParagraphsOptions = {}) {
    const { memory = "exact", ...paragraphs } = options;
    this.#options = paragraphs;
    if (memory === "exact") this.#seen = new Set();
    else this.#seen = memory instanceof BloomFilter ? memory : BloomFilter.create(memory);
  }

  /**
   * The paragraphs of the next document that occurred before; then remembers its others.
   *
   * @returns ascending; what `removeSpans` takes
   */
  next(text: string): Paragraph[] {
    return paragraphsOf(text, this.#options).filter(({ hash }) => !this.#add(hash));
  }

  /** Whether the hash is new. */
  #add(hash: string): boolean {
    if (this.#seen instanceof BloomFilter) return this.#seen.add(hash);
    const before = this.#seen.size;
    return this.#seen.add(hash).size > before;
  }
}
