import { crc32 } from "node:zlib";
import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { asBuffer } from "../as-buffer.js";
import { ByteWriter } from "./byte-writer.js";
import { RecordReader } from "./record-reader.js";
import { writeValue } from "./record-codec.js";

/** A block ends with the first record that makes it as long as this. Readers hold a block of each file they read. */
export const blockBytes = 1 << 18;

const magic = Buffer.from("ZROWS-1\n", "latin1");
/** Length and checksum of the index, and the magic bytes. */
const trailerBytes = 8 + magic.length;
/** Read at once from the end of a file: the whole index of about a thousand blocks. */
const tailBytes = 1 << 14;
/** A block and what its last record may reach beyond it. */
const mostBytes = blockBytes + (blockBytes >> 3);

/** Records that are read, checked and held together. */
export interface Block {
  /** Where it begins in the file. */
  readonly offset: number;
  /** Its length. */
  readonly bytes: number;
  /** Records in it. */
  readonly records: number;
  /** CRC-32 of its bytes. */
  readonly checksum: number;
}

/** The records of a file that are for one shard. */
export interface Segment {
  /** The file. */
  readonly path: string;
  /** The shard. */
  readonly shard: number;
  /** Its blocks, one after the other. */
  readonly blocks: readonly Block[];
}

/** Cuts records into blocks and makes the index behind them. What it gives, in order, is the file. */
export class BlockPacker {
  /** Takes the bytes of the next record. */
  writer = new ByteWriter();
  readonly #segments: { readonly shard: number; readonly offset: number; readonly blocks: number[] }[] = [];
  #records = 0;
  #offset = 0;

