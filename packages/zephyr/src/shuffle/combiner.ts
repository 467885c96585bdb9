import { ByteWriter } from "./byte-writer.js";
import { keyErrorAt, writeKey } from "./canonical-key.js";
import { writeKeyedRecord } from "./keyed-record.js";
import { isPromise } from "./promises.js";
import type { RecordArena } from "./record-arena.js";
import { writeValue } from "./record-codec.js";
import { RecordReader } from "./record-reader.js";

/** Makes one of two records of a key. */
export type Combine = (a: unknown, b: unknown) => unknown;

/** Makes one record of all records of a key that are in memory. */
export class Combiner {
  readonly #arena: RecordArena;
  readonly #combine: Combine;
  readonly #sortBy: ((record: unknown) => unknown) | undefined;
  readonly #reader = new RecordReader();
  readonly #combined = new ByteWriter();

  constructor(arena: RecordArena, combine: Combine, sortBy: ((record: unknown) => unknown) | undefined) {
    this.#arena = arena;
    this.#combine = combine;
    this.#sortBy = sortBy;
  }

  /**
   * Appends what the records are together.
   *
   * @param records - their numbers, of one key, in order
   * @param source - for messages: where they come from
   */
  async write(writer: ByteWriter, records: Uint32Array, source: string): Promise<void> {
    const first = records[0] as number;
    let all = this.#read(first);
    for (let index = 1; index < records.length; index++) {
      all = this.#combine(all, this.#read(records[index] as number));
      if (isPromise(all)) all = await all;
    }
    const combined = this.#combined;
    combined.length = 0;
    const bytes = this.#arena.bytesOf(first);
    const start = this.#arena.offsetOf(first);
    const parts = this.#arena.partsOf(first);
    combined.copy(bytes, start, parts.keyEnd);
    const keyEnd = combined.length;
    if (this.#sortBy !== undefined) {
      try {
        writeKey(combined, await this.#sortBy(all));
      } catch (error) {
        throw keyErrorAt(error, `A record that the combiner has made of records of ${source}`, "sortBy");
      }
    }
    const sortEnd = combined.length;
    combined.copy(bytes, parts.sortEnd, parts.originalEnd);
    const originalEnd = combined.length;
    writeValue(combined, all);
    writeKeyedRecord(writer, combined.bytes, 0, { keyEnd, sortEnd, originalEnd, end: combined.length });
  }

  #read(record: number): unknown {
    return this.#reader.read(this.#arena.bytesOf(record), this.#arena.partsOf(record).originalEnd);
  }
}
