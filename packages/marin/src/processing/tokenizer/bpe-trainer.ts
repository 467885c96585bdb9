import { alphabetCharacters, idOfByte } from "./byte-alphabet.js";
import { PairQueue } from "./pair-queue.js";

/** Ids stay below this, so a pair of ids fits one exact number: `left * idLimit + right`. */
const idLimit = 2 ** 26;

/** What byte-pair training found: the vocabulary in the order of its ids, and the merges in the order they apply. */
export interface BytePairs {
  /** Tokens in GPT-2's printable form; the first 256 are the bytes. */
  readonly vocabulary: readonly string[];
  /** Pairs of tokens to join, first ones first. */
  readonly merges: readonly (readonly [string, string])[];
}

/**
 * Byte-pair encoding learned from words and their counts: the pair of neighbouring tokens with the highest count becomes
 * a token, again and again (Sennrich, Haddow and Birch 2016, algorithm 1, over bytes as in GPT-2). Of equally frequent pairs the
 * one with the lowest ids is joined first, so equal counts give equal results.
 */
export class BpeTrainer {
  readonly #words: Uint32Array[] = [];
  readonly #wordCounts: number[] = [];
  readonly #pairCounts = new Map<number, number>();
  /** Words in which a pair occurred when it was made; some may have lost it since. */
  readonly #wordsOfPair = new Map<number, number[]>();
  readonly #queue = new PairQueue();
  readonly #vocabulary: string[] = [...alphabetCharacters];
  readonly #idOfToken = new Map(alphabetCharacters.map((token, id) => [token, id]));
  readonly #merges: [string, string][] = [];

  /**
   * @param wordCounts - each distinct word of the training text and how often it occurs
   */
  constructor(wordCounts: Iterable<readonly [word: string, count: number]>) {
    for (const [word, count] of wordCounts) {
      const index = this.#words.length;
      const ids = Uint32Array.from(Buffer.from(word, "utf8"), (byte) => idOfByte[byte] as number);
      this.#words.push(ids);
      this.#wordCounts.push(count);
      forEachPair(ids, (pair) => {
        this.#change(pair, count);
        this.#remember(pair, index);
      });
    }
    for (const [pair, count] of this.#pairCounts) this.#queue.push(pair, count);
  }

  /** Tokens so far; 256 before the first merge. */
  get size(): number {
    return this.#vocabulary.length;
  }

  /** Learns one merge. Returns false, changing nothing, when no word has two tokens left. */
  step(): boolean {
    for (let top = this.#queue.pop(); top !== undefined; top = this.#queue.pop()) {
      const count = this.#pairCounts.get(top.pair) ?? 0;
      if (count === top.count && count > 0) {
        this.#merge(top.pair);
        return true;
      }
      // Counts of queued pairs fall as their neighbours are joined: put the pair back where it belongs now.
      if (count > 0 && count < top.count) this.#queue.push(top.pair, count);
    }
    return false;
  }

  /** What was learned so far. */
  result(): BytePairs {
    return { vocabulary: [...this.#vocabulary], merges: [...this.#merges] };
  }

  #merge(pair: number): void {
    const left = Math.floor(pair / idLimit);
    const right = pair % idLimit;
    const tokens: [string, string] = [this.#vocabulary[left] as string, this.#vocabulary[right] as string];
    const merged = this.#tokenId(tokens.join(""));
    this.#merges.push(tokens);
    const grown = new Set<number>();
    for (const index of new Set(this.#wordsOfPair.get(pair))) {
      const before = this.#words[index] as Uint32Array;
      const after = joinPair(before, left, right, merged);
      if (after.length === before.length) continue;
      const count = this.#wordCounts[index] as number;
      forEachPair(before, (old) => {
        this.#change(old, -count);
      });
      forEachPair(after, (now) => {
        this.#change(now, count);
        if (Math.floor(now / idLimit) !== merged && now % idLimit !== merged) return;
        this.#remember(now, index);
        grown.add(now);
      });
      this.#words[index] = after;
    }
    this.#wordsOfPair.delete(pair);
    for (const now of grown) this.#queue.push(now, this.#pairCounts.get(now) ?? 0);
  }

  /** The id of a token; different merges can make the same token. */
  #tokenId(token: string): number {
    const known = this.#idOfToken.get(token);
    if (known !== undefined) return known;
    const id = this.#vocabulary.length;
    this.#vocabulary.push(token);
    this.#idOfToken.set(token, id);
    return id;
  }

  #change(pair: number, by: number): void {
    const count = (this.#pairCounts.get(pair) ?? 0) + by;
    if (count === 0) this.#pairCounts.delete(pair);
    else this.#pairCounts.set(pair, count);
  }

  #remember(pair: number, word: number): void {
    const words = this.#wordsOfPair.get(pair);
    if (words === undefined) this.#wordsOfPair.set(pair, [word]);
    else if (words[words.length - 1] !== word) words.push(word);
  }
}

function forEachPair(ids: Uint32Array, visit: (pair: number) => void): void {
  for (let i = 1; i < ids.length; i += 1) visit((ids[i - 1] as number) * idLimit + (ids[i] as number));
}

/** `ids` with each `left, right` replaced by `merged`, from the left. */
function joinPair(ids: Uint32Array, left: number, right: number, merged: number): Uint32Array {
  const result = new Uint32Array(ids.length);
  let length = 0;
  for (let i = 0; i < ids.length; i += 1) {
    const joined = ids[i] === left && ids[i + 1] === right;
    result[length] = joined ? merged : (ids[i] as number);
    length += 1;
    if (joined) i += 1;
  }
  return result.slice(0, length);
}
