import { MarinError, type Storage } from "@marin/iris";
import type { DatasetSource } from "../dataset.js";
import { codecs, type ParquetEncoder } from "../parquet/codec.js";
import { columnEncoders, Misfit, refuseUnknown, type Size } from "../parquet/encode.js";
import { compressionLevels } from "../parquet/compression.js";
import type { ParquetCodec, ParquetCompression, ParquetRecord, ParquetSchema } from "../parquet/types.js";
import { InferringParquetWriter } from "./inferring-parquet.js";
import type { ParquetFileOptions } from "./inferring-rows.js";
import { WholeFile } from "./whole-file.js";
import { writeAll } from "./write-all.js";

/** Settings of a {@link ParquetWriter}. */
export interface ParquetWriterOptions {
  /** The columns. A record may leave out nullable ones, and may have no others. */
  readonly schema: ParquetSchema;
  /** How pages are compressed. Default "zstd", with parquetjs-lite "snappy". */
  readonly compression?: ParquetCompression;
  /**
   * How much work goes into the compression: a higher level is slower to write and smaller, and as fast to read. zstd 1 to 22, default 3; gzip 1 to 9,
   * default 6; brotli 0 to 11, default 5. The others have none, nor does parquetjs-lite.
   */
  readonly compressionLevel?: number;
  /**
   * What encodes. "parquetjs-lite" writes the form that its users' programs read: format version 1, a few plain types, no zstd.
   * Default "zephyr", which writes everything.
   */
  readonly codec?: ParquetCodec;
  /** Rows in a row group, the unit that a reader holds in memory. Default 10,000. */
  readonly rowGroupRows?: number;
  /** A row group also ends when its values take about so many bytes. Default 64 MiB. */
  readonly rowGroupBytes?: number;
  /**
   * Version of the pages: 1 is what the oldest readers know, in files that say to be of version 1 as well. Default 2, with
   * parquetjs-lite 1.
   */
  readonly pageVersion?: 1 | 2;
  /** Rows in a page, the least that is read where rows are chosen. Default 2,000. */
  readonly pageRows?: number;
  /** A page also ends when its values take about so many bytes. Default 1 MiB. */
  readonly pageBytes?: number;
  /** Notes for the file's table of contents, by key, or what gives them when it is written. Default: none. */
  readonly notes?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
  /** Where the file goes. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
}

/** What was written. */
export interface ParquetSummary {
  /** Rows. */
  readonly records: number;
  /** Row groups. */
  readonly rowGroups: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
}

/**
 * Writes a Parquet file, one record at a time. The file appears at its path complete, when {@link ParquetWriter.close}
 * returns, or not at all. Equal records in equal order give equal bytes.
 *
 * A file without rows is valid, but some readers (the Rust ones) refuse it: rather write no file.
 */
export class ParquetWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #options: Required<Pick<ParquetWriterOptions, "schema" | "rowGroupRows" | "rowGroupBytes">>;
  readonly #encoders: ReturnType<typeof columnEncoders>;
  readonly #encoder: ParquetEncoder;
  readonly #file: WholeFile;
  #rows: (readonly unknown[])[] = [];
  #size: Size = { bytes: 0 };
  #records = 0;
  #rowGroups = 0;
  /** Row groups are written one after the other, also for who does not wait for each record. */
  #written: Promise<void> = Promise.resolve();

  /**
   * @param path - the file; what is there is replaced on close
   * @throws MarinError ZEPHYR_BAD_SCHEMA, ZEPHYR_BAD_COUNT (rowGroupRows, rowGroupBytes, pageRows, pageBytes below 1; a compressionLevel that the
   * compression does not have), ZEPHYR_PARQUET_UNSUPPORTED (a type, a compression or a choice of level that parquetjs-lite does not have)
   */
  constructor(path: string, options: ParquetWriterOptions) {
    const { schema, codec = "zephyr", compressionLevel, rowGroupRows = 10_000, rowGroupBytes = 1 << 26, pageRows = 2000, pageBytes = 1 << 20, notes = {} } = options;
    const isLite = codec === "parquetjs-lite";
    const { compression = isLite ? "snappy" : "zstd", pageVersion = isLite ? 1 : 2 } = options;
    for (const [name, count] of Object.entries({ rowGroupRows, rowGroupBytes, pageRows, pageBytes })) {
      if (Number.isSafeInteger(count) && count >= 1) continue;
      throw new MarinError("ZEPHYR_BAD_COUNT", `${name} is ${String(count)}, and must be a whole number of at least 1.`, { data: { name, count } });
    }
    if (compressionLevel !== undefined) checkLevel(compression, compressionLevel);
    this.#path = path;
    this.#options = { schema, rowGroupRows, rowGroupBytes };
    this.#encoders = columnEncoders(schema);
    this.#encoder = codecs[codec].encoder({ schema, compression, compressionLevel, pageVersion, pageRows, pageBytes, notes: typeof notes === "function" ? notes : () => notes });
    this.#file = new WholeFile(path, options.storage);
  }

