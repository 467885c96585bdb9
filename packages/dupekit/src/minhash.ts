/** Settings of a {@link MinHash}. */
export interface MinHashOptions {
  /** Hash functions, which is the length of a signature. The error of an estimate shrinks with its root. Default 128. */
  readonly permutations?: number;
  /** Chooses the hash functions, an unsigned 32-bit number. Signatures compare only under the same seed. Default 42. */
  readonly seed?: number;
}

/**
 * MinHash (Broder, "On the resemblance and containment of documents", 1997): a short signature of a set, such that the
 * share of equal places in two signatures estimates the Jaccard similarity of the sets. The estimate is unbiased; its
 * standard deviation is sqrt(J (1 - J) / permutations).
 *
 * Each hash function is a bijection of the 32-bit numbers: an exclusive or, two odd multiplications and a shift between.
 */
export class MinHash {
  /** Length of a signature. */
  readonly permutations: number;
  readonly #masks: Uint32Array;
  readonly #factors: Uint32Array;

  /**
   * @param options - how many hash functions, and which
   * @throws RangeError when `permutations` is not a whole number of at least 1, or `seed` no unsigned 32-bit number
   */
  constructor(options: MinHashOptions = {}) {
    const { permutations = 128, seed = 42 } = options;
    if (!Number.isSafeInteger(permutations) || permutations < 1) {
      throw new RangeError(`permutations is a whole number of at least 1, found ${String(permutations)}.`);
    }
    if (seed !== seed >>> 0) throw new RangeError(`seed is a whole number from 0 to 4294967295, found ${String(seed)}.`);
    this.permutations = permutations;
    this.#masks = new Uint32Array(permutations);
    this.#factors = new Uint32Array(permutations);
    for (let index = 0; index < permutations; index += 1) {
      this.#masks[index] = spread(seed, 2 * index);
      this.#factors[index] = spread(seed, 2 * index + 1) | 1;
    }
  }

  /**
   * The signature of a set.
   *
   * @param hashes - well-mixed 32-bit hashes of the set's elements, as `shingles` gives them; order and repetition do not matter
   * @returns `permutations` numbers; all 4294967295 for the empty set
   */
  signature(hashes: Uint32Array): Uint32Array {
    const signature = new Uint32Array(this.permutations).fill(0xffffffff);
    for (let index = 0; index < signature.length; index += 1) {
      const mask = this.#masks[index] ?? 0;
      const factor = this.#factors[index] ?? 0;
      // Compared as signed numbers with the top bit flipped, which keeps the order and stays within the engine's integers.
      let least = 0x7fffffff;
      for (let at = 0; at < hashes.length; at += 1) {
        const mixed = Math.imul((hashes[at] ?? 0) ^ mask, factor);
        const hash = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b) ^ 0x80000000;
        if (hash < least) least = hash;
      }
      signature[index] = least ^ 0x80000000;
    }
    return signature;
  }
}

/**
 * Estimates the Jaccard similarity of two sets from their signatures: the share of equal places.
 *
 * @throws RangeError when the signatures differ in length or have none
 */
export function estimateJaccard(a: Uint32Array, b: Uint32Array): number {
  if (a.length !== b.length || a.length === 0) {
    throw new RangeError(`Signatures of equal length are compared, found ${String(a.length)} and ${String(b.length)} places.`);
  }
  let equal = 0;
  for (let index = 0; index < a.length; index += 1) if (a[index] === b[index]) equal += 1;
  return equal / a.length;
}

/** The n-th number of the sequence that a seed starts: a counter through two rounds of multiply and shift. */
function spread(seed: number, n: number): number {
  let value = (seed + Math.imul(n + 1, 0x9e3779b9)) | 0;
  value = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  value = Math.imul(value ^ (value >>> 15), 0x735a2d97);
  return (value ^ (value >>> 15)) >>> 0;
}
