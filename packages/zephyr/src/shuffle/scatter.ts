import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { BlockPacker, gathered } from "./block-file.js";
import { ByteWriter } from "./byte-writer.js";
import { keyErrorAt, type KeyRole, writeKey } from "./canonical-key.js";
import { Combiner, type Combine } from "./combiner.js";
import { inGroups } from "./in-groups.js";
import { type RecordParts, writeKeyedRecord } from "./keyed-record.js";
import { isPromise } from "./promises.js";
import { RecordArena } from "./record-arena.js";
import { writeValue } from "./record-codec.js";
import { createRouter } from "./route.js";

/** Settings of {@link scatter}. */
export interface ScatterOptions {
  /** The key of a record. It may be a promise, as may be what the other functions give. */
  readonly key: (record: unknown) => unknown;
  /** What records of a key are sorted by. Default: nothing, they stay in their order. */
  readonly sortBy?: ((record: unknown) => unknown) | undefined;
  /** Makes one of two records of a key before they are written; "first" keeps the one that comes first. Default: all are kept. */
  readonly combiner?: Combine | "first" | undefined;
  /** Number of output shards. */
  readonly shards: number;
  /** For messages: where the records come from. Default "the shard". */
  readonly source?: string;
  /** What the paths of the files begin with. */
  readonly prefix: string;
  /** What the task may hold in memory, in bytes; half of it holds records. */
  readonly memoryBytes: number;
  /** Where the files lie. */
  readonly storage: Storage;
  /** Aborts the work. */
  readonly signal?: AbortSignal | undefined;
}

/** The records of one input shard, sorted by output shard, in files. Plain JSON. */
export interface ScatteredShard {
  /** The paths of the files, in the order in which their records came. */
  readonly runs: readonly string[];
  /** Records read. */
  readonly records: number;
  /** Records written: fewer than read where they were combined. */
  readonly recordsWritten: number;
  /** Bytes of the files. */
  readonly bytes: number;
}

/**
 * The first half of a shuffle, for one input shard: deals records to output shards by their keys' hash, and writes them sorted by shard, key and `sortBy` into
 * as many files as the memory asks for. Each file appears whole; after a failure none is left. Equal records in equal order give equal files.
 *
 * @throws MarinError ZEPHYR_BAD_KEY, ZEPHYR_BAD_VALUE (the record is numbered), ZEPHYR_BAD_COUNT; RIGGING_DISK_FULL and the other file errors; what the source or a
 * function throws, unchanged
 */
export async function scatter(records: AsyncIterable<unknown>, options: ScatterOptions): Promise<ScatteredShard> {
  const { key, sortBy, shards, prefix, memoryBytes, storage, signal, source = "the shard" } = options;
  const route = await createRouter(shards);
  const arena = new RecordArena(memoryBytes / 2);
  const record = new ByteWriter(1 << 12);
  const runs: string[] = [];
  const sizes = { written: 0, bytes: 0 };
  let count = 0;
  const flush = async (): Promise<void> => {
    signal?.throwIfAborted();
    const path = `${prefix}run-${String(runs.length).padStart(5, "0")}`;
    await storage.write(path, counted(gathered(runBlocks(arena, options, sizes)), sizes), { signal });
    runs.push(path);
    arena.clear();
  };
  try {
    for await (const group of inGroups(records)) {
      for (const each of group) {
        let ofKey = key(each);
        if (isPromise(ofKey)) ofKey = await ofKey;
        let ofOrder = sortBy?.(each);
        if (isPromise(ofOrder)) ofOrder = await ofOrder;
        const parts = encode(record, each, ofKey, sortBy === undefined ? undefined : { by: ofOrder }, { number: count, source });
        if (!arena.fits(parts.end)) await flush();
        arena.add(route(record.bytes, parts.keyEnd), record.bytes, parts);
        count += 1;
      }
    }
    if (arena.count > 0) await flush();
  } catch (error) {
    // What is left would take the place that a full disk lacks.
    for (const path of runs) await storage.remove(path).catch(() => false);
    throw error;
  }
  return { runs, records: count, recordsWritten: sizes.written, bytes: sizes.bytes };
}

/** Writes a record and what it is dealt and sorted by into `writer`. */
function encode(writer: ByteWriter, value: unknown, key: unknown, order: { readonly by: unknown } | undefined, { number, source }: { readonly number: number; readonly source: string }): RecordParts {
  writer.length = 0;
  let role: KeyRole = "key";
  try {
    const exact = writeKey(writer, key);
    const keyEnd = writer.length;
    role = "sortBy";
    if (order !== undefined) writeKey(writer, order.by);
    const sortEnd = writer.length;
    if (!exact) writeValue(writer, key);
    const originalEnd = writer.length;
    writeValue(writer, value);
    return { keyEnd, sortEnd, originalEnd, end: writer.length };
  } catch (error) {
    const place = `Record ${String(number)} of ${source}`;
    if (!isMarinError(error, "ZEPHYR_BAD_VALUE")) throw keyErrorAt(error, place, role, { record: number });
    throw new MarinError(error.code, `${place}: ${error.message}`, { data: { ...error.data, record: number }, cause: error });
  }
}

async function* counted(blocks: AsyncIterable<Buffer>, sizes: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const block of blocks) {
    sizes.bytes += block.length;
    yield block;
  }
}

/** The file of the records that are in memory. */
async function* runBlocks(arena: RecordArena, { combiner, sortBy, signal, source = "the shard" }: ScatterOptions, sizes: { written: number }): AsyncGenerator<Buffer> {
  const order = arena.sort();
  const packer = new BlockPacker();
  const combine = combiner === undefined ? undefined : combiner === "first" ? "first" : new Combiner(arena, combiner, sortBy);
  let shard = -1;
  for (let index = 0; index < order.length; ) {
    const record = order[index] as number;
    if (arena.shardOf(record) !== shard) {
      shard = arena.shardOf(record);
      yield* packer.segment(shard);
    }
    let next = index + 1;
    if (combine !== undefined) while (next < order.length && arena.sameKey(record, order[next] as number)) next += 1;
    if (combine instanceof Combiner && next - index > 1) await combine.write(packer.writer, order.subarray(index, next), source);
    else writeKeyedRecord(packer.writer, arena.bytesOf(record), arena.offsetOf(record), arena.partsOf(record));
    index = next;
    sizes.written += 1;
    const block = packer.endRecord();
    if (block === undefined) continue;
    yield block;
    signal?.throwIfAborted();
  }
  yield* packer.finish();
}
