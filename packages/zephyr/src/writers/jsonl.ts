import { MarinError, type Storage } from "@marin/iris";
import type { DatasetSource } from "../dataset.js";
import { jsonText, NoJsonForm } from "./json-form.js";
import { WholeFile } from "./whole-file.js";
import { writeAll } from "./write-all.js";

/** What was written. */
export interface JsonlSummary {
  /** Records, one a line. */
  readonly records: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/** Settings of a {@link JsonlWriter}. */
export interface JsonlWriterOptions {
  /** Where the file goes. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
}

/** Characters gathered before they are handed to the file. */
const flushLength = 1 << 20;

/**
 * Writes a JSON Lines file, one record at a time. The file appears at its path complete, when {@link JsonlWriter.close}
 * returns, or not at all. Records are written as JSON.stringify gives them, NaN and infinities as null; a bigint becomes a whole number, a number
 * beyond 2^53 one with a point (a reader takes it for no integer), a map with text keys an object, a typed array a list.
 */
export class JsonlWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #file: WholeFile;
  #pending = "";
  #records = 0;

  /** @param path - the file; packed when its name ends in .gz or .zst; what is there is replaced on close */
  constructor(path: string, options: JsonlWriterOptions = {}) {
    this.#path = path;
    this.#file = new WholeFile(path, options.storage);
  }

  /**
   * Adds a record. Resolves when there is room for the next one.
   *
   * @throws MarinError ZEPHYR_BAD_RECORD when the record has no JSON form (undefined, bytes, a set, a
   * function, a loop), naming where, or the writer was closed; RIGGING_DISK_FULL and the other file errors
   */
  async write(record: unknown): Promise<void> {
    if (this.#file.ended) throw this.#badRecord("the writer was closed before");
    let text: string | undefined;
    try {
      text = jsonText(record);
    } catch (cause) {
      // A loop ends the walk by filling the stack.
      if (cause instanceof RangeError) throw this.#badRecord("it contains itself, or is nested too deep", cause);
      const at = cause instanceof NoJsonForm && cause.at !== "" ? `${cause.at}: ` : "";
      throw this.#badRecord(`${at}${cause instanceof Error ? cause.message : String(cause)}`, cause);
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
    if (this.#file.ended) throw this.#badRecord("the writer was closed before");
    await this.#flush();
    return { records: this.#records, bytes: await this.#file.close() };
  }

  /** Drops everything: nothing appears at the path, what was there stays. After {@link close} it does nothing. */
  abort(): Promise<void> {
    return this.#file.abort();
  }

  /** {@link abort}, unless closed: a block that throws before closing leaves no file. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  async #flush(): Promise<void> {
    if (this.#pending === "") return;
    const bytes = Buffer.from(this.#pending, "utf8");
    this.#pending = "";
    await this.#file.write(bytes);
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
 * @param path - the file; packed when its name ends in .gz or .zst; what is there is replaced
 * @param records - a dataset, a reader, an array
 * @throws what {@link JsonlWriter} throws; whatever the source throws, unchanged
 */
export async function writeJsonl(path: string, records: DatasetSource<unknown>, options: JsonlWriterOptions = {}): Promise<JsonlSummary> {
  return writeAll(new JsonlWriter(path, options), records);
}
