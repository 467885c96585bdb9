/**
 * In how many documents each shingle occurs: an open-addressing table of two typed arrays, which a JavaScript `Map` of millions of numbers takes
 * several times the memory and time of.
 */
export class DocumentFrequencies {
  #keys = new Uint32Array(1 << 12);
  /** 0 where the place is free. */
  #counts = new Uint32Array(1 << 12);
  #size = 0;

  /** Counts one document. @param set - its distinct shingles */
  add(set: Uint32Array): void {
    for (const shingle of set) {
      if (this.#size * 3 >= this.#keys.length * 2) this.#grow();
      const place = this.#place(shingle);
      if (this.#counts[place] === 0) {
        this.#keys[place] = shingle;
        this.#size += 1;
      }
      this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    }
  }

  /** Documents that hold the shingle. */
  of(shingle: number): number {
    return this.#counts[this.#place(shingle)] ?? 0;
  }

  /** Where the shingle is, or would go. Shingles are well mixed, so their low bits serve as their hash. */
  #place(shingle: number): number {
    const mask = this.#keys.length - 1;
    let place = shingle & mask;
    while (this.#counts[place] !== 0 && this.#keys[place] !== shingle) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const [keys, counts] = [this.#keys, this.#counts];
    this.#keys = new Uint32Array(keys.length * 2);
    this.#counts = new Uint32Array(keys.length * 2);
    for (let index = 0; index < keys.length; index += 1) {
      const count = counts[index] ?? 0;
      if (count === 0) continue;
      const place = this.#place(keys[index] ?? 0);
      this.#keys[place] = keys[index] ?? 0;
      this.#counts[place] = count;
    }
  }
}
