import { setImmediate } from "node:timers/promises";

/** Symbols a byte model predicts: the 256 bytes and the end of a document. */
export const symbolCount = 257;

/** The symbol that ends a document; in a history it marks the document's start. */
export const boundary = 256;

/**
 * Counts of n-grams, sorted by key. The key of the symbols s1 ... sn is the number with these digits in base 257, s1 first,
 * which is exact for n up to 6.
 */
export interface NgramCounts {
  readonly keys: Float64Array;
  readonly counts: Float64Array;
}

/** Longest n-gram whose key is an exact number. */
export const maxOrder = 6;

const chunkLength = 1 << 20;

/**
 * Counts every n-gram of the documents' symbols, where each document is its bytes and then {@link boundary}, after as many
 * boundaries as its first symbol has history. Sorting in chunks keeps memory to the distinct n-grams and the event loop free.
 *
 * @param documents - UTF-8 bytes of each document
 * @param order - n, from 1 to {@link maxOrder}
 * @param signal - stops the work, throwing its reason
 */
export async function countNgrams(documents: AsyncIterable<Uint8Array>, order: number, signal?: AbortSignal): Promise<NgramCounts> {
  const modulus = symbolCount ** (order - 1);
  const chunk = new Float64Array(chunkLength);
  let filled = 0;
  const runs: NgramCounts[] = [];
  const flush = (): void => {
    runs.push(countKeys(chunk.subarray(0, filled).sort()));
    filled = 0;
    // Merging runs of like size keeps the work at n log n.
    while (runs.length > 1 && (runs.at(-2) as NgramCounts).keys.length <= 2 * (runs.at(-1) as NgramCounts).keys.length) mergeLastTwo(runs);
  };
  for await (const bytes of documents) {
    let history = 0;
    for (let k = 1; k < order; k += 1) history = history * symbolCount + boundary;
    for (let i = 0; i <= bytes.length; i += 1) {
      const key = history * symbolCount + (bytes[i] ?? boundary);
      chunk[filled] = key;
      filled += 1;
      history = key % modulus;
      if (filled === chunkLength) {
        flush();
        await setImmediate();
        signal?.throwIfAborted();
      }
    }
  }
  flush();
  while (runs.length > 1) mergeLastTwo(runs);
  return runs[0] as NgramCounts;
}

/**
 * The Kneser-Ney counts of the n-grams one symbol shorter: for each, in how many different ways it is preceded. An n-gram that
 * begins with the document's start is preceded by nothing, so its own count stays.
 *
 * @param longer - counts for `order`, from {@link countNgrams} or this function
 * @param order - symbols of `longer`'s n-grams, at least 2
 */
export function continuationCounts(longer: NgramCounts, order: number): NgramCounts {
  const modulus = symbolCount ** (order - 1);
  const startOfDocument = order > 2 ? boundary * symbolCount ** (order - 2) : Infinity;
  const inner = new Float64Array(longer.keys.length);
  const atStart: number[] = [];
  let innerLength = 0;
  for (let i = 0; i < longer.keys.length; i += 1) {
    const key = (longer.keys[i] as number) % modulus;
    if (key >= startOfDocument) {
      atStart.push(i);
    } else {
      inner[innerLength] = key;
      innerLength += 1;
    }
  }
  const counted = countKeys(inner.subarray(0, innerLength).sort());
  // The start of a document is preceded only by itself, so these keys differ, keep their order, and follow all others.
  return {
    keys: concat(counted.keys, atStart, (i) => (longer.keys[i] as number) % modulus),
    counts: concat(counted.counts, atStart, (i) => longer.counts[i] as number),
  };
}

function concat(head: Float64Array, tail: readonly number[], value: (index: number) => number): Float64Array {
  const result = new Float64Array(head.length + tail.length);
  result.set(head);
  tail.forEach((index, i) => {
    result[head.length + i] = value(index);
  });
  return result;
}

/** Distinct keys of a sorted list and how often each occurs. */
function countKeys(sorted: Float64Array): NgramCounts {
  const keys = new Float64Array(sorted.length);
  const counts = new Float64Array(sorted.length);
  let length = 0;
  for (const key of sorted) {
    if (length === 0 || keys[length - 1] !== key) {
      keys[length] = key;
      length += 1;
    }
    counts[length - 1] = (counts[length - 1] as number) + 1;
  }
  return { keys: keys.slice(0, length), counts: counts.slice(0, length) };
}

function mergeLastTwo(runs: NgramCounts[]): void {
  const b = runs.pop() as NgramCounts;
  const a = runs.pop() as NgramCounts;
  const keys = new Float64Array(a.keys.length + b.keys.length);
  const counts = new Float64Array(keys.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.keys.length || j < b.keys.length; length += 1) {
    const left = a.keys[i] ?? Infinity;
    const right = b.keys[j] ?? Infinity;
    keys[length] = Math.min(left, right);
    counts[length] = (left <= right ? (a.counts[i] as number) : 0) + (right <= left ? (b.counts[j] as number) : 0);
    if (left <= right) i += 1;
    if (right <= left) j += 1;
  }
  runs.push({ keys: keys.slice(0, length), counts: counts.slice(0, length) });
}
