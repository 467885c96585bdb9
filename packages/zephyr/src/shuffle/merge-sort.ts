/** Runs of this length are sorted by insertion. */
const insertionLength = 12;

/**
 * Sorts `order[start..end)`; equal elements stay in their order. `Uint32Array.prototype.sort` would box every number.
 *
 * @param spare - as long as `order`; what is in it is lost
 */
export function sortRange(order: Uint32Array, spare: Uint32Array, start: number, end: number, compare: (a: number, b: number) => number): void {
  for (let from = start; from < end; from += insertionLength) insertionSort(order, from, Math.min(end, from + insertionLength), compare);
  let [source, target] = [order, spare];
  for (let width = insertionLength; width < end - start; width *= 2) {
    for (let from = start; from < end; from += 2 * width) merge(source, target, from, Math.min(end, from + width), Math.min(end, from + 2 * width), compare);
    [source, target] = [target, source];
  }
  if (source !== order) order.set(source.subarray(start, end), start);
}

function insertionSort(order: Uint32Array, start: number, end: number, compare: (a: number, b: number) => number): void {
  for (let index = start + 1; index < end; index++) {
    const element = order[index] as number;
    let at = index;
    for (; at > start && compare(order[at - 1] as number, element) > 0; at--) order[at] = order[at - 1] as number;
    order[at] = element;
  }
}

function merge(source: Uint32Array, target: Uint32Array, start: number, middle: number, end: number, compare: (a: number, b: number) => number): void {
  // Already in order, as many equal keys are: nothing to merge.
  if (middle >= end || compare(source[middle - 1] as number, source[middle] as number) <= 0) {
    target.set(source.subarray(start, end), start);
    return;
  }
  let [left, right] = [start, middle];
  for (let at = start; at < end; at++) {
    const takeLeft = right >= end || (left < middle && compare(source[left] as number, source[right] as number) <= 0);
    target[at] = source[takeLeft ? left++ : right++] as number;
  }
}
