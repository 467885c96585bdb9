import { signature32Portable, signature64Portable } from "./minhash-portable.js";
import { kernelsFor, roundUp, type Kernels } from "./wasm/kernels.js";

/** 32-bit hashes, or 64-bit ones. */
export type HashArray<Bits extends 32 | 64 = 32 | 64> = Bits extends 64 ? BigUint64Array : Uint32Array;

/** What `MinHash.signature` gives: one number for each permutation. */
export type Signature = Uint32Array | BigUint64Array;

/** Settings of a {@link MinHash}. */
export interface MinHashOptions<Bits extends 32 | 64 = 32 | 64> {
  /** Hash functions, which is the length of a signature. The error of an estimate shrinks with its root. Default 128. */
  readonly permutations?: number;
  /** Chooses the hash functions, an unsigned 32-bit number. Signatures compare only under the same seed. Default 42. */
  readonly seed?: number;
  /**
   * Bits of the hashes and of a place of a signature, 32 or 64. In 32 bits different elements share a hash now and then: of sets of n elements about n / 2^32 of them, which shows only
   * beyond millions. Costs about twice the time. Default 32.
   */
  readonly bits?: Bits;
}

/** Where repeated hashes begin to be worth skipping. */
const manyHashes = 2048;
const tableBytes = 4096 * 8;

/**
 * MinHash (Broder, "On the resemblance and containment of documents", 1997): a short signature of a set, such that the
 * share of equal places in two signatures estimates the Jaccard similarity of the sets. The estimate is unbiased; its
 * standard deviation is sqrt(J (1 - J) / permutations).
 *
 * Each hash function is a bijection of the 32-bit or 64-bit numbers: an exclusive or and an odd multiplication; in 32 bits a shift and another multiplication follow.
 */
export class MinHash<Bits extends 32 | 64 = 32> {
  /** Length of a signature. */
  readonly permutations: number;
  /** Bits of a place of a signature. */
  readonly bits: Bits;
  /** The permutations' numbers to mask and to multiply by, 32 bits each or 64 in two, the lower first; filled up to whole rounds of the kernel. */
  readonly #masks: Uint32Array;
  readonly #factors: Uint32Array;

  /**
   * @param options - how many hash functions, which, and of how many bits
   * @throws RangeError when `permutations` is not a whole number of at least 1, `seed` no unsigned 32-bit number, or `bits` neither 32 nor 64
   */
  constructor(options: MinHashOptions<Bits> = {}) {
    const { permutations = 128, seed = 42, bits = 32 as Bits } = options;
    if (!Number.isSafeInteger(permutations) || permutations < 1) {
      throw new RangeError(`permutations is a whole number of at least 1, found ${String(permutations)}.`);
    }
    if (seed !== seed >>> 0) throw new RangeError(`seed is a whole number from 0 to 4294967295, found ${String(seed)}.`);
    if (bits !== 32 && bits !== 64) throw new RangeError(`bits is 32 or 64, found ${String(bits)}.`);
    this.permutations = permutations;
    this.bits = bits;
    const numbers = Math.ceil(permutations / 16) * (bits / 2);
    this.#masks = new Uint32Array(numbers);
    this.#factors = new Uint32Array(numbers);
    const parts = bits / 32;
    for (let index = 0; index < permutations * parts; index += 1) {
      this.#masks[index] = spread(seed, 2 * index);
      // Odd, so that the multiplication loses nothing.
      this.#factors[index] = spread(seed, 2 * index + 1) | (index % parts === 0 ? 1 : 0);
    }
  }

  /**
   * The signature of a set.
   *
   * @param hashes - well-mixed hashes of the set's elements, as `shingles` gives them with the same `bits`; order and repetition do not matter
   * @returns `permutations` numbers; all 2^32 - 1 or 2^64 - 1 for the empty set
   * @throws RangeError for hashes of other bits
   */
  signature(hashes: HashArray<Bits>): HashArray<Bits> {
    const isLong = hashes instanceof BigUint64Array;
    if (isLong !== (this.bits === 64)) throw new RangeError(`A MinHash of ${String(this.bits)} bits takes hashes of as many, found ${isLong ? "64" : "32"}.`);
    const kernels = kernelsFor(this.#masks.byteLength * 3 + tableBytes + hashes.byteLength + 64);
    const signature = kernels === undefined ? this.#portable(hashes) : this.#run(kernels, hashes);
    return signature as HashArray<Bits>;
  }

  #portable(hashes: Signature): Signature {
    if (hashes instanceof BigUint64Array) return signature64Portable(hashes, this.#masks, this.#factors, this.permutations);
    return signature32Portable(hashes, this.#masks, this.#factors, this.permutations);
  }

  #run(kernels: Kernels, hashes: Signature): Signature {
    const { run, words } = kernels;
    const size = this.#masks.byteLength;
    const masks = kernels.free;
    const [factors, signature, table] = [masks + size, masks + 2 * size, masks + 3 * size];
    const input = roundUp(table + tableBytes);
    words.set(this.#masks, masks >>> 2);
    words.set(this.#factors, factors >>> 2);
    words.fill(0xffffffff, signature >>> 2, (signature + size) >>> 2);
    kernels.bytes.set(new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength), input);
    let count = hashes.length;
    if (hashes instanceof BigUint64Array) {
      if (count >= manyHashes) count = run.skipRepeated64(input, count, table);
      run.minHash64(input, count, masks, factors, signature, size / 8);
      const result = new BigUint64Array(this.permutations);
      new Uint8Array(result.buffer).set(kernels.bytes.subarray(signature, signature + result.byteLength));
      return result;
    }
    if (count >= manyHashes) count = run.skipRepeated32(input, count, table);
    run.minHash32(input, count, masks, factors, signature, size / 4);
    return words.slice(signature >>> 2, (signature >>> 2) + this.permutations);
  }
}

/**
 * Estimates the Jaccard similarity of two sets from their signatures: the share of equal places.
 *
 * @throws RangeError when the signatures differ in length or bits, or have no places
 */
export function estimateJaccard(a: Signature, b: Signature): number {
  if (a.length !== b.length || a.length === 0 || a.BYTES_PER_ELEMENT !== b.BYTES_PER_ELEMENT) {
    const found = [a, b].map((signature) => `${String(signature.length)} places of ${String(signature.BYTES_PER_ELEMENT * 8)} bits`).join(" and ");
    throw new RangeError(`Signatures of equal length and bits are compared, found ${found}.`);
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
