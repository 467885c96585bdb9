import { MarinError, type Storage } from "@marin/iris";
import { Flattened } from "../readers/groups.js";
import { type BlockReading, readSegments, type Segment } from "./block-file.js";
import { readKey } from "./canonical-key.js";
import { Merge, mergedFile } from "./merge.js";
import { RecordReader } from "./record-reader.js";
import type { ScatteredShard } from "./scatter.js";

/** Indexes read at the same time. */
const indexesAtOnce = 32;

/** Settings of {@link readGroups}. */
export interface ReadGroupsOptions {
  /** What the paths of files begin with that are made where there are too many to be read at once. They are removed. */
  readonly prefix: string;
  /** What the task may hold in memory, in bytes; half of it holds blocks of files. */
  readonly memoryBytes: number;
  /** Where the files lie. */
  readonly storage: Storage;
  /** Aborts the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** The records of a key. */
export interface Group {
  /** The key. */
  readonly key: unknown;
  /** Its records, in order: to be gone over once, before the next group is asked for. What is left then is passed over. */
  readonly items: AsyncIterable<unknown>;
}

/**
 * The second half of a shuffle, for one output shard: its groups in the order of their keys, each with its records in the order of `sortBy`, or else of the input
 * shards and of the records in them. Records are read as they are asked for, so that memory is the same for any number of records of a key.
 *
 * @param inputs - what `scatter` gave for the input shards, in their order
 * @param shard - the output shard
 * @throws MarinError ZEPHYR_BAD_RECORD_FILE when a file is damaged or gone; ZEPHYR_CONSUMED when a group's records are asked for twice, or too late; the file errors
 */
export async function* readGroups(inputs: readonly ScatteredShard[], shard: number, { prefix, memoryBytes, storage, signal }: ReadGroupsOptions): AsyncGenerator<Group> {
  const reading: BlockReading = { storage, signal };
  const paths = inputs.flatMap(({ runs }) => runs);
  const segments: Segment[] = [];
  for (let at = 0; at < paths.length; at += indexesAtOnce) {
    const indexes = await Promise.all(paths.slice(at, at + indexesAtOnce).map((path) => readSegments(path, reading)));
    for (const index of indexes) segments.push(...index.filter((segment) => segment.shard === shard));
  }
  const made = new Set<string>();
  try {
    yield* groupsOf(await Merge.open(await fewer(segments, { shard, prefix, limit: memoryBytes / 2, reading, made }), reading), shard);
  } finally {
    for (const path of made) await storage.remove(path);
  }
}

interface FewerOptions {
  readonly shard: number;
  readonly prefix: string;
  readonly limit: number;
  readonly reading: BlockReading;
  /** The files that were made and are still there. */
  readonly made: Set<string>;
}

/**
 * The same records in no more segments than can be read at once. Neighbours are merged, so that equal records stay in order, and no more of them than must.
 */
async function fewer(segments: readonly Segment[], { shard, prefix, limit, reading, made }: FewerOptions): Promise<readonly Segment[]> {
  let number = 0;
  let current = segments;
  for (;;) {
    let longest = 1;
    for (const { blocks } of current) for (const { bytes } of blocks) longest = Math.max(longest, bytes);
    // A cursor holds a block, the one that comes, and often still the one before.
    const most = Math.max(2, Math.floor(limit / (3 * longest)));
    if (current.length <= most) return current;
    const next: Segment[] = [];
    let at = 0;
    while (next.length + current.length - at > most && at < current.length - 1) {
      const merged = current.slice(at, at + Math.min(most, next.length + current.length - at - most + 1));
      const path = `${prefix}merge-${String(number++).padStart(5, "0")}`;
      made.add(path);
      await reading.storage.write(path, mergedFile(merged, shard, reading), { signal: reading.signal });
      next.push(...(await readSegments(path, reading)));
      for (const { path: read } of merged) if (made.delete(read)) await reading.storage.remove(read);
      at += merged.length;
    }
    current = [...next, ...current.slice(at)];
  }
}

async function* groupsOf(merge: Merge, shard: number): AsyncGenerator<Group> {
  const reader = new RecordReader();
  for (let first = merge.current; first !== undefined; first = merge.current) {
    const bytes = Buffer.from(first.block.subarray(first.start, first.keyEnd));
    const key = first.originalEnd > first.sortEnd ? reader.read(first.block, first.sortEnd) : readKey(bytes);
    const items = new GroupItems(merge, bytes, reader, { shard, key });
    yield { key, items };
    await items.finish();
  }
}

/** The records of the key at which a merge is. */
class GroupItems implements AsyncIterable<unknown> {
  readonly #merge: Merge;
  readonly #key: Buffer;
  readonly #reader: RecordReader;
  readonly #data: Readonly<Record<string, unknown>>;
  /** The next block, while it is fetched. */
  #reads: Promise<void> | undefined;
  #asked = false;
  #finished = false;

  constructor(merge: Merge, key: Buffer, reader: RecordReader, data: Readonly<Record<string, unknown>>) {
    this.#merge = merge;
    this.#key = key;
    this.#reader = reader;
    this.#data = data;
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    return new Flattened(this.#inBlocks());
  }

  /** Goes to the next group. */
  async finish(): Promise<void> {
    this.#finished = true;
    await this.#reads;
    for (let cursor = this.#merge.current; cursor?.hasKey(this.#key) === true; cursor = this.#merge.current) {
      const reads = this.#merge.advance();
      if (reads !== undefined) await reads;
    }
  }

  /** The records that can be had without reading, again and again. */
  async *#inBlocks(): AsyncGenerator<Iterable<unknown>> {
    if (this.#asked) throw this.#consumed("The items of a group were gone over already: they are streamed and can be had once. Gather what is needed in one pass.");
    this.#asked = true;
    do {
      yield this.#inBlock();
      await this.#reads;
    } while (this.#merge.current?.hasKey(this.#key) === true);
  }

  *#inBlock(): Generator<unknown> {
    for (;;) {
      if (this.#finished) throw this.#consumed("The items of a group were asked for after its reducer had returned: go over them before, or make the reducer a generator.");
      const cursor = this.#merge.current;
      if (cursor === undefined || !cursor.hasKey(this.#key)) return;
      const value = this.#reader.read(cursor.block, cursor.originalEnd);
      const reads = this.#merge.advance();
      // Who asks for the next item learns of a failure.
      reads?.catch(() => undefined);
      this.#reads = reads ?? undefined;
      yield value;
      if (reads !== undefined) return;
    }
  }

  #consumed(message: string): MarinError {
    return new MarinError("ZEPHYR_CONSUMED", message, { data: this.#data });
  }
}
