import { MarinError } from "@marin/rigging";
import { boundary, continuationCounts, countNgrams, maxOrder, symbolCount, type NgramCounts } from "./ngram-counts.js";

/** What the n-grams of one length contribute to a probability, grouped by their history. Sorted, so both levels are searched. */
interface Level {
  /** Key of each history, ascending. */
  readonly histories: Float64Array;
  /** Where each history's symbols begin in `symbols`; one entry more than histories. */
  readonly starts: Uint32Array;
  /** The symbols seen after each history, ascending. */
  readonly symbols: Uint16Array;
  /** (count − discount) / total of the history, for each symbol. */
  readonly discounted: Float64Array;
  /** Weight of the shorter history's probability, for each history. */
  readonly backoff: Float64Array;
}

/** Discounts of n-grams counted once, twice, and more often. */
type Discounts = readonly [number, number, number];

/** Used where the counts of counts give no estimate (tiny texts). Any discounts above 0, up to 1, 2 and 3, give a distribution. */
const fallbackDiscounts: Discounts = [0.5, 1, 1.5];

/**
 * A byte n-gram model with interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999, "An empirical study of smoothing
 * techniques for language modeling", section 3) over 257 symbols: the bytes and the document's end.
 *
 *   p(w | h) = (c(hw) − D(c(hw))) / c(h·) + γ(h) p(w | h')      γ(h) = (D1 N1(h·) + D2 N2(h·) + D3 N3+(h·)) / c(h·)
 *
 * h' is h without its first symbol; the empty history backs off to 1/257. Histories end at the document's start. c counts
 * occurrences for the longest n-grams and for those that begin at a document's start, else different preceding symbols (the
 * adjusted counts of Heafield et al. 2013, "Scalable modified Kneser-Ney language model estimation", section 3.1).
 */
export class KneserNeyModel {
  readonly #levels: readonly Level[];

  private constructor(levels: readonly Level[]) {
    this.#levels = levels;
  }

  /**
   * Counts the documents and estimates the model.
   *
   * @param documents - UTF-8 bytes of each training document
   * @param options - `order`: symbols of the longest n-grams, 1 to 6; `signal`: stops the work, throwing its reason
   * @throws MarinError MARIN_NGRAM_ORDER for an order that cannot be counted, MARIN_NO_DOCUMENTS when there is no document
   */
  static async train(documents: AsyncIterable<Uint8Array>, options: { readonly order: number; readonly signal?: AbortSignal | undefined }): Promise<KneserNeyModel> {
    const { order, signal } = options;
    if (!Number.isInteger(order) || order < 1 || order > maxOrder) {
      throw new MarinError("MARIN_NGRAM_ORDER", `order must be an integer from 1 to ${String(maxOrder)}, found ${String(order)}`, { data: { order } });
    }
    let counts = await countNgrams(documents, order, signal);
    if (counts.keys.length === 0) throw new MarinError("MARIN_NO_DOCUMENTS", "An n-gram model needs at least one training document, found none.");
    const levels: Level[] = [];
    for (let length = order; length >= 1; length -= 1) {
      levels.unshift(estimate(dropPadding(counts, length)));
      if (length > 1) counts = continuationCounts(counts, length);
    }
    return new KneserNeyModel(levels);
  }

  /** Symbols of the longest n-grams. */
  get order(): number {
    return this.#levels.length;
  }

  /**
   * The probability that `symbol` follows `history`.
   *
   * @param history - symbols 0 to 256 before it, the latest last; 256 as the first one says that the document starts there
   * @param symbol - a byte, or 256 for the document's end
   */
  probability(history: ArrayLike<number>, symbol: number): number {
    const keys = [0];
    for (let length = 1; length < this.order && length <= history.length; length += 1) {
      const added = history[history.length - length] as number;
      keys.push(added * symbolCount ** (length - 1) + (keys[length - 1] as number));
    }
    return this.#probability(keys, keys.length, symbol);
  }

