import { compareBytes } from "./compare-bytes.js";

/** Runs of this length are sorted by insertion. */
const insertionLength = 12;

/** Bytes that are compared as one number: a double holds 53 bits exactly. */
const prefixBytes = 6;

/** Where so many prefixes do not tell keys apart, they are compared whole: recursion must end before the stack does. */
const maxDepth = 200;

/** What is sorted: things with numbers, and the bytes that they are sorted by, none of which are the beginning of others. */
export interface SortedBytes {
  /** The buffer in which the bytes of a thing are. */
  bytesOf(number: number): Buffer;
  /** Where they begin. */
  offsetOf(number: number): number;
  /** How many there are. */
  lengthOf(number: number): number;
}

/** Memory for sorting so many things. */
export class PrefixSorter {
  readonly #spare: Uint32Array;
  readonly #prefixes: Float64Array;

  constructor(capacity: number) {
    this.#spare = new Uint32Array(capacity);
    this.#prefixes = new Float64Array(capacity);
  }

  /**
   * Sorts the numbers in `order[start..end)`, which are below the capacity, by their bytes; equal ones stay in their order. Some bytes of each are compared at a time,
   * behind what all have in common, as numbers; those that are equal in them are then sorted by the next ones.
   *
   * @param from - how many bytes all are known to have in common
   */
  sort(order: Uint32Array, start: number, end: number, bytes: SortedBytes, from = 0, depth = 0): void {
    if (end - start < 2) return;
    if (depth === maxDepth) return sortWhole(order.subarray(start, end), bytes);
    const first = order[start] as number;
    const common = commonLength(order, start, end, bytes, from);
    if (common >= bytes.lengthOf(first)) return;
    const prefixes = this.#prefixes;
    for (let index = start; index < end; index++) {
      const number = order[index] as number;
      const buffer = bytes.bytesOf(number);
      const at = bytes.offsetOf(number) + common;
      const length = bytes.lengthOf(number) - common;
      let prefix = 0;
      for (let byte = 0; byte < prefixBytes; byte++) prefix = prefix * 256 + (byte < length ? (buffer[at + byte] as number) : 0);
      prefixes[number] = prefix;
    }
    this.#sortByPrefix(order, start, end);
    for (let index = start; index < end; ) {
      const prefix = prefixes[order[index] as number];
      let next = index + 1;
      while (next < end && prefixes[order[next] as number] === prefix) next += 1;
      this.sort(order, index, next, bytes, common + prefixBytes, depth + 1);
      index = next;
    }
  }

  #sortByPrefix(order: Uint32Array, start: number, end: number): void {
    for (let from = start; from < end; from += insertionLength) this.#insertionSort(order, from, Math.min(end, from + insertionLength));
    let [source, target] = [order, this.#spare];
    for (let width = insertionLength; width < end - start; width *= 2) {
      for (let from = start; from < end; from += 2 * width) this.#merge(source, target, from, Math.min(end, from + width), Math.min(end, from + 2 * width));
      [source, target] = [target, source];
    }
    if (source !== order) order.set(source.subarray(start, end), start);
  }

  #insertionSort(order: Uint32Array, start: number, end: number): void {
    const prefixes = this.#prefixes;
    for (let index = start + 1; index < end; index++) {
      const number = order[index] as number;
      const prefix = prefixes[number] as number;
      let at = index;
      for (; at > start && (prefixes[order[at - 1] as number] as number) > prefix; at--) order[at] = order[at - 1] as number;
      order[at] = number;
    }
  }

  #merge(source: Uint32Array, target: Uint32Array, start: number, middle: number, end: number): void {
    const prefixes = this.#prefixes;
    // Already in order, as many equal ones are: nothing to merge.
    if (middle >= end || (prefixes[source[middle - 1] as number] as number) <= (prefixes[source[middle] as number] as number)) {
      target.set(source.subarray(start, end), start);
      return;
    }
    let [left, right] = [start, middle];
    let leftPrefix = prefixes[source[left] as number] as number;
    let rightPrefix = prefixes[source[right] as number] as number;
    for (let at = start; at < end; at++) {
      if (right >= end || (left < middle && leftPrefix <= rightPrefix)) {
        target[at] = source[left++] as number;
        leftPrefix = prefixes[source[left] as number] as number;
      } else {
        target[at] = source[right++] as number;
        rightPrefix = prefixes[source[right] as number] as number;
      }
    }
  }
}

function sortWhole(order: Uint32Array, bytes: SortedBytes): void {
  const end = (number: number): number => bytes.offsetOf(number) + bytes.lengthOf(number);
  order.set([...order].sort((a, b) => compareBytes(bytes.bytesOf(a), bytes.offsetOf(a), end(a), bytes.bytesOf(b), bytes.offsetOf(b), end(b))));
}

/** How many bytes all have in common, of which `from` are known. */
function commonLength(order: Uint32Array, start: number, end: number, bytes: SortedBytes, from: number): number {
  const first = order[start] as number;
  const firstBytes = bytes.bytesOf(first);
  const firstAt = bytes.offsetOf(first);
  let common = bytes.lengthOf(first);
  for (let index = start + 1; index < end && common > from; index++) {
    const number = order[index] as number;
    const buffer = bytes.bytesOf(number);
    const at = bytes.offsetOf(number);
    const most = Math.min(common, bytes.lengthOf(number));
    let same = from;
    while (same < most && buffer[at + same] === firstBytes[firstAt + same]) same += 1;
    common = same;
  }
  return common;
}
