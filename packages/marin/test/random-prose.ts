/** Reproducible sentences of made-up words: two of them share no run of thirteen words by chance. */
export class RandomProse {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 up, below `count`. */
  below(count: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }

  word(): string {
    const part = (from: readonly string[]): string => from[this.below(from.length)] ?? "";
    return part(starts) + part(middles) + part(ends);
  }

  words(count: number): string {
    return Array.from({ length: count }, () => this.word()).join(" ");
  }
}

const starts = ["b", "d", "f", "gr", "k", "l", "m", "pr", "s", "t", "v", "w"];
const middles = ["a", "e", "i", "o", "ou", "ea"];
const ends = ["l", "n", "r", "st", "ck", "m", "nd", "th", "ve", "ss", "ling", "ted", "per"];
