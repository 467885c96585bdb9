import { isMarinError, MarinError, type Storage } from "@marin/iris";
import type { Table } from "apache-arrow";
import { toArrowTable } from "../arrow/table.js";
import type { DatasetSource } from "../dataset.js";
import type { ParquetRecord, ParquetSchema } from "../parquet/types.js";
import { InferringRows } from "./inferring-rows.js";
import { WholeFile } from "./whole-file.js";
import { type ShardWriter, writeAll } from "./write-all.js";

/** Settings of an {@link ArrowWriter}. */
export interface ArrowWriterOptions {
  /** The columns: all types but float16 and interval. */
  readonly schema: ParquetSchema;
  /** Rows in a record batch, the unit that a reader holds in memory. Default 10,000. */
  readonly batchRows?: number;
  /** Where the file goes. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
}

/** Settings of {@link writeArrowFile}. */
export type WriteArrowFileOptions = Partial<ArrowWriterOptions>;

/** What was written. */
export interface ArrowSummary {
  /** Rows. */
  readonly records: number;
  /** Record batches. */
  readonly batches: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/**
 * Writes an Arrow IPC file, one record at a time, batch by batch. The file appears at its path complete, when
 * {@link ArrowWriter.close} returns, or not at all. `apache-arrow` is loaded on first use.
 */
export class ArrowWriter implements ShardWriter<ParquetRecord, ArrowSummary>, AsyncDisposable {
  readonly #path: string;
  readonly #schema: ParquetSchema;
  readonly #batchRows: number;
  readonly #file: WholeFile;
  #rows: ParquetRecord[] = [];
  #messages: Messages | undefined;
  #records = 0;
  #batches = 0;

  /**
   * @param path - the file; what is there is replaced on close
   * @param options - the columns, and how to store them
   * @throws MarinError ZEPHYR_BAD_COUNT
   */
  constructor(path: string, { schema, batchRows = 10_000, storage }: ArrowWriterOptions) {
    if (!Number.isSafeInteger(batchRows) || batchRows < 1) {
      throw new MarinError("ZEPHYR_BAD_COUNT", `batchRows is ${String(batchRows)}, and must be a whole number of at least 1.`, { data: { name: "batchRows", count: batchRows } });
    }
    this.#path = path;
    this.#schema = schema;
    this.#batchRows = batchRows;
    this.#file = new WholeFile(path, storage);
  }