  /**
   * Bits that the model needs for a whole document: −log2 of the probability of its bytes and of its end after them.
   *
   * @param bytes - the document's UTF-8 bytes
   */
  documentBits(bytes: Uint8Array): number {
    const keys = Array.from({ length: this.order }, () => 0);
    let known = 1;
    let bits = 0;
    for (let i = -1; i < bytes.length; i += 1) {
      const latest = bytes[i] ?? boundary;
      known = Math.min(known + 1, this.order);
      for (let length = known - 1; length >= 1; length -= 1) keys[length] = (keys[length - 1] as number) * symbolCount + latest;
      bits -= Math.log2(this.#probability(keys, known, bytes[i + 1] ?? boundary));
    }
    return bits;
  }

  /** `keys[k]` is the key of the latest k symbols; the first `known` of them exist. */
  #probability(keys: readonly number[], known: number, symbol: number): number {
    let probability = 1 / symbolCount;
    for (let k = 0; k < known; k += 1) {
      const level = this.#levels[k] as Level;
      const history = find(level.histories, keys[k] as number, 0, level.histories.length);
      // A history never seen leaves the shorter one's probability, and no longer history can have been seen.
      if (history < 0) break;
      const entry = find(level.symbols, symbol, level.starts[history] as number, level.starts[history + 1] as number);
      probability *= level.backoff[history] as number;
      if (entry >= 0) probability += level.discounted[entry] as number;
    }
    return probability;
  }
}

/** Position of `value` in the ascending `list` from `low` up to `high`, or −1. */
function find(list: Float64Array | Uint16Array, value: number, low: number, high: number): number {
  const end = high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low < end && list[low] === value ? low : -1;
}

/** Leaves out n-grams whose history goes past the document's start: two boundaries in a row before the last symbol. */
function dropPadding({ keys, counts }: NgramCounts, length: number): NgramCounts {
  if (length < 3) return { keys, counts };
  const firstPadded = (boundary * symbolCount + boundary) * symbolCount ** (length - 2);
  const end = keys.findIndex((key) => key >= firstPadded);
  return end < 0 ? { keys, counts } : { keys: keys.subarray(0, end), counts: counts.subarray(0, end) };
}

function estimate({ keys, counts }: NgramCounts): Level {
  const discounts = estimateDiscounts(counts);
  const histories = new Float64Array(keys.length);
  const starts = new Uint32Array(keys.length + 1);
  const symbols = new Uint16Array(keys.length);
  const discounted = new Float64Array(keys.length);
  const backoff = new Float64Array(keys.length);
  let historyCount = 0;
  for (let start = 0; start < keys.length; ) {
    const history = Math.floor((keys[start] as number) / symbolCount);
    let total = 0;
    let taken = 0;
    let end = start;
    for (; end < keys.length && Math.floor((keys[end] as number) / symbolCount) === history; end += 1) {
      const count = counts[end] as number;
      const discount = discounts[Math.min(count, 3) - 1] as number;
      symbols[end] = (keys[end] as number) % symbolCount;
      discounted[end] = count - discount;
      total += count;
      taken += discount;
    }
    for (let i = start; i < end; i += 1) discounted[i] = (discounted[i] as number) / total;
    histories[historyCount] = history;
    backoff[historyCount] = taken / total;
    historyCount += 1;
    starts[historyCount] = end;
    start = end;
  }
  return {
    histories: histories.slice(0, historyCount),
    starts: starts.slice(0, historyCount + 1),
    symbols,
    discounted,
    backoff: backoff.slice(0, historyCount),
  };
}

/** D = k − (k+1) Y n(k+1) / n(k) with Y = n1 / (n1 + 2 n2), where n(k) n-grams have count k (Chen and Goodman 1999, section 3). */
function estimateDiscounts(counts: Float64Array): Discounts {
  const [n1, n2, n3, n4] = [1, 2, 3, 4].map((count) => counts.reduce((sum, each) => sum + Number(each === count), 0)) as [number, number, number, number];
  const y = n1 / (n1 + 2 * n2);
  const discounts: Discounts = [1 - (2 * y * n2) / n1, 2 - (3 * y * n3) / n2, 3 - (4 * y * n4) / n3];
  // Above 0: a history whose symbols all have discount 0 would leave nothing to symbols it was never followed by.
  return discounts.every((discount, i) => discount > 0 && discount <= i + 1) ? discounts : fallbackDiscounts;
}
