import { littleEndianBytes } from "./endian.js";
import { murmur3Words } from "./hash.js";
import type { Signature } from "./minhash.js";
import { xxh3_64 } from "./xxh3.js";

/** How signatures are cut into bands. */
export interface LshOptions {
  /** Bands of a signature. More bands find less similar pairs, and more that are not. */
  readonly bands: number;
  /** Places of a band, all of which must agree. More rows leave out less similar pairs. */
  readonly rows: number;
}

/** What {@link Lsh.choose} is asked for. */
export interface LshGoal {
  /** Most places of a signature: bands times rows. A whole number of at least 1. */
  readonly permutations: number;
  /** Jaccard similarity of pairs that are to be found, above 0 and below 1. */
  readonly similarity: number;
  /** Least probability to find them, above 0 and below 1. Default 0.9. */
  readonly recall?: number;
}

/**
 * Locality-sensitive hashing of MinHash signatures (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4): two signatures are candidates when
 * they agree in all rows of at least one band. Sets of Jaccard similarity J become candidates with probability 1 - (1 - J^rows)^bands, the S-curve.
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

  /**
   * The most selective bands that find what is to be found: of all that fit into the places and reach the recall at the similarity, those with the most rows, and of these with the fewest bands.
   *
   * @throws RangeError for a goal out of range, or one that so few places cannot reach (which one row in each band would reach if any did)
   */
  static choose(goal: LshGoal): Lsh {
    const { permutations, similarity, recall = 0.9 } = goal;
    if (!Number.isSafeInteger(permutations) || permutations < 1) throw new RangeError(`permutations is a whole number of at least 1, found ${String(permutations)}.`);
    for (const [name, value] of Object.entries({ similarity, recall })) if (!(value > 0 && value < 1)) throw new RangeError(`${name} is above 0 and below 1, found ${String(value)}.`);
    for (let rows = permutations; rows >= 1; rows -= 1) {
      const most = Math.floor(permutations / rows);
      if (new Lsh({ bands: most, rows }).probability(similarity) < recall) continue;
      // The least number of bands by the S-curve's inverse, and the next ones where rounding took it too low.
      let bands = Math.max(1, Math.floor(Math.log1p(-recall) / Math.log1p(-(similarity ** rows))));
      while (new Lsh({ bands, rows }).probability(similarity) < recall) bands += 1;
      return new Lsh({ bands: Math.min(bands, most), rows });
    }
    throw new RangeError(`${String(permutations)} places find pairs of similarity ${String(similarity)} with probability ${String(1 - (1 - similarity) ** permutations)} at most, below ${String(recall)}.`);
  }

  /** Places that a signature needs: bands times rows. */
  get permutations(): number {
    return this.bands * this.rows;
  }

  /** The S-curve: the probability that sets of this Jaccard similarity become candidates. */
  probability(similarity: number): number {
    return 1 - (1 - similarity ** this.rows) ** this.bands;
  }

  /**
   * The S-curve's inverse: the Jaccard similarity of sets that become candidates with this probability. At 0.5 it is where the curve tips.
   *
   * @throws RangeError for a probability below 0 or above 1
   */
  similarityAt(probability: number): number {
    if (!(probability >= 0 && probability <= 1)) throw new RangeError(`A probability is from 0 to 1, found ${String(probability)}.`);
    return (1 - (1 - probability) ** (1 / this.bands)) ** (1 / this.rows);
  }

  /**
   * One key for each band: signatures that agree in a band have equal keys there, others differ but for accidents (2^-32; 2^-64 for signatures of 64 bits).
   *
   * @param signature - `permutations` numbers
   * @returns MurmurHash3 of the band, seeded by its number; of a signature of 64 bits XXH3 of the band's little-endian bytes, seeded likewise
   * @throws RangeError for a signature of another length
   */
  keys<Kind extends Signature>(signature: Kind): Kind {
    if (signature.length !== this.permutations) {
      throw new RangeError(`${String(this.bands)} bands of ${String(this.rows)} rows need a signature of ${String(this.permutations)} places, found ${String(signature.length)}.`);
    }
    const { rows } = this;
    if (signature instanceof BigUint64Array) {
      const bytes = littleEndianBytes(signature);
      return BigUint64Array.from({ length: this.bands }, (_, band) => xxh3_64(bytes.subarray(band * rows * 8, (band + 1) * rows * 8), BigInt(band))) as Kind;
    }
    return Uint32Array.from({ length: this.bands }, (_, band) => murmur3Words(signature, band * rows, (band + 1) * rows, band)) as Kind;
  }

  /**
   * The buckets of each band that hold two signatures and more, as their indices, ascending: band by band, in the order of their first.
   *
   * @param signatures - `permutations` numbers each, all of as many bits; `undefined` takes no part
   * @throws RangeError for a signature of another length
   */
  *buckets(signatures: readonly (Signature | undefined)[]): Generator<readonly number[], void> {
    const keys = signatures.map((signature) => (signature === undefined ? undefined : this.keys(signature)));
    for (let band = 0; band < this.bands; band += 1) {
      const buckets = new Map<number | bigint, number[]>();
      for (const [index, own] of keys.entries()) {
        if (own === undefined) continue;
        const key = own[band] ?? 0;
        const bucket = buckets.get(key);
        if (bucket === undefined) buckets.set(key, [index]);
        else bucket.push(index);
      }
      for (const bucket of buckets.values()) if (bucket.length > 1) yield bucket;
    }
  }

  /**
   * All candidate pairs among the signatures, each once, as indices [smaller, larger] in ascending order.
   *
   * @param signatures - `permutations` numbers each, all of as many bits; `undefined` takes no part
   * @throws RangeError for a signature of another length
   */
  candidates(signatures: readonly (Signature | undefined)[]): (readonly [number, number])[] {
    const pairs = new Set<number>();
    for (const bucket of this.buckets(signatures)) {
      for (const [place, right] of bucket.entries()) for (let before = 0; before < place; before += 1) pairs.add((bucket[before] ?? 0) * signatures.length + right);
    }
    return Array.from(pairs)
      .sort((a, b) => a - b)
      .map((pair) => [Math.floor(pair / signatures.length), pair % signatures.length] as const);
  }
}
