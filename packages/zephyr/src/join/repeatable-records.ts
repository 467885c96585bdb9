import type { Storage } from "@marin/iris";
import { ByteWriter } from "../shuffle/byte-writer.js";
import { writeValue } from "../shuffle/record-codec.js";
import { readRecordFile, writeRecordFile } from "../shuffle/record-file.js";

/** An object takes about so many times the bytes of its record. */
const objectFactor = 4;

/** Settings of {@link RepeatableRecords.gather}. */
interface GatherOptions {
  readonly prefix: string;
  readonly memoryBytes: number;
  readonly storage: Storage;
  readonly signal?: AbortSignal | undefined;
}

/** Records that can be gone over several times: in memory while they fit, else in a file, which is gone at the end. */
export class RepeatableRecords implements AsyncIterable<unknown>, AsyncDisposable {
  readonly #held: readonly unknown[];
  readonly #file: string | undefined;
  readonly #options: GatherOptions;

  private constructor(held: readonly unknown[], file: string | undefined, options: GatherOptions) {
    this.#held = held;
    this.#file = file;
    this.#options = options;
  }

  /** Takes in all records. */
  static async gather(records: AsyncGenerator<unknown>, options: GatherOptions): Promise<RepeatableRecords> {
    const held: unknown[] = [];
    const writer = new ByteWriter();
    let bytes = 0;
    for await (const record of untilTold(records)) {
      held.push(record);
      writer.length = 0;
      writeValue(writer, record);
      bytes += writer.length;
      if (bytes * objectFactor <= options.memoryBytes / 2) continue;
      const path = `${options.prefix}join`;
      await writeRecordFile(path, after(held, records), options);
      return new RepeatableRecords([], path, options);
    }
    return new RepeatableRecords(held, undefined, options);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    if (this.#file === undefined) yield* this.#held;
    else yield* readRecordFile(this.#file, this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#file !== undefined) await this.#options.storage.remove(this.#file);
  }
}

/** The records of a generator that goes on when the loop ends before it does. */
async function* untilTold(records: AsyncGenerator<unknown>): AsyncGenerator<unknown> {
  for (let next = await records.next(); next.done !== true; next = await records.next()) yield next.value;
}

async function* after(first: readonly unknown[], rest: AsyncGenerator<unknown>): AsyncGenerator<unknown> {
  yield* first;
  yield* rest;
}