  /** Begins the records of a shard; gives the last block of the one before. */
  *segment(shard: number): Generator<Buffer> {
    if (this.#records > 0) yield this.#cut();
    this.#segments.push({ shard, offset: this.#offset, blocks: [] });
  }

  /** To be called after each record: gives the block when it is full. */
  endRecord(): Buffer | undefined {
    this.#records += 1;
    return this.writer.length >= blockBytes ? this.#cut() : undefined;
  }

  /** The last block, the index and the trailer. */
  *finish(): Generator<Buffer> {
    if (this.#records > 0) yield this.#cut();
    const index = new ByteWriter();
    writeValue(index, this.#segments.map(({ shard, offset, blocks }) => [shard, offset, blocks]));
    const bytes = index.bytes.subarray(0, index.length);
    yield bytes;
    const trailer = Buffer.alloc(trailerBytes);
    trailer.writeUInt32LE(bytes.length, 0);
    trailer.writeUInt32LE(crc32(bytes), 4);
    magic.copy(trailer, 8);
    yield trailer;
  }

  #cut(): Buffer {
    const block = this.writer.bytes.subarray(0, this.writer.length);
    this.#segments.at(-1)?.blocks.push(block.length, this.#records, crc32(block));
    this.#offset += block.length;
    this.#records = 0;
    // A store may still be sending the last one. The next is about as long: with many shards most blocks are short.
    this.writer = new ByteWriter(Math.min(mostBytes, 2 * block.length));
    return block;
  }
}

/** The same bytes in pieces of about a block: with many shards most blocks are short, and each piece is a write of its own. */
export async function* gathered(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const block of blocks) {
    waiting.push(block);
    bytes += block.length;
    if (bytes < blockBytes) continue;
    yield waiting.length === 1 ? block : Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** How blocks are read. */
export interface BlockReading {
  /** Where the file lies. */
  readonly storage: Storage;
  /** Aborts the reading. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The index of a file.
 *
 * @throws MarinError ZEPHYR_BAD_RECORD_FILE when the file is cut short, damaged, or no file of records; the file errors
 */
export async function readSegments(path: string, { storage, signal }: BlockReading): Promise<Segment[]> {
  const found = await storage.stat(path, { signal });
  // Reading tells best why there is none.
  if (found === undefined) await read(path, 0, 1, { storage, signal });
  const bytes = found?.bytes ?? 0;
  let tail = await read(path, Math.max(0, bytes - tailBytes), bytes, { storage, signal });
  if (tail.length < trailerBytes || !tail.subarray(-magic.length).equals(magic)) throw damaged(path, bytes, "it does not end as a file of records does: it was cut short, or is something else");
  const length = tail.readUInt32LE(tail.length - trailerBytes);
  const expected = tail.readUInt32LE(tail.length - trailerBytes + 4);
  const start = bytes - trailerBytes - length;
  if (start < 0) throw damaged(path, bytes - trailerBytes, "its index is longer than the file");
  if (length + trailerBytes > tail.length) tail = await read(path, start, bytes, { storage, signal });
  const index = tail.subarray(tail.length - trailerBytes - length, tail.length - trailerBytes);
  if (crc32(index) !== expected) throw damaged(path, start, "its index is damaged");
  const segments = new RecordReader().read(index, 0) as [number, number, number[]][];
  return segments.map(([shard, offset, numbers]) => ({ path, shard, blocks: blocksOf(offset, numbers) }));
}

/**
 * The bytes of a block.
 *
 * @throws MarinError ZEPHYR_BAD_RECORD_FILE when they are not what was written; the file errors
 */
export async function readBlock(path: string, { offset, bytes, checksum }: Block, reading: BlockReading): Promise<Buffer> {
  const block = await read(path, offset, offset + bytes, reading);
  if (block.length < bytes) throw damaged(path, offset, `a block of ${String(bytes)} bytes is cut short after ${String(block.length)}`);
  if (crc32(block) !== checksum) throw damaged(path, offset, `a block of ${String(bytes)} bytes does not have the checksum that was written`);
  return block;
}

/** Blocks one after the other, the next one being fetched meanwhile. */
export class BlockSequence {
  readonly #segment: Segment;
  readonly #reading: BlockReading;
  #next = 0;
  #coming: Promise<Buffer> | undefined;

  constructor(segment: Segment, reading: BlockReading, first = 0) {
    this.#segment = segment;
    this.#reading = reading;
    this.#next = first;
  }

  /** The next block, or undefined after the last. */
  async next(): Promise<Buffer | undefined> {
    const current = this.#coming ?? this.#fetch();
    this.#coming = undefined;
    const block = await current;
    if (block !== undefined) {
      this.#coming = this.#fetch();
      // Told when it is asked for.
      this.#coming?.catch(() => undefined);
    }
    return block;
  }

  #fetch(): Promise<Buffer> | undefined {
    const block = this.#segment.blocks[this.#next++];
    return block === undefined ? undefined : readBlock(this.#segment.path, block, this.#reading);
  }
}

function blocksOf(offset: number, numbers: readonly number[]): Block[] {
  const blocks: Block[] = [];
  let start = offset;
  for (let at = 0; at < numbers.length; at += 3) {
    const bytes = numbers[at] as number;
    blocks.push({ offset: start, bytes, records: numbers[at + 1] as number, checksum: numbers[at + 2] as number });
    start += bytes;
  }
  return blocks;
}

async function read(path: string, start: number, end: number, { storage, signal }: BlockReading): Promise<Buffer> {
  try {
    const bytes = await storage.read(path, { start, end, signal });
    return asBuffer(bytes);
  } catch (error) {
    if (isMarinError(error, "RIGGING_NOT_FOUND")) throw new MarinError("ZEPHYR_BAD_RECORD_FILE", `${path} is gone: it was written by an earlier stage; run that again.`, { data: { path }, cause: error });
    throw error;
  }
}

function damaged(path: string, offset: number, what: string): MarinError {
  return new MarinError("ZEPHYR_BAD_RECORD_FILE", `${path}, byte ${String(offset)}: ${what}. It was written by an earlier stage: remove it, and run that again.`, { data: { path, offset } });
}
