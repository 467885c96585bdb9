import { BlockPacker, type BlockReading, type Segment } from "./block-file.js";
import { writeKeyedRecord } from "./keyed-record.js";
import { SegmentCursor } from "./segment-cursor.js";

/** Sorted segments as one: their records in order. */
export class Merge {
  /** A heap: each cursor comes before the two below it. */
  readonly #cursors: SegmentCursor[];

  private constructor(cursors: SegmentCursor[]) {
    this.#cursors = cursors;
  }

  /** At the first record of all. */
  static async open(segments: readonly Segment[], reading: BlockReading): Promise<Merge> {
    const cursors = segments.map((segment, rank) => new SegmentCursor(segment, rank, reading));
    const full = await Promise.all(cursors.map((cursor) => cursor.nextBlock()));
    const merge = new Merge(cursors.filter((_cursor, index) => full[index]));
    for (let at = (merge.#cursors.length >> 1) - 1; at >= 0; at--) merge.#sink(at);
    return merge;
  }

  /** At the current record; undefined behind the last. */
  get current(): SegmentCursor | undefined {
    return this.#cursors[0];
  }

  /** Goes to the next record. A promise where it has to be read first. */
  advance(): void | Promise<void> {
    const [first] = this.#cursors;
    if (first === undefined) return;
    if (!first.next()) return this.#nextBlock(first);
    this.#sink(0);
  }

  async #nextBlock(first: SegmentCursor): Promise<void> {
    if (!(await first.nextBlock())) {
      const last = this.#cursors.pop() as SegmentCursor;
      if (last !== first) this.#cursors[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const cursors = this.#cursors;
    const cursor = cursors[from];
    if (cursor === undefined) return;
    let at = from;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= cursors.length) break;
      if (below + 1 < cursors.length && (cursors[below + 1] as SegmentCursor).compare(cursors[below] as SegmentCursor) < 0) below += 1;
      const smallest = cursors[below] as SegmentCursor;
      if (cursor.compare(smallest) <= 0) break;
      cursors[at] = smallest;
      at = below;
    }
    cursors[at] = cursor;
  }
}

/** The bytes of a file that holds the records of sorted segments in order. */
export async function* mergedFile(segments: readonly Segment[], shard: number, reading: BlockReading): AsyncGenerator<Buffer> {
  const packer = new BlockPacker();
  yield* packer.segment(shard);
  const merge = await Merge.open(segments, reading);
  for (let cursor = merge.current; cursor !== undefined; cursor = merge.current) {
    writeKeyedRecord(packer.writer, cursor.block, cursor.start, cursor);
    const block = packer.endRecord();
    if (block !== undefined) yield block;
    const reads = merge.advance();
    if (reads !== undefined) await reads;
  }
  yield* packer.finish();
}
