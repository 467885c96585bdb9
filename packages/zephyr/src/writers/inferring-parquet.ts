import { createReadStream } from "node:fs";
import { MarinError, type Storage } from "@marin/iris";
import { currentStorage } from "../storage.js";
import { InferringRows, type ParquetFileOptions } from "./inferring-rows.js";
import { type ParquetSummary, ParquetWriter } from "./parquet.js";
import type { ShardWriter } from "./write-all.js";

/** Settings of an {@link InferringParquetWriter}. */
export interface InferringParquetOptions extends ParquetFileOptions {
  /** What else the records are called in messages: the file they come from. */
  readonly source?: string | undefined;
  /** Where the file goes. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** A directory of the local disk for what does not fit into memory. Default: the system's temporary one. */
  readonly scratch?: string | undefined;
}

/**
 * Writes a Parquet file whose schema is the narrowest that holds all records, whatever their order (see `inferSchema`). The file appears at
 * its path complete or not at all. More than a row group waits on the local disk until the last record was seen.
 */
export class InferringParquetWriter implements ShardWriter<unknown, ParquetSummary> {
  readonly #path: string;
  readonly #options: InferringParquetOptions;
  readonly #rows: InferringRows;
  #ended = false;

  /**
   * @param path - the file; what is there is replaced on close
   * @param options - how to store it
   */
  constructor(path: string, options: InferringParquetOptions) {
    const { source, scratch, storage: _storage, ...stored } = options;
    this.#path = path;
    this.#options = options;
    this.#rows = new InferringRows({ file: source === undefined ? path : `${path} (from ${source})`, stored, scratch });
  }

  /** @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming file, record, column and both types; ZEPHYR_BAD_RECORD; RIGGING_DISK_FULL and the other file errors */
  async write(record: unknown): Promise<void> {
    if (this.#ended) throw new MarinError("ZEPHYR_BAD_RECORD", `Cannot write a record to ${this.#path}: the writer was closed before.`, { data: { path: this.#path } });
    await this.#rows.add(record);
  }

  /** @throws MarinError ZEPHYR_BAD_SCHEMA for a struct that was always empty, which Parquet cannot store; the file errors */
  async close(): Promise<ParquetSummary> {
    this.#ended = true;
    const { storage = currentStorage(), source: _source, scratch: _scratch, ...stored } = this.#options;
    try {
      const { schema, notes, file, records } = await this.#rows.end();
      if (file !== undefined) {
        await storage.write(this.#path, createReadStream(file.path));
        return file.summary;
      }
      await using writer = new ParquetWriter(this.#path, { ...stored, schema, notes, storage });
      for await (const record of records()) await writer.write(record);
      return await writer.close();
    } finally {
      await this.#rows[Symbol.asyncDispose]();
    }
  }

  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#rows[Symbol.asyncDispose]();
  }
}