  /**
   * Adds a record. Resolves when there is room for the next one.
   *
   * @throws MarinError ZEPHYR_BAD_RECORD naming the record (from 1 up) and the column when a value does not fit its type, a
   * required one is missing, the record has a column that the schema lacks, or the writer was closed; RIGGING_DISK_FULL and
   * the other file errors
   */
  async write(record: ParquetRecord): Promise<void> {
    if (this.#file.ended) throw this.#badRecord(this.#records + 1, "the writer was closed before");
    let column = "";
    let row: unknown[] = [];
    try {
      refuseUnknown(record, this.#options.schema, "");
      for (const [name, encode] of this.#encoders) {
        column = name;
        row.push(encode(record[name], this.#size));
      }
      row = this.#encoder.stored(row);
    } catch (cause) {
      throw this.#badRecord(this.#records + 1, `column ${cause instanceof Misfit ? cause.column : column}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
    }
    this.#rows.push(row);
    this.#records += 1;
    if (this.#rows.length >= this.#options.rowGroupRows || this.#size.bytes >= this.#options.rowGroupBytes) await this.#endRowGroup();
  }

  /**
   * Writes what is left and puts the file in its place.
   *
   * @throws MarinError RIGGING_DISK_FULL and the other file errors; ZEPHYR_BAD_RECORD when it was closed or aborted before
   */
  async close(): Promise<ParquetSummary> {
    if (this.#file.ended) throw this.#badRecord(this.#records + 1, "the writer was closed before");
    await this.#endRowGroup();
    await this.#written;
    await this.#encoder.finish(this.#file);
    return { records: this.#records, rowGroups: this.#rowGroups, bytes: await this.#file.close() };
  }

  /** Drops everything: nothing appears at the path, what was there stays. After {@link close} it does nothing. */
  abort(): Promise<void> {
    return this.#file.abort();
  }

  /** {@link abort}, unless closed: a block that throws before closing leaves no file. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.abort();
  }

  async #endRowGroup(): Promise<void> {
    if (this.#rows.length === 0) return;
    const rows = this.#rows;
    this.#rows = [];
    this.#size = { bytes: 0 };
    this.#rowGroups += 1;
    this.#written = this.#written.then(() => this.#encoder.rowGroup(this.#file, rows));
    await this.#written;
  }

  #badRecord(record: number, reason: string, cause?: unknown): MarinError {
    return new MarinError("ZEPHYR_BAD_RECORD", `Cannot write record ${String(record)} to ${this.#path}: ${reason}.`, {
      data: { path: this.#path, record, ...(cause instanceof Misfit ? { column: cause.column } : {}) },
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

/** @throws MarinError ZEPHYR_BAD_COUNT */
function checkLevel(compression: ParquetCompression, level: number): void {
  const levels = compressionLevels[compression];
  if (levels !== undefined && Number.isSafeInteger(level) && level >= levels.least && level <= levels.most) return;
  const right = levels === undefined ? "has no levels: leave it out" : `has the levels ${String(levels.least)} to ${String(levels.most)}`;
  throw new MarinError("ZEPHYR_BAD_COUNT", `compressionLevel is ${String(level)}, and the compression ${compression} ${right}.`, { data: { name: "compressionLevel", count: level, compression } });
}

/** Settings of {@link writeParquet}. */
export interface WriteParquetFileOptions extends ParquetFileOptions {
  /** The columns. Default: inferred, the narrowest that hold all records (see `inferSchema`). */
  readonly schema?: ParquetSchema;
  /** Where the file goes. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
}

/**
 * Writes all records of a source to a Parquet file, which appears complete or not at all.
 *
 * @param path - the file; what is there is replaced
 * @param records - a dataset, a reader, an array
 * @param options - the columns, and how to store them
 * @throws what {@link ParquetWriter} throws, and without a schema what `inferSchema` throws; whatever the source throws, unchanged
 */
export async function writeParquet(path: string, records: DatasetSource<ParquetRecord>, options: WriteParquetFileOptions = {}): Promise<ParquetSummary> {
  const { schema } = options;
  return schema === undefined ? writeAll(new InferringParquetWriter(path, options), records) : writeAll(new ParquetWriter(path, { ...options, schema }), records);
}