  /**
   * Adds a record. Resolves when there is room for the next one.
   *
   * @throws MarinError ZEPHYR_BAD_RECORD naming record and column, ZEPHYR_ARROW_UNSUPPORTED; RIGGING_DISK_FULL and the other file errors
   */
  async write(record: ParquetRecord): Promise<void> {
    this.#requireOpen();
    this.#rows.push(record);
    if (this.#rows.length >= this.#batchRows) await this.#endBatch();
  }

  /**
   * Writes what is left and puts the file in its place.
   *
   * @throws what {@link ArrowWriter.write} throws
   */
  async close(): Promise<ArrowSummary> {
    this.#requireOpen();
    // A file without rows still tells its columns.
    if (this.#rows.length > 0 || this.#messages === undefined) await this.#endBatch();
    await this.#file.write(this.#messages?.end() ?? new Uint8Array());
    return { records: this.#records, batches: this.#batches, bytes: await this.#file.close() };
  }

  /** Drops everything: nothing appears at the path, what was there stays. After {@link close} it does nothing. */
  abort(): Promise<void> {
    return this.#file.abort();
  }

  /** {@link abort}, unless closed: a block that throws before closing leaves no file. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  async #endBatch(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    const table = await this.#tableOf(rows);
    this.#messages ??= await openMessages();
    this.#records += rows.length;
    if (rows.length > 0) this.#batches += 1;
    await this.#file.write(this.#messages.add(table));
  }

  async #tableOf(rows: readonly ParquetRecord[]): Promise<Table> {
    try {
      return await toArrowTable(rows, this.#schema);
    } catch (error) {
      if (!isMarinError(error, "ZEPHYR_BAD_RECORD")) throw error;
      // The table counts the records of its batch.
      const record = this.#records + Number(error.data["record"]);
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      throw new MarinError("ZEPHYR_BAD_RECORD", `Cannot write record ${String(record)} to ${this.#path}: column ${String(error.data["column"])}: ${reason}.`, { data: { ...error.data, path: this.#path, record }, cause: error.cause });
    }
  }

  #requireOpen(): void {
    if (!this.#file.ended) return;
    throw new MarinError("ZEPHYR_BAD_RECORD", `Cannot write record ${String(this.#records + 1)} to ${this.#path}: the writer was closed before.`, { data: { path: this.#path, record: this.#records + 1 } });
  }
}

/** The bytes of an IPC file, piece by piece. */
interface Messages {
  /** Those of a batch, and of what comes before it. */
  add(table: Table): Uint8Array;
  /** Those of the table of contents. */
  end(): Uint8Array;
}

async function openMessages(): Promise<Messages> {
  const { AsyncByteQueue, RecordBatch, RecordBatchFileWriter } = await import("apache-arrow");
  let chunks: Uint8Array[] = [];
  // The library's own queue grows without bounds; this one is emptied after each batch.
  class Gathered extends AsyncByteQueue {
    override write(chunk: Uint8Array): void {
      chunks.push(chunk);
    }
  }
  const writer = new RecordBatchFileWriter();
  writer.reset(new Gathered());
  const gathered = (): Uint8Array => {
    const bytes = Buffer.concat(chunks);
    chunks = [];
    return bytes;
  };
  let schema: Table["schema"] | undefined;
  return {
    add({ schema: own, batches }) {
      // One schema for all: at another one the library would end the file without a word.
      schema ??= own;
      for (const { data } of batches) writer.write(new RecordBatch(schema, data));
      return gathered();
    },
    end() {
      writer.finish();
      return gathered();
    },
  };
}

/** Settings of an {@link InferringArrowWriter}. */
export interface InferringArrowOptions extends Omit<ArrowWriterOptions, "schema"> {
  /** What else the records are called in messages: the file they come from. */
  readonly source?: string | undefined;
  /** A directory of the local disk for what does not fit into memory. Default: the system's temporary one. */
  readonly scratch?: string | undefined;
}

/** Writes an Arrow IPC file whose schema is the narrowest that holds all records (see `inferSchema`). */
export class InferringArrowWriter implements ShardWriter<unknown, ArrowSummary> {
  readonly #path: string;
  readonly #options: InferringArrowOptions;
  readonly #rows: InferringRows;

  /** @param path - the file; what is there is replaced on close */
  constructor(path: string, options: InferringArrowOptions) {
    const { source, scratch } = options;
    this.#path = path;
    this.#options = options;
    this.#rows = new InferringRows({ file: source === undefined ? path : `${path} (from ${source})`, stored: {}, scratch });
  }

  write(record: unknown): Promise<void> {
    return this.#rows.add(record);
  }

  async close(): Promise<ArrowSummary> {
    const { source: _source, scratch: _scratch, ...stored } = this.#options;
    try {
      const { schema, records } = await this.#rows.end();
      await using writer = new ArrowWriter(this.#path, { ...stored, schema });
      for await (const record of records()) await writer.write(record);
      return await writer.close();
    } finally {
      await this.abort();
    }
  }

  async abort(): Promise<void> {
    await this.#rows[Symbol.asyncDispose]();
  }
}

/**
 * Writes all records of a source to an Arrow IPC file, which appears complete or not at all.
 *
 * @param path - the file; what is there is replaced
 * @param records - a dataset, a reader, an array
 * @param options - the columns, default inferred (see `inferSchema`), and how to store them
 * @throws what {@link ArrowWriter} throws, and without a schema what `inferSchema` throws; whatever the source throws, unchanged
 */
export async function writeArrowFile(path: string, records: DatasetSource<ParquetRecord>, options: WriteArrowFileOptions = {}): Promise<ArrowSummary> {
  const { schema } = options;
  return schema === undefined ? writeAll(new InferringArrowWriter(path, options), records) : writeAll(new ArrowWriter(path, { ...options, schema }), records);
}
