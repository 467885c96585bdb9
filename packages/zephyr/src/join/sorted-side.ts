import { MarinError } from "@marin/iris";
import { ByteWriter } from "../shuffle/byte-writer.js";
import { keyErrorAt, readKey, writeKey } from "../shuffle/canonical-key.js";
import { isPromise } from "../shuffle/promises.js";

/** What a side of a join is. */
export interface SideOptions {
  /** For messages. */
  readonly name: string;
  /** The key of a record. */
  readonly key: (record: unknown) => unknown;
}

/** A side of a join: records one by one, with their keys, which must not fall. */
export class SortedSide implements AsyncDisposable {
  /** The current record. */
  record: unknown;
  /** The canonical bytes of its key. */
  key: Buffer = Buffer.alloc(0);
  /** Whether there is no current record, because all were gone over. */
  ended = false;
  readonly #records: AsyncIterator<unknown>;
  readonly #options: SideOptions;
  readonly #writer = new ByteWriter();
  /** The current record's number, from 0 up. */
  #number = -1;

  private constructor(records: AsyncIterator<unknown>, options: SideOptions) {
    this.#records = records;
    this.#options = options;
  }

  /** At the first record. */
  static async open(records: AsyncIterable<unknown>, options: SideOptions): Promise<SortedSide> {
    const side = new SortedSide(records[Symbol.asyncIterator](), options);
    await side.next();
    return side;
  }

  /** Goes to the next record. */
  async next(): Promise<void> {
    const next = await this.#records.next();
    this.ended = next.done === true;
    if (this.ended) return;
    this.#number += 1;
    this.record = next.value;
    let key = this.#options.key(this.record);
    if (isPromise(key)) key = await key;
    const writer = this.#writer;
    writer.length = 0;
    try {
      writeKey(writer, key);
    } catch (error) {
      throw keyErrorAt(error, `${this.#options.name}, record ${String(this.#number)}`, "key", { input: this.#options.name, record: this.#number });
    }
    const bytes = writer.bytes.subarray(0, writer.length);
    const order = this.#number === 0 ? 1 : bytes.compare(this.key);
    if (order < 0) throw this.#notSorted(key);
    if (order > 0) this.key = Buffer.from(bytes);
  }

  /** The current record and those behind it, as long as they have a key. */
  async *whileKey(key: Buffer): AsyncGenerator<unknown> {
    while (!this.ended && this.key.equals(key)) {
      yield this.record;
      await this.next();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.ended) await this.#records.return?.();
  }

  #notSorted(key: unknown): MarinError {
    const { name } = this.#options;
    const before = readKey(this.key);
    return new MarinError(
      "ZEPHYR_UNSORTED",
      `${name}, record ${String(this.#number)}: the key ${shown(key)} comes after ${shown(before)}, and a merge join needs both sides sorted by their keys (numbers by value, text by code point). A groupBy or a deduplicate by the key sorts.`,
      { data: { input: name, record: this.#number, key, before } },
    );
  }
}

function shown(key: unknown): string {
  const text = JSON.stringify(key, (_name, value: unknown) => (typeof value === "bigint" ? `${String(value)}n` : value));
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}
