import { fromLittleEndian, isLittleEndian, littleEndianBytes } from "./endian.js";
import { xxh3_64, xxh3Batches, xxh3Pair } from "./xxh3.js";

/** What a {@link BloomFilter} is sized for. */
export interface BloomOptions {
  /** Different items that it should hold, a whole number of at least 1. */
  readonly items: number;
  /** Share of items never added that it may call present once it holds `items`, above 0 and below 1. Default 0.01. */
  readonly falsePositiveRate?: number;
}

/** "DKBF", then the layout's version, hash functions, places (uint32 each, little-endian), added count (float64), a checksum of all (XXH3 of 64 bits), and the bit array. */
const magic = 0x46424b44;
const version = 2;
const headerBytes = 32;
/** Bytes of a part of {@link BloomFilter.saveChunks}. */
const chunkBytes = 32 * 2 ** 20;
const mostWords = 2 ** 27;

/**
 * A Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970): a set that may say "present" of an item never added,
 * with a chosen probability, and never "absent" of one that was. An item's places are h1 + i h2 (Kirsch and Mitzenmacher, "Less hashing, same
 * performance", 2006) with the lower and the upper half of the XXH3 of its UTF-8 bytes.
 */
export class BloomFilter {
  /** Bits of the filter, a multiple of 32. */
  readonly bits: number;
  /** Places set for an item. */
  readonly hashes: number;
  readonly #words: Uint32Array;
  #added: number;
  readonly #pair = new Uint32Array(2);

  private constructor(words: Uint32Array, hashes: number, added: number) {
    this.#words = words;
    this.bits = words.length * 32;
    this.hashes = hashes;
    this.#added = added;
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
    if (words > mostWords) throw new RangeError(`${String(items)} items at a rate of ${String(falsePositiveRate)} need ${String(words * 32)} bits; a filter has at most 2^32: use several filters.`);
    return new BloomFilter(new Uint32Array(words), Math.max(1, Math.round(((words * 32) / items) * Math.LN2)), 0);
  }

  /**
   * The filter that {@link save} wrote.
   *
   * @throws RangeError when the bytes are not a whole filter of this version, or were changed; the message says what was found
   */
  static load(bytes: Uint8Array): BloomFilter {
    const header = readHeader(bytes);
    if (bytes.length !== header.bytes) throw wrongLength(header.bytes, bytes.length);
    return BloomFilter.#checked(header, fromLittleEndian(bytes.subarray(headerBytes)));
  }

