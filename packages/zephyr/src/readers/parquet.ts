import type { Table } from "apache-arrow";
import { MarinError, type Storage } from "@marin/iris";
import { arrowTableOf } from "../arrow/columns.js";
import { codecs, type ParquetReadRequest, type RowGroupPart } from "../parquet/codec.js";
import { refuseUnsupported } from "../parquet/decode.js";
import { openParquet, type ParquetFile } from "../parquet/file.js";
import type { SchemaNode } from "../parquet/format.js";
import { type ParquetPruning, prune } from "../parquet/pruning.js";
import { typeOf } from "../parquet/schema.js";
import { type ParquetStatistics, statisticsLeaves, statisticsOf } from "../parquet/statistics.js";
import type { ParquetCodec, ParquetRecord, ParquetSchema, ParquetType } from "../parquet/types.js";
import { currentStorage } from "../storage.js";

/** Settings of a {@link ParquetReader}. */
export interface ParquetReaderOptions {
  /** The file: a path of the disk, or gs://bucket/name. */
  readonly path: string;
  /** The columns to read; only their bytes are fetched. With none, records are empty and no data is fetched. Default: all. */
  readonly columns?: readonly string[];
  /** The rows to read, counted in the file: from `start` up to, not including, `end`. Default: all. */
  readonly rows?: { readonly start: number; readonly end: number };
  /**
   * Tells which row groups and pages need not be read, by their statistics. What may match is read whole: the records still
   * have to be filtered. Default: everything is read.
   */
  readonly pruning?: ParquetPruning;
  /**
   * What decodes. "parquetjs-lite" reads files that it has written, whole in memory; it is there for its users' files. Default
   * "zephyr", which reads everything.
   */
  readonly codec?: ParquetCodec;
  /** The version of the file that is meant; another one is RIGGING_CHANGED. Default: the one that is there when it is first read. */
  readonly version?: string;
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
}

/** A run of whole row groups. */
export interface ParquetSplit {
  /** Its first row, counted in the file. */
  readonly start: number;
  /** The row behind its last. */
  readonly end: number;
  /** What the chosen columns take in the file. */
  readonly bytes: number;
}

/** A row group. */
export interface ParquetRowGroup extends ParquetSplit {
  /** What the file says of its values, by the dotted names of columns; those inside of lists and maps are left out. */
  readonly statistics: ReadonlyMap<string, ParquetStatistics>;
}

/** Rows of a file without columns to read that are given at once. */
const emptyRows = 1000;

/**
 * The records of a Parquet file, in order, with exact values ({@link ParquetValue} has the table). One row group is held
 * in memory at a time, and only the chosen columns are fetched. Can be iterated again.
 *
 * Reads pages v1 and v2, every encoding in use, and the codecs snappy, gzip, brotli, zstd and LZ4. Page checksums are checked
 * where the file has them.
 *
 * Every method throws MarinError ZEPHYR_BAD_PARQUET naming the file and the offset when the file is cut short, damaged or
 * no Parquet; ZEPHYR_NO_COLUMN; ZEPHYR_PARQUET_UNSUPPORTED (encrypted files, BSON, variants, unknown codecs and encodings, each
 * named); ZEPHYR_BAD_COUNT (rows that the file does not have); RIGGING_CHANGED (the file is written while it is read);
 * RIGGING_NOT_FOUND and the other file errors.
 */
export class ParquetReader<T = ParquetRecord> implements AsyncIterable<T> {
  readonly #options: ParquetReaderOptions;
  #opened: Promise<ParquetFile> | undefined;

  /** @param options - the file and what to read of it */
  constructor(options: ParquetReaderOptions) {
    this.#options = options;
  }

