import { murmur3Words } from "./hash.js";

/** How signatures are cut into bands. */
export interface LshOptions {
  /** Bands of a signature. More bands find less similar pairs, and more that are not. */
  readonly bands: number;
  /** Places of a band, all of which must agree. More rows leave out less similar pairs. */
  readonly rows: number;
}

/**
 * Locality-sensitive hashing of MinHash signatures (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4): two signatures are candidates when
 * they agree in all rows of at least one band. Sets of Jaccard similarity J become candidates with probability 1 - (1 - J^rows)^bands.
 */
export class Lsh {
  readonly bands: number;
  readonly rows: number;

  /**
   * @param options - bands and rows
   * @throws RangeError when either is not a whole number of at least 1
   */
  constructor(options: LshOptions) {
    for (const [name, value] of Object.entries({ bands: options.bands, rows: options.rows })) {
      if (!Number.isSafeInteger(value) || value < 1) throw new RangeError(`${name} is a whole number of at least 1, found ${String(value)}.`);
    }
    this.bands = options.bands;
    this.rows = options.rows;
  }

  /** Places that a signature needs: bands times rows. */
  get permutations(): number {
    return this.bands * this.rows;
  }

  /** The probability that sets of this Jaccard similarity become candidates. */
  probability(similarity: number): number {
    return 1 - (1 - similarity ** this.rows) ** this.bands;
  }

  /**
   * One 32-bit key for each band: signatures that agree in a band have equal keys there, others differ but for accidents (2^-32).
   *
   * @param signature - `permutations` numbers
   * @throws RangeError for a signature of another length
   */
  keys(signature: Uint32Array): Uint32Array {
    if (signature.length !== this.permutations) {
      throw new RangeError(`${String(this.bands)} bands of ${String(this.rows)} rows need a signature of ${String(this.permutations)} places, found ${String(signature.length)}.`);
    }
    return Uint32Array.from({ length: this.bands }, (_, band) => murmur3Words(signature, band * this.rows, (band + 1) * this.rows, band));
  }

  /**
   * All candidate pairs among the signatures, each once, as indices [smaller, larger] in ascending order.
   *
   * @param signatures - `permutations` numbers each; `undefined` takes no part
   * @throws RangeError for a signature of another length
   */
  candidates(signatures: readonly (Uint32Array | undefined)[]): (readonly [number, number])[] {
    const keys = signatures.map((signature) => (signature === undefined ? undefined : this.keys(signature)));
    const pairs = new Set<number>();
    for (let band = 0; band < this.bands; band += 1) {
      const buckets = new Map<number, number[]>();
      for (const [index, own] of keys.entries()) {
        if (own === undefined) continue;
        const key = own[band] ?? 0;
        const bucket = buckets.get(key);
        if (bucket === undefined) buckets.set(key, [index]);
        else {
          for (const other of bucket) pairs.add(other * signatures.length + index);
          bucket.push(index);
        }
      }
    }
    return Array.from(pairs)
      .sort((a, b) => a - b)
      .map((pair) => [Math.floor(pair / signatures.length), pair % signatures.length] as const);
  }
}
