import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileError, makeTemporaryDirectory, type TemporaryDirectory } from "@marin/iris";
import type { ParquetRecord, ParquetSchema } from "../parquet/types.js";
import { ParquetReader } from "../readers/parquet.js";
import { conformer } from "../schema/conform.js";
import { SchemaInference } from "../schema/schema-inference.js";
import { type ParquetSummary, ParquetWriter, type ParquetWriterOptions } from "./parquet.js";

/** How a Parquet file is stored whose schema is found by itself. */
export interface ParquetFileOptions extends Omit<ParquetWriterOptions, "schema" | "storage" | "notes"> {
  /** Notes for the file's table of contents, by key. Default: none. */
  readonly notes?: Readonly<Record<string, string>>;
}

/** The note of a Parquet file that says what its records have in common: more than its schema tells. */
export const inferenceNote = "zephyr.inference";

/** How {@link InferringRows} keeps records. */
export interface InferringRowsOptions {
  /** What the records are called in messages: the file that they are written to. */
  readonly file: string;
  /** How a Parquet file of them is stored. */
  readonly stored: ParquetFileOptions;
  /** A directory of the local disk for what does not fit into memory. Default: the system's temporary one. */
  readonly scratch?: string | undefined;
}

/** All records, and the schema that holds them. */
export interface InferredRows {
  /** The schema. */
  readonly schema: ParquetSchema;
  /** Notes for a Parquet file of them. */
  readonly notes: Readonly<Record<string, string>>;
  /** A local Parquet file that holds exactly them, with the notes, where one was made already. */
  readonly file: { readonly path: string; readonly summary: ParquetSummary } | undefined;
  /** The records, in order. */
  readonly records: () => AsyncIterable<ParquetRecord>;
}

/** A local file with records that one schema holds. */
interface Part {
  readonly path: string;
  readonly writer: ParquetWriter;
  readonly schema: ParquetSchema;
  /** The schema as text, to see changes. */
  readonly text: string;
  /** The inference's count of changes when the part's schema was last found to hold. */
  changes: number;
  readonly conform: (record: ParquetRecord) => ParquetRecord;
}

/**
 * Keeps records until all were seen and their schema is known: a row group of them in memory, more in Parquet files on the
 * local disk. When the schema turns out to be too narrow, a new file begins; usually none does, and the one file is what is wanted.
 */
export class InferringRows implements AsyncDisposable {
  readonly #options: InferringRowsOptions;
  readonly #inference: SchemaInference;
  readonly #parts: Part[] = [];
  #rows: ParquetRecord[] = [];
  #inMemory = true;
  #kept: Promise<void> = Promise.resolve();
  #directory: TemporaryDirectory | undefined;

  /** @param options - how to keep the records */
  constructor(options: InferringRowsOptions) {
    this.#options = options;
    this.#inference = new SchemaInference(options.file);
  }

  /** @throws MarinError ZEPHYR_SCHEMA_CONFLICT, ZEPHYR_BAD_RECORD; RIGGING_DISK_FULL and the other file errors */
  async add(record: unknown): Promise<void> {
    const inference = this.#inference;
    inference.observe(record);
    if (this.#inMemory) {
      this.#rows.push(record as ParquetRecord);
      const { rowGroupRows = 10_000, rowGroupBytes = 1 << 26 } = this.#options.stored;
      if (this.#rows.length <= rowGroupRows && inference.bytes <= rowGroupBytes) return;
      this.#inMemory = false;
    }
    // One after the other, also for who does not wait for each record.
    this.#kept = this.#kept.then(() => this.#keep(record as ParquetRecord));
    this.#kept.catch(() => undefined);
    await this.#kept;
  }

  /** All records were added. */
  async end(): Promise<InferredRows> {
    await this.#kept;
    const schema = this.#inference.schema();
    const last = this.#parts.at(-1);
    const summary = await last?.writer.close();
    const conform = conformer(schema);
    const parts = this.#parts;
    const rows = this.#rows;
    return {
      schema,
      notes: this.#notes(),
      file: parts.length === 1 && last !== undefined && summary !== undefined ? { path: last.path, summary } : undefined,
      records: async function* () {
        for (const row of rows) yield conform(row);
        for (const { path } of parts) for await (const row of new ParquetReader({ path })) yield conform(row);
      },
    };
  }

  /** Removes what lies on the local disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kept.catch(() => undefined);
    await this.#parts.at(-1)?.writer.abort();
    await this.#directory?.[Symbol.asyncDispose]();
  }

  #notes(): Readonly<Record<string, string>> {
    return { ...this.#options.stored.notes, [inferenceNote]: this.#inference.note() };
  }

  /** Adds a record to the local files; with the first one come those that were kept in memory. */
  async #keep(record: ParquetRecord): Promise<void> {
    const { changes } = this.#inference;
    let part = this.#parts.at(-1);
    if (part !== undefined && changes !== part.changes) {
      part.changes = changes;
      if (JSON.stringify(this.#inference.schema()) !== part.text) {
        await part.writer.close();
        part = undefined;
      }
    }
    part ??= await this.#beginPart();
    const rows = this.#rows.length === 0 ? [record] : this.#rows;
    this.#rows = [];
    for (const row of rows) await part.writer.write(part.conform(row));
  }

  async #beginPart(): Promise<Part> {
    this.#directory ??= await directoryIn(this.#options.scratch);
    const schema = this.#inference.schema();
    const path = join(this.#directory.path, `${String(this.#parts.length)}.parquet`);
    const writer = new ParquetWriter(path, { ...this.#options.stored, schema, notes: () => this.#notes() });
    const part = { path, writer, schema, text: JSON.stringify(schema), changes: this.#inference.changes, conform: conformer(schema) };
    this.#parts.push(part);
    return part;
  }
}

async function directoryIn(scratch: string | undefined): Promise<TemporaryDirectory> {
  if (scratch === undefined) return makeTemporaryDirectory("zephyr-rows");
  try {
    await mkdir(scratch, { recursive: true });
    const path = await mkdtemp(join(scratch, "rows-"));
    return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
  } catch (error) {
    throw fileError(error, { action: "make a directory in", path: scratch });
  }
}
