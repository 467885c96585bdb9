import type { WholeFile } from "../writers/whole-file.js";
import type { ParquetFile } from "./file.js";
import type { SchemaNode } from "./format.js";
import { LiteEncoder, readLite } from "./lite.js";
import { ZephyrEncoder } from "./encoder.js";
import { readParts } from "./read-parts.js";
import type { ParquetCodec, ParquetCompression, ParquetRecord, ParquetSchema } from "./types.js";

/** What a file is made of. */
export interface ParquetEncoderOptions {
  /** The columns. */
  readonly schema: ParquetSchema;
  /** How pages are compressed. */
  readonly compression: ParquetCompression;
  /** How much work goes into it. Default: the compression's usual one. */
  readonly compressionLevel: number | undefined;
  /** Version of the pages' headers. */
  readonly pageVersion: 1 | 2;
  /** Most rows in a page. */
  readonly pageRows: number;
  /** A page ends when its values take so many bytes. */
  readonly pageBytes: number;
  /** Gives the notes for the table of contents, by key, when it is written. */
  notes(): Readonly<Record<string, string>>;
}

/** Turns rows into a file. */
export interface ParquetEncoder {
  /** A row in the form that the codec takes. @throws Misfit for a value that it does not hold */
  stored(row: unknown[]): unknown[];
  /** Writes a row group. */
  rowGroup(file: WholeFile, rows: readonly (readonly unknown[])[]): Promise<void>;
  /** Writes the table of contents. */
  finish(file: WholeFile): Promise<void>;
}

/** Rows of a row group, from `start` up to, not including, `end`, counted within it. */
export interface RowGroupPart {
  readonly group: number;
  readonly start: number;
  readonly end: number;
}

/** What is read of a file. */
export interface ParquetReadRequest {
  /** The columns, in the order of their names in a record. */
  readonly columns: readonly SchemaNode[];
  readonly parts: AsyncIterable<RowGroupPart>;
  readonly signal: AbortSignal | undefined;
}

/** A way to read and to write Parquet: everything else is the same for all of them. */
interface ParquetCodecAdapter {
  /** The records of the parts, in batches. @throws MarinError ZEPHYR_BAD_PARQUET, ZEPHYR_PARQUET_UNSUPPORTED */
  read(file: ParquetFile, request: ParquetReadRequest): AsyncGenerator<ParquetRecord[]>;
  /** @throws MarinError ZEPHYR_BAD_SCHEMA, ZEPHYR_PARQUET_UNSUPPORTED */
  encoder(options: ParquetEncoderOptions): ParquetEncoder;
}

/** The codecs by name. */
export const codecs: Readonly<Record<ParquetCodec, ParquetCodecAdapter>> = {
  zephyr: { read: readParts, encoder: (options) => new ZephyrEncoder(options) },
  "parquetjs-lite": { read: readLite, encoder: (options) => new LiteEncoder(options) },
};
