import { compareBytes } from "./compare-bytes.js";
import type { RecordParts } from "./keyed-record.js";
import { PrefixSorter, type SortedBytes } from "./prefix-sort.js";

/** Addresses count in units of 4 bytes, and chunks of memory are this many units apart. */
const chunkBits = 20;
const chunkUnits = 1 << chunkBits;
const maxChunks = 2 ** 32 / chunkUnits;
/** The first piece of memory: with many shards few have more than this. */
const firstChunkBytes = 1 << 18;
/** Before a record: its shard, and where in it its key, its place in the order, its original key and the whole end. */
const headerWords = 5;
/** Beside each record: its address; for sorting its number twice and the beginning of its key. */
const indexBytes = 4 + 4 + 4 + 8;

interface Chunk {
  readonly bytes: Buffer;
  readonly words: Uint32Array;
}

/** Encoded records in memory, until they are sorted and written. Its memory is used again after {@link RecordArena.clear}. */
export class RecordArena implements SortedBytes {
  readonly #limit: number;
  readonly #chunkBytes: number;
  #chunks: Chunk[] = [];
  /** Which chunk is being filled, and how far. */
  #chunk = -1;
  #used = 0;
  #bytes = 0;
  #count = 0;
  #addresses = new Uint32Array(1024);
  #order = new Uint32Array(0);
  #sorter = new PrefixSorter(0);

  /** @param limit - most bytes to hold, what sorting takes included */
  constructor(limit: number) {
    this.#limit = limit;
    this.#chunkBytes = Math.min(chunkUnits * 4, Math.max(1 << 16, 2 ** Math.floor(Math.log2(Math.max(1, limit / 8)))));
  }

  /** How many records are held. */
  get count(): number {
    return this.#count;
  }

  /** Whether a record of so many bytes may be added; one may always be added to an empty arena. */
  fits(bytes: number): boolean {
    if (this.#count === 0) return true;
    return this.#bytes + bytes + headerWords * 4 + (this.#count + 1) * indexBytes <= this.#limit && this.#chunk + 2 < maxChunks;
  }

  /** Adds a copy of a record that begins with its key. */
  add(shard: number, record: Buffer, { keyEnd, sortEnd, originalEnd, end }: RecordParts): void {
    const size = headerWords * 4 + end;
    if (this.#chunk === -1 || this.#used + size > (this.#chunks[this.#chunk] as Chunk).bytes.length) this.#nextChunk(size);
    const { bytes, words } = this.#chunks[this.#chunk] as Chunk;
    const unit = this.#used >>> 2;
    words[unit] = shard;
    words[unit + 1] = keyEnd;
    words[unit + 2] = sortEnd;
    words[unit + 3] = originalEnd;
    words[unit + 4] = end;
    record.copy(bytes, this.#used + headerWords * 4, 0, end);
    if (this.#count === this.#addresses.length) {
      const grown = new Uint32Array(this.#count * 2);
      grown.set(this.#addresses);
      this.#addresses = grown;
    }
    this.#addresses[this.#count++] = this.#chunk * chunkUnits + unit;
    this.#used = (this.#used + size + 3) & ~3;
    this.#bytes += (size + 3) & ~3;
  }

  /** Sorts by shard, key, and place in the order; equal ones stay as they came. Gives the records' numbers; valid until records are added. */
  sort(): Uint32Array {
    const count = this.#count;
    if (this.#order.length < count) {
      this.#order = new Uint32Array(this.#addresses.length);
      this.#sorter = new PrefixSorter(this.#addresses.length);
    }
    const order = this.#order;
    const starts = this.#byShard(order);
    for (let shard = 0; shard + 1 < starts.length; shard++) this.#sorter.sort(order, starts[shard] as number, starts[shard + 1] as number, this);
    return order.subarray(0, count);
  }

  /** The chunk of memory in which a record lies. */
  bytesOf(record: number): Buffer {
    return this.#chunkOf(record).bytes;
  }

  /** Where in its chunk a record begins. */
  offsetOf(record: number): number {
    return this.#unit(record) * 4 + headerWords * 4;
  }

  /** How many bytes of a record it is sorted by: no canonical bytes are the beginning of others, so key and place in the order compare as one. */
  lengthOf(record: number): number {
    return this.#word(record, 2);
  }

  /** Where in its chunk its parts are. */
  partsOf(record: number): RecordParts {
    const start = this.offsetOf(record);
    return { keyEnd: start + this.#word(record, 1), sortEnd: start + this.#word(record, 2), originalEnd: start + this.#word(record, 3), end: start + this.#word(record, 4) };
  }

  /** The shard of a record. */
  shardOf(record: number): number {
    return this.#word(record, 0);
  }

  /** Whether two records are of one shard and have one key. */
  sameKey(a: number, b: number): boolean {
    const length = this.#word(a, 1);
    if (length !== this.#word(b, 1) || this.shardOf(a) !== this.shardOf(b)) return false;
    const [atA, atB] = [this.offsetOf(a), this.offsetOf(b)];
    return compareBytes(this.bytesOf(a), atA, atA + length, this.bytesOf(b), atB, atB + length) === 0;
  }

  /** Forgets all records. */
  clear(): void {
    // Those of long records would not be filled again.
    this.#chunks = this.#chunks.filter(({ bytes }) => bytes.length === this.#chunkBytes);
    this.#chunk = -1;
    this.#used = 0;
    this.#bytes = 0;
    this.#count = 0;
  }

  #nextChunk(size: number): void {
    this.#chunk += 1;
    this.#used = 0;
    const next = this.#chunks[this.#chunk];
    if (next !== undefined && next.bytes.length >= size) return;
    const bytes = this.#chunks.length === 0 ? Math.min(firstChunkBytes, this.#chunkBytes) : this.#chunkBytes;
    const memory = new ArrayBuffer(Math.max(bytes, (size + 3) & ~3));
    this.#chunks.splice(this.#chunk, 0, { bytes: Buffer.from(memory), words: new Uint32Array(memory) });
  }

  /** Numbers of records by shard, in their order; where each shard's begin. */
  #byShard(order: Uint32Array): Uint32Array {
    let shards = 0;
    for (let record = 0; record < this.#count; record++) shards = Math.max(shards, this.shardOf(record) + 1);
    const starts = new Uint32Array(shards + 1);
    for (let record = 0; record < this.#count; record++) increment(starts, this.shardOf(record) + 1);
    for (let shard = 0; shard < shards; shard++) starts[shard + 1] = (starts[shard + 1] as number) + (starts[shard] as number);
    const places = starts.slice();
    for (let record = 0; record < this.#count; record++) {
      const shard = this.shardOf(record);
      order[places[shard] as number] = record;
      increment(places, shard);
    }
    return starts;
  }

  #word(record: number, index: number): number {
    return this.#chunkOf(record).words[this.#unit(record) + index] as number;
  }

  #unit(record: number): number {
    return (this.#addresses[record] as number) & (chunkUnits - 1);
  }

  #chunkOf(record: number): Chunk {
    return this.#chunks[(this.#addresses[record] as number) >>> chunkBits] as Chunk;
  }
}

function increment(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] as number) + 1;
}
