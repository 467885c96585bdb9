import { MarinError, type Storage } from "@marin/iris";
import { Flattened } from "../readers/groups.js";
import { BlockPacker, BlockSequence, readSegments } from "./block-file.js";
import { type GroupedRecords, inGroups } from "./in-groups.js";
import { writeValue } from "./record-codec.js";
import { RecordReader } from "./record-reader.js";

/** Where and how files of records are written and read. */
export interface RecordFileOptions {
  /** Where the file lies. */
  readonly storage: Storage;
  /** Aborts the work. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** A file of records. */
export interface RecordFile {
  /** Where it lies. */
  readonly path: string;
  /** Records in it. */
  readonly records: number;
}

/** Some of the records of a file. */
export interface RecordRange {
  /** The file. */
  readonly path: string;
  /** The first record, from 0 up. */
  readonly start: number;
  /** The record to stop before. */
  readonly end: number;
}

/** Which records to read. */
export interface ReadRecordFileOptions extends RecordFileOptions {
  /** The first record. Default 0. */
  readonly start?: number | undefined;
  /** The record to stop before. Default: the end. */
  readonly end?: number | undefined;
}

/**
 * Writes records for a later stage, exactly as they are; the file appears whole or not at all.
 *
 * @throws MarinError ZEPHYR_BAD_VALUE for a record that cannot be written; the file errors; what the records' source throws, unchanged
 */
export async function writeRecordFile(path: string, records: AsyncIterable<unknown>, { storage, signal }: RecordFileOptions): Promise<RecordFile & { readonly bytes: number }> {
  let count = 0;
  let bytes = 0;
  const blocks = async function* (): AsyncGenerator<Buffer> {
    const packer = new BlockPacker();
    yield* packer.segment(0);
    for await (const group of inGroups(records)) {
      for (const record of group) {
        writeValue(packer.writer, record);
        count += 1;
        const block = packer.endRecord();
        if (block !== undefined) yield block;
      }
    }
    yield* packer.finish();
  };
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const block of blocks()) {
      bytes += block.length;
      yield block;
    }
  };
  await storage.write(path, counted(), { signal });
  return { path, records: count, bytes };
}

/**
 * The records of a file, or a range of them, in order; also in groups, a block each. Of blocks outside the range nothing is read.
 *
 * @throws MarinError, when they are iterated: ZEPHYR_BAD_RECORD_FILE when the file is damaged, gone, or ends before the range does; the file errors
 */
export function readRecordFile(path: string, options: ReadRecordFileOptions): GroupedRecords {
  return { groups: () => blocksOf(path, options), [Symbol.asyncIterator]: () => new Flattened(blocksOf(path, options)) };
}

async function* blocksOf(path: string, { start = 0, end = Infinity, ...reading }: ReadRecordFileOptions): AsyncGenerator<Iterable<unknown>> {
  const reader = new RecordReader();
  let first = 0;
  for (const segment of await readSegments(path, reading)) {
    let skipped = 0;
    for (const { records } of segment.blocks) {
      if (first + records > start) break;
      first += records;
      skipped += 1;
    }
    const blocks = new BlockSequence(segment, reading, skipped);
    for (const { records } of segment.blocks.slice(skipped)) {
      if (first >= end) break;
      yield recordsOf(reader, (await blocks.next()) as Buffer, Math.max(0, start - first), Math.min(records, end - first));
      first += records;
    }
  }
  if (end !== Infinity && first < end) {
    throw new MarinError("ZEPHYR_BAD_RECORD_FILE", `${path} holds ${String(first)} records, and records ${String(start)} to ${String(end)} are asked for: it is not the file that was planned with; run the stage before again.`, {
      data: { path, records: first, start, end },
    });
  }
}

/** The records of a block from one on and before another. */
function* recordsOf(reader: RecordReader, block: Buffer, start: number, end: number): Generator<unknown> {
  reader.start(block, 0);
  for (let record = 0; record < end; record++) {
    const value = reader.next();
    if (record >= start) yield value;
  }
}

/**
 * Deals records to shards without touching them: shard j of n takes, of all R records in order, those from jR/n on and before (j+1)R/n, rounded down. The order
 * is kept, and no shard has more than one record more than another.
 *
 * @param files - the files, in order
 * @param shards - how many shards, at least 1
 * @returns for each shard its ranges, none where there are fewer records than shards
 */
export function splitRecords(files: readonly RecordFile[], shards: number): RecordRange[][] {
  const total = files.reduce((sum, { records }) => sum + records, 0);
  const ranges: RecordRange[][] = [];
  let file = 0;
  let before = 0;
  for (let shard = 0; shard < shards; shard++) {
    // Exact for every whole number: total times shards may be above 2^53.
    const end = Number((BigInt(total) * BigInt(shard + 1)) / BigInt(shards));
    let start = Number((BigInt(total) * BigInt(shard)) / BigInt(shards));
    const own: RecordRange[] = [];
    while (start < end) {
      const { path, records } = files[file] as RecordFile;
      if (start >= before + records) {
        before += records;
        file += 1;
        continue;
      }
      const stop = Math.min(end, before + records);
      own.push({ path, start: start - before, end: stop - before });
      start = stop;
    }
    ranges.push(own);
  }
  return ranges;
}
