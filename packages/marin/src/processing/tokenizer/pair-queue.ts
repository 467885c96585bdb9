/** Pairs of token ids ordered by count, highest first; equal counts by the pair's ids, lowest first. A binary heap. */
export class PairQueue {
  readonly #pairs: number[] = [];
  readonly #counts: number[] = [];

  /** Adds a pair with the count it has now. A pair may be in the queue several times. */
  push(pair: number, count: number): void {
    let child = this.#pairs.length;
    this.#pairs.push(pair);
    this.#counts.push(count);
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  /** Takes the first pair out; undefined when the queue is empty. */
  pop(): { readonly pair: number; readonly count: number } | undefined {
    const pair = this.#pairs[0];
    const count = this.#counts[0];
    if (pair === undefined || count === undefined) return undefined;
    const last = this.#pairs.length - 1;
    this.#swap(0, last);
    this.#pairs.pop();
    this.#counts.pop();
    let parent = 0;
    for (;;) {
      let first = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) if (child < last && this.#before(child, first)) first = child;
      if (first === parent) break;
      this.#swap(parent, first);
      parent = first;
    }
    return { pair, count };
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#counts[a] as number) - (this.#counts[b] as number);
    return difference > 0 || (difference === 0 && (this.#pairs[a] as number) < (this.#pairs[b] as number));
  }

  #swap(a: number, b: number): void {
    for (const list of [this.#pairs, this.#counts]) {
      const kept = list[a] as number;
      list[a] = list[b] as number;
      list[b] = kept;
    }
  }
}
