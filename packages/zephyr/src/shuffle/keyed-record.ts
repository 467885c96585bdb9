import type { ByteWriter } from "./byte-writer.js";

/**
 * A record of a shuffle in memory or in a block: its key's canonical bytes, the canonical bytes of what it is sorted by, the key itself where its canonical bytes do not tell
 * it, and the record; each part begins where the one before ends.
 */
export interface RecordParts {
  /** Where the key ends. */
  readonly keyEnd: number;
  /** Where what it is sorted by ends. */
  readonly sortEnd: number;
  /** Where the original key ends. */
  readonly originalEnd: number;
  /** Where the record ends. */
  readonly end: number;
}

/** Appends a record for a `SegmentCursor`: the lengths of the parts, then the parts. */
export function writeKeyedRecord(writer: ByteWriter, bytes: Buffer, start: number, { keyEnd, sortEnd, originalEnd, end }: RecordParts): void {
  writer.varint(keyEnd - start);
  writer.varint(sortEnd - keyEnd);
  writer.varint(originalEnd - sortEnd);
  writer.varint(end - originalEnd);
  writer.copy(bytes, start, end);
}