  /** The same file, of which these columns are read; its table of contents is not read again. */
  withColumns(columns: readonly string[]): ParquetReader<T> {
    const reader = new ParquetReader<T>({ ...this.#options, columns });
    reader.#opened = this.#opened;
    return reader;
  }

  /** Rows in the file; reads its table of contents only. */
  async rowCount(): Promise<number> {
    const { metadata } = await this.#open();
    return metadata.rows;
  }

  /** Columns by name and type, in the file's order; a writer given this schema writes the same types. */
  async schema(): Promise<ParquetSchema> {
    const { metadata } = await this.#open();
    return Object.fromEntries(metadata.root.children.map((node) => [node.element.name, typeOf(node)]));
  }

  /** The names of the columns, in the file's order, and their types. */
  async columns(): Promise<readonly { readonly name: string; readonly type: ParquetType }[]> {
    return Object.entries(await this.schema()).map(([name, type]) => ({ name, type }));
  }

  /** The notes in the file's table of contents, by key. */
  async notes(): Promise<Readonly<Record<string, string>>> {
    const { metadata } = await this.#open();
    return metadata.notes;
  }

  /** The row groups, all of them, with what the file says of their values; reads its table of contents only. */
  async rowGroups(): Promise<readonly ParquetRowGroup[]> {
    const { metadata } = await this.#open();
    const columns = this.#chosen(metadata.root);
    const named = [...statisticsLeaves(metadata.leaves)];
    let end = 0;
    return metadata.groups.map((group) => {
      const start = end;
      end += group.rows;
      const statistics = named.flatMap(([name, leaf]) => {
        const stored = group.columns[leaf.firstLeaf]?.statistics;
        return stored === undefined ? [] : [[name, statisticsOf(leaf, stored, group.rows)] as const];
      });
      const chunks = columns.flatMap(({ firstLeaf, leaves }) => group.columns.slice(firstLeaf, firstLeaf + leaves));
      return { start, end, bytes: chunks.reduce((sum, { range }) => sum + range.end - range.start, 0), statistics: new Map(statistics) };
    });
  }

  /**
   * The file in pieces that can be read apart from each other: each is given back as `rows`. A row group is never divided.
   *
   * @param bytes - about what the chosen columns of a piece take in the file; a larger row group is a piece by itself
   * @throws MarinError ZEPHYR_BAD_COUNT for bytes below 1
   */
  async splits(bytes: number): Promise<readonly ParquetSplit[]> {
    if (!(bytes >= 1)) throw new MarinError("ZEPHYR_BAD_COUNT", `splits() needs a number of bytes of at least 1, found ${String(bytes)}.`, { data: { operation: "splits", count: bytes } });
    const splits: { start: number; end: number; bytes: number }[] = [];
    for (const group of await this.rowGroups()) {
      const last = splits.at(-1);
      if (last !== undefined && last.bytes + group.bytes <= bytes) {
        last.end = group.end;
        last.bytes += group.bytes;
      } else splits.push({ start: group.start, end: group.end, bytes: group.bytes });
    }
    return splits;
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    // Not a generator, which takes several turns of the event loop for each record: most records are there already.
    const batches = this.batches();
    let batch: readonly T[] = [];
    let at = 0;
    const following = async (): Promise<IteratorResult<T, undefined>> => {
      for (;;) {
        if (at < batch.length) return { done: false, value: batch[at++] as T };
        const next = await batches.next();
        if (next.done === true) return { done: true, value: undefined };
        batch = next.value;
        at = 0;
      }
    };
    let last: Promise<IteratorResult<T, undefined>> | undefined;
    return {
      next: () => {
        if (last === undefined && at < batch.length) return Promise.resolve({ done: false, value: batch[at++] as T });
        // Who asks for several at once gets them one after the other.
        const asked = last === undefined ? following() : last.then(following);
        last = asked;
        const settled = (): void => {
          if (last === asked) last = undefined;
        };
        asked.then(settled, settled);
        return asked;
      },
      return: async () => {
        batch = [];
        await batches.return(undefined);
        return { done: true, value: undefined };
      },
    };
  }

  /** The records in the order of the file, a thousand or fewer at once: faster than one by one. */
  async *batches(): AsyncGenerator<T[]> {
    const { file, request } = await this.#request();
    if (request.columns.length === 0) {
      for await (const { start, end } of request.parts) {
        for (let row = start; row < end; row += emptyRows) yield Array.from({ length: Math.min(emptyRows, end - row) }, () => ({}) as T);
      }
      return;
    }
    yield* codecs[this.#options.codec ?? "zephyr"].read(file, request) as AsyncGenerator<T[]>;
  }

  /**
   * The rows as Arrow tables, one for each row group, in the order of the file. Columns of numbers are taken over as they are
   * stored. `apache-arrow` is loaded on first use.
   *
   * @throws MarinError also ZEPHYR_ARROW_UNSUPPORTED naming the type (float16, interval)
   */
  async *tables(): AsyncGenerator<Table> {
    const { file, request } = await this.#request();
    const schema = await this.schema();
    for await (const part of request.parts) {
      request.signal?.throwIfAborted();
      yield await arrowTableOf(file, part, request.columns, schema);
    }
  }

  async #request(): Promise<{ readonly file: ParquetFile; readonly request: ParquetReadRequest }> {
    const file = await this.#open();
    const columns = this.#chosen(file.metadata.root);
    for (const column of columns) refuseUnsupported(this.#options.path, column);
    return { file, request: { columns, parts: this.#wanted(file, this.#parts(file)), signal: this.#options.signal } };
  }

  async *#wanted(file: ParquetFile, parts: readonly RowGroupPart[]): AsyncGenerator<RowGroupPart> {
    const { pruning, signal } = this.#options;
    for (const part of parts) {
      signal?.throwIfAborted();
      if (pruning === undefined) yield part;
      else yield* await prune(file, part, pruning);
    }
  }

  /** The rows that are asked for, by row group. */
  #parts({ metadata }: ParquetFile): RowGroupPart[] {
    const { path, rows: { start, end } = { start: 0, end: metadata.rows } } = this.#options;
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || start > end || end > metadata.rows) {
      throw new MarinError("ZEPHYR_BAD_COUNT", `${path} has ${String(metadata.rows)} rows, and rows ${String(start)} to ${String(end)} were asked for.`, { data: { path, start, end, rows: metadata.rows } });
    }
    let before = 0;
    return metadata.groups.flatMap(({ rows }, group) => {
      const part = { group, start: Math.max(0, start - before), end: Math.min(rows, end - before) };
      before += rows;
      return part.start < part.end ? [part] : [];
    });
  }

  #chosen(root: SchemaNode): readonly SchemaNode[] {
    const { columns, path } = this.#options;
    if (columns === undefined) return root.children;
    const present = root.children.map(({ element }) => element.name);
    const missing = columns.find((column) => !present.includes(column));
    if (missing === undefined) return root.children.filter(({ element }) => columns.includes(element.name));
    throw new MarinError("ZEPHYR_NO_COLUMN", `${path} has no column "${missing}"; its columns are ${present.join(", ")}.`, { data: { path, column: missing, columns: present } });
  }

  #open(): Promise<ParquetFile> {
    const { path, storage = currentStorage(), version, signal } = this.#options;
    this.#opened ??= openParquet(path, storage, { version, signal }).catch((error: unknown) => {
      // The next call tries again: the file may have come meanwhile.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}