  /**
   * The filter that {@link saveChunks} wrote, from parts of any size.
   *
   * @throws RangeError as {@link load}
   */
  static async loadChunks(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<BloomFilter> {
    const parts: Uint8Array[] = [];
    let length = 0;
    let header: Header | undefined;
    for await (const chunk of chunks) {
      parts.push(chunk);
      length += chunk.length;
      if (header === undefined && length >= headerBytes) header = readHeader(Buffer.concat(parts));
      if (header !== undefined && length > header.bytes) throw wrongLength(header.bytes, length);
    }
    return BloomFilter.load(Buffer.concat(parts, length));
  }

  static #checked({ fields, hashes, added, checksum }: Header, words: Uint32Array): BloomFilter {
    const found = checksumOf(fields, words);
    if (found !== checksum) throw new RangeError(`This Bloom filter was changed after it was saved: its checksum is ${hex(found)}, saved as ${hex(checksum)}.`);
    return new BloomFilter(words, hashes, added);
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
    xxh3Pair(item, this.#pair);
    return this.#mark(this.#pair[0] ?? 0, this.#pair[1] ?? 0);
  }

  /** Whether the item may have been added; `false` is certain. */
  has(item: string | Uint8Array): boolean {
    xxh3Pair(item, this.#pair);
    return this.#holds(this.#pair[0] ?? 0, this.#pair[1] ?? 0);
  }

  /**
   * Adds many items: as {@link add} of each in turn, in less time.
   *
   * @returns how many were new
   */
  addAll(items: readonly (string | Uint8Array)[]): number {
    const before = this.#added;
    for (const pairs of xxh3Batches(items)) this.#markAll(pairs, 0);
    return this.#added - before;
  }

  /**
   * Looks many items up: as {@link has} of each, in less time.
   *
   * @returns 1 for each that may have been added, 0 for each that certainly was not
   */
  hasAll(items: readonly (string | Uint8Array)[]): Uint8Array {
    const found = new Uint8Array(items.length);
    let from = 0;
    for (const pairs of xxh3Batches(items)) {
      this.#findAll(pairs, 0, found, from);
      from += pairs.length / 2;
    }
    return found;
  }

  /**
   * Adds items by their hashes of 64 bits: `xxh3_64` of an item, or what `shingles` gives with `bits: 64`. The item itself is then present too.
   *
   * @returns how many were new
   */
  addHashes(hashes: BigUint64Array): number {
    const { halves, low } = halvesOf(hashes);
    const before = this.#added;
    this.#markAll(halves, low);
    return this.#added - before;
  }

  /**
   * Looks items up by their hashes of 64 bits, see {@link addHashes}.
   *
   * @returns 1 for each that may have been added, 0 for each that certainly was not
   */
  hasHashes(hashes: BigUint64Array): Uint8Array {
    const { halves, low } = halvesOf(hashes);
    const found = new Uint8Array(hashes.length);
    this.#findAll(halves, low, found, 0);
    return found;
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

  /**
   * Whether all that this filter calls present the other calls present too, as it does when all items were added to it as well.
   *
   * @throws RangeError when the filters differ in size or hashes
   */
  isSubsetOf(other: BloomFilter): boolean {
    this.#checkSize(other, "comparison");
    return this.#words.every((word, index) => (word & ~(other.#words[index] ?? 0)) === 0);
  }

  /**
   * Whether both filters call the same present.
   *
   * @throws RangeError when the filters differ in size or hashes
   */
  equals(other: BloomFilter): boolean {
    this.#checkSize(other, "comparison");
    return this.#words.every((word, index) => word === other.#words[index]);
  }

  /** A filter of its own that holds the same. */
  copy(): BloomFilter {
    return new BloomFilter(this.#words.slice(), this.hashes, this.#added);
  }

  /** Removes all items. */
  clear(): void {
    this.#words.fill(0);
    this.#added = 0;
  }

  /** The different items added, estimated from the bits set (Swamidass and Baldi 2007): -bits / hashes ln(1 - set / bits). */
  estimateItems(): number {
    let set = 0;
    for (const word of this.#words) set += popCount(word);
    return set === this.bits ? Infinity : (-this.bits / this.hashes) * Math.log(1 - set / this.bits);
  }

  /** The filter as bytes, the same on every machine: a header of 32 bytes and the bits. */
  save(): Uint8Array {
    return Buffer.concat(Array.from(this.saveChunks()));
  }

  /** What {@link save} gives, in parts of at most 32 MiB: of a large filter no second copy is made. */
  *saveChunks(): Generator<Uint8Array, void, undefined> {
    const header = new Uint8Array(headerBytes);
    const view = new DataView(header.buffer);
    for (const [index, value] of [magic, version, this.hashes, this.#words.length].entries()) view.setUint32(index * 4, value, true);
    view.setFloat64(16, this.#added, true);
    view.setBigUint64(24, checksumOf(header.subarray(0, 24), this.#words), true);
    yield header;
    for (let from = 0; from < this.#words.length; from += chunkBytes / 4) yield littleEndianBytes(this.#words.subarray(from, from + chunkBytes / 4));
  }

  #checkSize(other: BloomFilter, name: string): void {
    if (other.bits === this.bits && other.hashes === this.hashes) return;
    throw new RangeError(
      `The ${name} needs filters of one size: found ${String(this.bits)} bits with ${String(this.hashes)} hashes, and ${String(other.bits)} with ${String(other.hashes)}. Create both with the same options.`,
    );
  }

  #merge(other: BloomFilter, name: string, combine: (a: number, b: number) => number): BloomFilter {
    this.#checkSize(other, name);
    const merged = new BloomFilter(this.#words.map((word, index) => combine(word, other.#words[index] ?? 0)), this.hashes, 0);
    const items = merged.estimateItems();
    merged.#added = Number.isFinite(items) ? Math.round(items) : this.#added + other.#added;
    return merged;
  }

  #markAll(pairs: Uint32Array, low: 0 | 1): void {
    for (let at = 0; at < pairs.length; at += 2) this.#mark(pairs[at + low] ?? 0, pairs[at + 1 - low] ?? 0);
  }

  /** Says from `from` on which of the pairs are present. */
  #findAll(pairs: Uint32Array, low: 0 | 1, found: Uint8Array, from: number): void {
    for (let at = 0; at < pairs.length; at += 2) found[from + (at >>> 1)] = this.#holds(pairs[at + low] ?? 0, pairs[at + 1 - low] ?? 0) ? 1 : 0;
  }

  #mark(first: number, second: number): boolean {
    const words = this.#words;
    const scale = this.bits / 2 ** 32;
    // Odd, so that the places of an item never fall together.
    const step = second | 1;
    // Without a branch on each bit, which no processor could foresee.
    let fresh = 0;
    for (let index = 0, hash = first; index < this.hashes; index += 1, hash = (hash + step) | 0) {
      const place = (hash >>> 0) * scale;
      const word = words[place >>> 5] ?? 0;
      const bit = 1 << (place & 31);
      fresh |= bit & ~word;
      words[place >>> 5] = word | bit;
    }
    if (fresh !== 0) this.#added += 1;
    return fresh !== 0;
  }

  #holds(first: number, second: number): boolean {
    const words = this.#words;
    const scale = this.bits / 2 ** 32;
    const step = second | 1;
    for (let index = 0, hash = first; index < this.hashes; index += 1, hash = (hash + step) | 0) {
      const place = (hash >>> 0) * scale;
      if (((words[place >>> 5] ?? 0) & (1 << (place & 31))) === 0) return false;
    }
    return true;
  }
}

interface Header {
  /** All of it but the checksum. */
  readonly fields: Uint8Array;
  readonly hashes: number;
  readonly added: number;
  readonly checksum: bigint;
  /** Of the whole filter. */
  readonly bytes: number;
}

function readHeader(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < headerBytes || view.getUint32(0, true) !== magic) {
    throw new RangeError(`A Bloom filter begins with ${String(headerBytes)} bytes of "DKBF" header; these ${String(bytes.length)} bytes do not.`);
  }
  const found = view.getUint32(4, true);
  if (found !== version) throw new RangeError(`This Bloom filter has layout version ${String(found)}; version ${String(version)} is read.`);
  const hashes = view.getUint32(8, true);
  const words = view.getUint32(12, true);
  const added = view.getFloat64(16, true);
  if (hashes < 1 || words < 1 || words > mostWords || !Number.isSafeInteger(added) || added < 0) {
    throw new RangeError(`The header of this Bloom filter is damaged: ${String(hashes)} hashes, ${String(words)} words, ${String(added)} items.`);
  }
  return { fields: bytes.slice(0, 24), hashes, added, checksum: view.getBigUint64(24, true), bytes: headerBytes + words * 4 };
}

/** Of the fields and the bits: that of the bits is seeded by that of the fields. */
function checksumOf(fields: Uint8Array, words: Uint32Array): bigint {
  const bits = isLittleEndian ? new Uint8Array(words.buffer, words.byteOffset, words.byteLength) : littleEndianBytes(words);
  return xxh3_64(bits, xxh3_64(fields));
}

function wrongLength(expected: number, found: number): RangeError {
  return new RangeError(`This Bloom filter should have ${String(expected)} bytes, found ${String(found)}: it was cut short or joined with something else.`);
}

function hex(hash: bigint): string {
  return hash.toString(16).padStart(16, "0");
}

/** The hashes as pairs of 32-bit numbers, and which of a pair is the lower half. */
function halvesOf(hashes: BigUint64Array): { readonly halves: Uint32Array; readonly low: 0 | 1 } {
  return { halves: new Uint32Array(hashes.buffer, hashes.byteOffset, hashes.length * 2), low: isLittleEndian ? 0 : 1 };
}

function popCount(word: number): number {
  let value = word - ((word >>> 1) & 0x55555555);
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
