import { type BlockReading, BlockSequence, type Segment } from "./block-file.js";
import { compareBytes } from "./compare-bytes.js";

/** Goes over the records of a segment that `writeKeyedRecord` wrote, in order. */
export class SegmentCursor {
  /** Which of the segments it goes over: of equal records those of the first segment come first. */
  readonly rank: number;
  /** The block of the current record. Another one after each record: copy what is to stay. */
  block: Buffer = Buffer.alloc(0);
  /** Where the current record's key begins. */
  start = 0;
  /** Where its key ends and its place in the order begins. */
  keyEnd = 0;
  /** Where its place in the order ends and its original key begins. */
  sortEnd = 0;
  /** Where its original key ends and the record begins. */
  originalEnd = 0;
  /** Where it ends. */
  end = 0;
  readonly #blocks: BlockSequence;

  constructor(segment: Segment, rank: number, reading: BlockReading) {
    this.rank = rank;
    this.#blocks = new BlockSequence(segment, reading);
  }

  /** Goes to the next record of the block; false at the block's end. */
  next(): boolean {
    if (this.end >= this.block.length) return false;
    let at = this.end;
    // Four varints; most of them are one byte, and a closure for each record is more than all of them.
    const { block } = this;
    let lengths = 0;
    let value = 0;
    let scale = 1;
    let [key, sort, original] = [0, 0, 0];
    while (lengths < 4) {
      const byte = block[at++] as number;
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) {
        scale *= 0x80;
        continue;
      }
      if (lengths === 0) key = value;
      else if (lengths === 1) sort = value;
      else if (lengths === 2) original = value;
      lengths += 1;
      if (lengths < 4) value = 0;
      scale = 1;
    }
    this.start = at;
    this.keyEnd = at + key;
    this.sortEnd = this.keyEnd + sort;
    this.originalEnd = this.sortEnd + original;
    this.end = this.originalEnd + value;
    return true;
  }

  /** Goes to the first record of the next block; false at the segment's end. */
  async nextBlock(): Promise<boolean> {
    const block = await this.#blocks.next();
    this.block = block ?? Buffer.alloc(0);
    this.end = 0;
    return this.next();
  }

  /** Below 0 when this record comes before the other's, above 0 when after. */
  compare(other: SegmentCursor): number {
    return compareBytes(this.block, this.start, this.sortEnd, other.block, other.start, other.sortEnd) || this.rank - other.rank;
  }

  /** Whether the current record has this key. */
  hasKey(key: Buffer): boolean {
    return this.keyEnd - this.start === key.length && compareBytes(this.block, this.start, this.keyEnd, key, 0, key.length) === 0;
  }
}
