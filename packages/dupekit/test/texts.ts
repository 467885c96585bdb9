/** Reproducible texts for the tests: prose of made-up words, and the edits that make near duplicates of it. */
export class Texts {
  #state: number;
  readonly #words: readonly string[];

  constructor(seed: number) {
    this.#state = seed;
    const [starts, middles, ends] = [["b", "d", "f", "gr", "k", "l", "m", "pr", "s", "t"], ["a", "e", "i", "o", "ou"], ["l", "n", "r", "st", "ck", "m", "nd", "th", "ve", "ss"]];
    this.#words = starts.flatMap((start) => middles.flatMap((middle) => ends.flatMap((end) => ["", "ing", "ed", "er"].map((ending) => start + middle + end + ending))));
  }

  /** From 0 up, below 1. */
  random(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  /** The few frequent words of a language make common three-word sequences, as in real text. */
  word(): string {
    return this.random() < 0.4 ? (["the", "of", "and", "to", "in", "a", "that"][this.below(7)] ?? "") : (this.#words[Math.floor(this.#words.length * this.random() ** 2)] ?? "");
  }

  /** Sentences with about so many words in all. */
  prose(words: number): string {
    const sentences: string[] = [];
    for (let left = words; left > 0; ) {
      const length = Math.min(left, 8 + this.below(14));
      const sentence = Array.from({ length }, () => this.word()).join(" ");
      sentences.push(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`);
      left -= length;
    }
    return sentences.join(" ");
  }

  /** So many of the words replaced by others, at least one. */
  replace(text: string, share: number): string {
    const words = text.split(" ");
    for (let left = Math.max(1, Math.round(words.length * share)); left > 0; left -= 1) words[this.below(words.length)] = this.word();
    return words.join(" ");
  }

  /** One sentence elsewhere, and a new one added. */
  rearrange(text: string): string {
    const sentences = text.split(/(?<=\.) /);
    const [moved = ""] = sentences.splice(this.below(sentences.length), 1);
    sentences.splice(this.below(sentences.length), 0, moved);
    sentences.splice(this.below(sentences.length), 0, this.prose(15));
    return sentences.join(" ");
  }

  /** The five strengths of edit. */
  readonly edits: Readonly<Record<string, (text: string) => string>> = {
    "case, punctuation and white space": (text) => text.toUpperCase().replaceAll(".", ";").replaceAll(" ", "  "),
    "one word": (text) => this.replace(text, 0),
    "2 % of the words": (text) => this.replace(text, 0.02),
    "5 % of the words": (text) => this.replace(text, 0.05),
    "10 % of the words, a sentence moved and one added": (text) => this.rearrange(this.replace(text, 0.1)),
  };
}
