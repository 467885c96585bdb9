import { MarinError, writeFileAtomic } from "@marin/iris";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { DatasetSource } from "../dataset.js";

/** What was written. */
export interface JsonlSummary {
  /** Records, one a line. */
  readonly records: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** Characters gathered before they are handed to the file. */
const flushLength = 1 << 20;

/**
 * Writes a JSON Lines file, one record at a time. The file appears at its path complete, when {@link JsonlWriter.close}
 * returns, or not at all. Records are written as JSON.stringify gives them: NaN and infinities become null.
 */
export class JsonlWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #stream = new PassThrough({ highWaterMark: flushLength });
  readonly #written: Promise<number>;
  readonly #failed: Promise<never>;
  #pending = "";
  #records = 0;
  #ended = false;

  /** @param path - the file; its directory must exist; what is there is replaced on close */
  constructor(path: string) {
    this.#path = path;
    this.#written = writeFileAtomic(path, this.#stream);
    this.#failed = this.#written.then(() => new Promise<never>(() => undefined));
    // Failures are told by write and close; until one of them asks, they are not unhandled.
    this.#failed.catch(() => undefined);
    this.#stream.on("error", () => undefined);
  }

  /**
   * Adds a record. Resolves when there is room for the next one.
   *
   * @throws MarinError ZEPHYR_BAD_RECORD when the record has no JSON form (undefined, a bigint, a loop) or the writer was
   * closed; RIGGING_DISK_FULL and the other file errors
   */
  async write(record: unknown): Promise<void> {
    if (this.#ended) throw this.#badRecord("the writer was closed before");
    let text: string | undefined;
    try {
      text = JSON.stringify(record);
    } catch (cause) {
      throw this.#badRecord(cause instanceof Error ? cause.message : String(cause), cause);
    }
    if (text === undefined) throw this.#badRecord(`a value of type ${typeof record} has no JSON form`);
    this.#pending += `${text}\n`;
    this.#records += 1;
    if (this.#pending.length >= flushLength) await this.#flush();
  }

  /**
   * Writes what is left and puts the file in its place.
   *
   * @throws MarinError RIGGING_DISK_FULL and the other file errors; ZEPHYR_BAD_RECORD when it was closed or aborted before
   */
  async close(): Promise<JsonlSummary> {
    if (this.#ended) throw this.#badRecord("the writer was closed before");
    await this.#flush();
    this.#ended = true;
    this.#stream.end();
    return { records: this.#records, bytes: await this.#written };
  }

  /** Drops everything: nothing appears at the path, what was there stays. After {@link close} it does nothing. */
  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.destroy(new Error("aborted"));
    await this.#written.catch(() => undefined);
  }

  /** {@link abort}, unless closed: a block that throws before closing leaves no file. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  async #flush(): Promise<void> {
    if (this.#pending === "") return;
    const bytes = Buffer.from(this.#pending, "utf8");
    this.#pending = "";
    if (this.#stream.write(bytes)) return;
    // A stream whose file failed closes without the reason: the file's own error is the one to tell.
    const drained = once(this.#stream, "drain").catch(() => this.#failed);
    await Promise.race([drained, this.#failed]);
  }

  #badRecord(reason: string, cause?: unknown): MarinError {
    const record = this.#records + 1;
    return new MarinError("ZEPHYR_BAD_RECORD", `Cannot write record ${String(record)} to ${this.#path}: ${reason}.`, {
      data: { path: this.#path, record },
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

/**
 * Writes all records of a source to a JSON Lines file, which appears complete or not at all.
 *
 * @param path - the file; its directory must exist; what is there is replaced
 * @param records - a dataset, a reader, an array
 * @throws what {@link JsonlWriter} throws; whatever the source throws, unchanged
 */
export async function writeJsonl(path: string, records: DatasetSource<unknown>): Promise<JsonlSummary> {
  const writer = new JsonlWriter(path);
  try {
    for await (const record of records) await writer.write(record);
    return await writer.close();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
