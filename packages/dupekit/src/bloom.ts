import { murmur3 } from "./hash.js";

/** What a {@link BloomFilter} is sized for. */
export interface BloomOptions {
  /** Different items that it should hold, a whole number of at least 1. */
  readonly items: number;
  /** Share of items never added that it may call present once it holds `items`, above 0 and below 1. Default 0.01. */
  readonly falsePositiveRate?: number;
}

/** "DKBF", then the layout's version, hash functions, places (uint32 each, little-endian), added count (float64), and the bit array. */
const magic = 0x46424b44;
const version = 1;
const headerBytes = 24;
const encoder = new TextEncoder();
const seeds = [0x9747b28c, 0x5bd1e995] as const;

/**
 * A Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970): a set that may say "present" of an item never added,
 * with a chosen probability, and never "absent" of one that was. An item's places are h1 + i h2 (Kirsch and Mitzenmacher, "Less hashing, same
 * performance", 2006) with two 32-bit MurmurHash3 of its UTF-8 bytes.
 */
export class BloomFilter {
  /** Bits of the filter, a multiple of 32. */
  readonly bits: number;
  /** Places set for an item. */
  readonly hashes: number;
  readonly #words: Uint32Array;
  #added: number;
  readonly #scratch: Uint32Array;

  private constructor(words: Uint32Array, hashes: number, added: number) {
    this.#words = words;
    this.bits = words.length * 32;
    this.hashes = hashes;
    this.#added = added;
    this.#scratch = new Uint32Array(hashes);
  }

  /**
   * An empty filter of the least size for these items and this rate: bits = -items ln(rate) / ln(2)^2, hashes = bits / items ln(2), rounded.
   *
   * @throws RangeError when the options are out of range, or need more than 2^32 bits
   */
  static create(options: BloomOptions): BloomFilter {
    const { items, falsePositiveRate = 0.01 } = options;
    if (!Number.isSafeInteger(items) || items < 1) throw new RangeError(`items is a whole number of at least 1, found ${String(items)}.`);
    if (!(falsePositiveRate > 0 && falsePositiveRate < 1)) throw new RangeError(`falsePositiveRate is above 0 and below 1, found ${String(falsePositiveRate)}.`);
    const words = Math.ceil((-items * Math.log(falsePositiveRate)) / Math.LN2 ** 2 / 32);
    if (words > 2 ** 27) throw new RangeError(`${String(items)} items at a rate of ${String(falsePositiveRate)} need ${String(words * 32)} bits; a filter has at most 2^32: use several filters.`);
    return new BloomFilter(new Uint32Array(words), Math.max(1, Math.round(((words * 32) / items) * Math.LN2)), 0);
  }

