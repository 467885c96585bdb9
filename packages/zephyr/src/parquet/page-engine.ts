import { ByteWriter, ParquetWriter as PageWriter } from "hyparquet-writer";
import type { WholeFile } from "../writers/whole-file.js";
import { codecNames, compressors } from "./codecs.js";
import { completeSchema, schemaElements } from "./schema.js";
import type { ParquetCompression, ParquetSchema } from "./types.js";

/** What a file is made of. */
export interface EngineOptions {
  /** The columns. */
  readonly schema: ParquetSchema;
  /** How pages are compressed. */
  readonly compression: ParquetCompression;
  /** Notes for the table of contents, by key. */
  readonly notes: Readonly<Record<string, string>>;
}

/** Turns encoded rows into a file. */
export interface ParquetEngine {
  /** A row as the library takes it. @throws Misfit for a value that it does not hold */
  stored(row: unknown[]): unknown[];
  /** Writes a row group. */
  rowGroup(file: WholeFile, rows: readonly (readonly unknown[])[]): Promise<void>;
  /** Writes the table of contents. */
  finish(file: WholeFile): Promise<void>;
}

/** Writes with hyparquet-writer: every type, pages v2. */
export class PageEngine implements ParquetEngine {
  readonly #names: readonly string[];
  readonly #buffer = new ByteWriter(1 << 20);
  readonly #pages: PageWriter;

  /** @throws MarinError ZEPHYR_BAD_SCHEMA */
  constructor({ schema, compression, notes }: EngineOptions) {
    this.#names = Object.keys(schema);
    this.#pages = new PageWriter({
      writer: this.#buffer,
      schema: schemaElements(schema),
      codec: codecNames[compression],
      compressors,
      kvMetadata: Object.entries(notes).map(([key, value]) => ({ key, value })),
      createdBy: "marin-zephyr version 0.1.0",
    });
  }

  stored(row: unknown[]): unknown[] {
    return row;
  }

  async rowGroup(file: WholeFile, rows: readonly (readonly unknown[])[]): Promise<void> {
    const columnData = this.#names.map((name, column) => ({ name, data: rows.map((row) => row[column]) }));
    // Without a flush of its own the buffer makes this synchronous.
    void this.#pages.write({ columnData, rowGroupSize: rows.length });
    await this.#flush(file);
  }

  async finish(file: WholeFile): Promise<void> {
    completeSchema(this.#pages.schema);
    void this.#pages.finish();
    await this.#flush(file);
  }

  async #flush(file: WholeFile): Promise<void> {
    const bytes = Uint8Array.from(this.#buffer.getBytes());
    this.#buffer.index = 0;
    await file.write(bytes);
  }
}