  /**
   * The filter that {@link save} wrote.
   *
   * @throws RangeError when the bytes are not a whole filter of this version; the message says what was found
   */
  static load(bytes: Uint8Array): BloomFilter {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < headerBytes || view.getUint32(0, true) !== magic) {
      throw new RangeError(`A Bloom filter begins with ${String(headerBytes)} bytes of "DKBF" header; these ${String(bytes.length)} bytes do not.`);
    }
    const found = view.getUint32(4, true);
    if (found !== version) throw new RangeError(`This Bloom filter has layout version ${String(found)}; version ${String(version)} is read.`);
    const hashes = view.getUint32(8, true);
    const words = view.getUint32(12, true);
    const added = view.getFloat64(16, true);
    if (hashes < 1 || words < 1 || words > 2 ** 27 || !Number.isSafeInteger(added) || added < 0) {
      throw new RangeError(`The header of this Bloom filter is damaged: ${String(hashes)} hashes, ${String(words)} words, ${String(added)} items.`);
    }
    const length = headerBytes + words * 4;
    if (bytes.length !== length) throw new RangeError(`This Bloom filter should have ${String(length)} bytes, found ${String(bytes.length)}: it was cut short or joined with something else.`);
    return new BloomFilter(Uint32Array.from({ length: words }, (_, index) => view.getUint32(headerBytes + index * 4, true)), hashes, added);
  }

  /** Items added that the filter did not already call present; a little fewer than the different ones. Unknown, so estimated, after a merge. */
  get added(): number {
    return this.#added;
  }

  /**
   * Adds an item.
   *
   * @returns whether it was new: `false` when the filter already called it present
   */
  add(item: string | Uint8Array): boolean {
    let isNew = false;
    for (const place of this.#places(item)) {
      const word = this.#words[place >>> 5] ?? 0;
      const bit = 1 << (place & 31);
      if ((word & bit) !== 0) continue;
      this.#words[place >>> 5] = word | bit;
      isNew = true;
    }
    if (isNew) this.#added += 1;
    return isNew;
  }

  /** Whether the item may have been added; `false` is certain. */
  has(item: string | Uint8Array): boolean {
    for (const place of this.#places(item)) if (((this.#words[place >>> 5] ?? 0) & (1 << (place & 31))) === 0) return false;
    return true;
  }

  /**
   * A filter that calls present what either does: the very filter that adding the items of both would have made.
   *
   * @throws RangeError when the filters differ in size or hashes
   */
  union(other: BloomFilter): BloomFilter {
    return this.#merge(other, "union", (a, b) => a | b);
  }

  /**
   * A filter that calls present what both do. It may call present a little more than a filter made of the common items alone.
   *
   * @throws RangeError when the filters differ in size or hashes
   */
  intersection(other: BloomFilter): BloomFilter {
    return this.#merge(other, "intersection", (a, b) => a & b);
  }

  /** The different items added, estimated from the bits set (Swamidass and Baldi 2007): -bits / hashes ln(1 - set / bits). */
  estimateItems(): number {
    let set = 0;
    for (const word of this.#words) set += popCount(word);
    return set === this.bits ? Infinity : (-this.bits / this.hashes) * Math.log(1 - set / this.bits);
  }

  /** The filter as bytes, the same on every machine: a header and the bits. */
  save(): Uint8Array {
    const bytes = new Uint8Array(headerBytes + this.#words.length * 4);
    const view = new DataView(bytes.buffer);
    for (const [index, value] of [magic, version, this.hashes, this.#words.length].entries()) view.setUint32(index * 4, value, true);
    view.setFloat64(16, this.#added, true);
    this.#words.forEach((word, index) => {
      view.setUint32(headerBytes + index * 4, word, true);
    });
    return bytes;
  }

  #merge(other: BloomFilter, name: string, combine: (a: number, b: number) => number): BloomFilter {
    if (other.bits !== this.bits || other.hashes !== this.hashes) {
      throw new RangeError(
        `The ${name} needs filters of one size: found ${String(this.bits)} bits with ${String(this.hashes)} hashes, and ${String(other.bits)} with ${String(other.hashes)}. Create both with the same options.`,
      );
    }
    const merged = new BloomFilter(this.#words.map((word, index) => combine(word, other.#words[index] ?? 0)), this.hashes, 0);
    const items = merged.estimateItems();
    merged.#added = Number.isFinite(items) ? Math.round(items) : this.#added + other.#added;
    return merged;
  }

  /** The item's places, in an array that the next call overwrites. */
  #places(item: string | Uint8Array): Uint32Array {
    const bytes = typeof item === "string" ? encoder.encode(item) : item;
    const first = murmur3(bytes, seeds[0]);
    // Odd, so that the places of an item never fall together.
    const second = murmur3(bytes, seeds[1]) | 1;
    const scale = this.bits / 2 ** 32;
    for (let index = 0; index < this.hashes; index += 1) this.#scratch[index] = ((first + Math.imul(index, second)) >>> 0) * scale;
    return this.#scratch;
  }
}

function popCount(word: number): number {
  let value = word - ((word >>> 1) & 0x55555555);
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
