import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { type AsyncBuffer, type ColumnMetaData, type FileMetaData, parquetMetadataAsync, parquetReadObjects, parquetSchema, type RowGroup, type SchemaTree } from "hyparquet";
import { readLite } from "../parquet/lite.js";
import { decompressors } from "../parquet/codecs.js";
import { columnDecoder, refuseUnsupported, storedForm, storedParsers } from "../parquet/decode.js";
import { checkPages } from "../parquet/pages.js";
import { typeOf } from "../parquet/schema.js";
import type { ParquetCodec, ParquetRecord, ParquetSchema, ParquetType, ParquetValue } from "../parquet/types.js";
import { type ByteSource, openSource } from "../sources.js";
import { currentStorage } from "../storage.js";

/** Settings of a {@link ParquetReader}. */
export interface ParquetReaderOptions {
  /** The file: a path of the disk, or gs://bucket/name. */
  readonly path: string;
  /** The columns to read; only their bytes are fetched. Default: all. */
  readonly columns?: readonly string[];
  /**
   * The library that decodes. "parquetjs-lite" reads files that it has written, whole in memory; it is there for its users'
   * files. Default "hyparquet".
   */
  readonly codec?: ParquetCodec;
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
}

/** Bytes fetched first, from the file's end: its table of contents. */
const footerBytes = 1 << 16;

/** The file and its table of contents. */
interface OpenFile {
  readonly source: ByteSource;
  readonly metadata: FileMetaData;
}

/**
 * The records of a Parquet file, in order, with exact values ({@link ParquetValue} has the table). One row group is held
 * in memory at a time, and only the chosen columns are fetched. Can be iterated again.
 *
 * Reads pages v1 and v2, every encoding in use, and the codecs snappy, gzip, brotli, zstd and LZ4.
 *
 * Every method throws MarinError ZEPHYR_BAD_PARQUET naming the file and the offset when the file is cut short, damaged or
 * no Parquet; ZEPHYR_NO_COLUMN; ZEPHYR_PARQUET_UNSUPPORTED (encrypted files, BSON, variants); RIGGING_NOT_FOUND and the
 * other file errors.
 */
export class ParquetReader<T = ParquetRecord> implements AsyncIterable<T> {
  readonly #options: ParquetReaderOptions;
  #opened: Promise<OpenFile> | undefined;

  /** @param options - the file and what to read of it */
  constructor(options: ParquetReaderOptions) {
    this.#options = options;
  }

  /** Rows in the file; reads its table of contents only. */
  async rowCount(): Promise<number> {
    const { metadata } = await this.#open();
    return Number(metadata.num_rows);
  }

  /** Columns by name and type, in the file's order; a writer given this schema writes the same types. */
  async schema(): Promise<ParquetSchema> {
    const { metadata } = await this.#open();
    return Object.fromEntries(parquetSchema(metadata).children.map((node) => [node.element.name, typeOf(node)]));
  }

  /** The names of the columns, in the file's order, and their types. */
  async columns(): Promise<readonly { readonly name: string; readonly type: ParquetType }[]> {
    return Object.entries(await this.schema()).map(([name, type]) => ({ name, type }));
  }

  /** The notes in the file's table of contents, by key. */
  async notes(): Promise<Readonly<Record<string, string>>> {
    const { metadata } = await this.#open();
    return Object.fromEntries((metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value ?? ""]));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const { path, signal } = this.#options;
    const { source, metadata } = await this.#open();
    const tree = parquetSchema(metadata);
    const columns = this.#chosen(tree.children.map(({ element }) => element.name));
    const chosen = tree.children.filter(({ element }) => columns.includes(element.name));
    refuseUnsupported(path, { ...tree, children: chosen });
    if (this.#options.codec === "parquetjs-lite") {
      signal?.throwIfAborted();
      const whole = await source.read(0, source.bytes);
      yield* readLite(path, Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength), await this.schema(), columns) as AsyncGenerator<T>;
      return;
    }
    const decoders = chosen.map((node) => ({ name: node.element.name, decode: columnDecoder(node) }));
    const stored = storedForm(metadata);
    let rowStart = 0;
    for (const [index, group] of metadata.row_groups.entries()) {
      signal?.throwIfAborted();
      const rowEnd = rowStart + Number(group.num_rows);
      const rows = await this.#readGroup({ source, stored, columns, rowStart, rowEnd, index, group });
      for (const row of rows) {
        try {
          for (const { name, decode } of decoders) {
            const value = row[name];
            // Fewer values than rows: the file claims more than it holds.
            if (value === undefined) throw new Error(`column ${name} holds fewer values than the ${String(group.num_rows)} rows`);
            if (decode !== undefined) row[name] = decode(value);
          }
        } catch (cause) {
          throw badGroup(path, index, group, cause);
        }
        yield row as T;
      }
      rowStart = rowEnd;
    }
  }

  #chosen(present: readonly string[]): string[] {
    const { columns, path } = this.#options;
    const missing = columns?.find((column) => !present.includes(column));
    if (missing === undefined) return columns === undefined ? [...present] : [...columns];
    throw new MarinError("ZEPHYR_NO_COLUMN", `${path} has no column "${missing}"; its columns are ${present.join(", ")}.`, { data: { path, column: missing, columns: [...present] } });
  }

  async #readGroup(read: {
    readonly source: ByteSource;
    readonly stored: FileMetaData;
    readonly columns: string[];
    readonly rowStart: number;
    readonly rowEnd: number;
    readonly index: number;
    readonly group: RowGroup;
  }): Promise<Record<string, ParquetValue>[]> {
    const { source, stored, columns, rowStart, rowEnd, index, group } = read;
    if (rowEnd === rowStart) return [];
    const tree = parquetSchema(stored);
    const check = (start: number, bytes: Uint8Array): void => {
      for (const { meta_data: column } of group.columns) {
        if (column === undefined || !columns.includes(column.path_in_schema[0] ?? "")) continue;
        const [from, to] = rangeOf(column);
        if (from >= start && to <= start + bytes.length) checkPages(bytes.subarray(from - start, to - start), column, tree);
      }
    };
    try {
      return await reading(
        source,
        (file) => parquetReadObjects({ file, metadata: stored, columns, rowStart, rowEnd, compressors: decompressors, utf8: false, geoparquet: false, parsers: storedParsers }),
        check,
      );
    } catch (cause) {
      throw badGroup(source.path, index, group, cause);
    }
  }

  #open(): Promise<OpenFile> {
    this.#opened ??= openParquet(this.#options.path, this.#options.storage).catch((error: unknown) => {
      // The next call tries again: the file may have come meanwhile.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}

async function openParquet(path: string, storage: Storage = currentStorage()): Promise<OpenFile> {
  const source = await openSource(path, storage);
  const { bytes } = source;
  if (bytes < 12) throw badParquet(path, 0, `it has ${String(bytes)} bytes, fewer than the smallest Parquet file`);
  let metadata: FileMetaData;
  try {
    metadata = await reading(source, (file) => parquetMetadataAsync(file, { initialFetchSize: footerBytes, geoparquet: false }));
  } catch (cause) {
    if (isMarinError(cause)) throw cause;
    const mark = Buffer.from(await source.read(bytes - 4, bytes)).toString("latin1");
    if (mark === "PARE") throw encrypted(path);
    throw badParquet(path, bytes - 8, `its end is not a table of contents (${messageOf(cause)}): it was cut short, or is no Parquet file`, cause);
  }
  try {
    checkContents(path, bytes, metadata);
  } catch (cause) {
    if (isMarinError(cause)) throw cause;
    throw badParquet(path, bytes - metadata.metadata_length - 8, `its table of contents does not fit together (${messageOf(cause)})`, cause);
  }
  return { source, metadata };
}

/** What the table of contents promises must lie inside the file, and its columns must be those of the schema. */
function checkContents(path: string, bytes: number, metadata: FileMetaData): void {
  const limit = bytes - metadata.metadata_length - 8;
  const leaves = leavesOf(parquetSchema(metadata));
  let rows = 0n;
  for (const [index, group] of metadata.row_groups.entries()) {
    rows += group.num_rows;
    for (const { meta_data: column, encrypted_column_metadata: encryptedColumn } of group.columns) {
      if (column === undefined || encryptedColumn !== undefined) throw encrypted(path);
      const name = column.path_in_schema.join(".");
      if (leaves.get(name) !== column.type) throw new Error(`row group ${String(index)} has a column ${name} of type ${column.type}, and the schema ${leaves.get(name) ?? "does not"}`);
      const [start, end] = rangeOf(column);
      if (start < 4 || end > limit) {
        throw badParquet(path, start, `column ${name} of row group ${String(index)} should end at byte ${String(end)}, and the data ends at ${String(limit)}`);
      }
    }
  }
  if (rows !== metadata.num_rows) {
    throw badParquet(path, limit, `its row groups have ${String(rows)} rows together, and its table of contents says ${String(metadata.num_rows)}`);
  }
}

/** The columns that hold values, with their types. */
function leavesOf(node: SchemaTree, leaves = new Map<string, string>()): ReadonlyMap<string, string> {
  for (const child of node.children) {
    if (child.children.length > 0) leavesOf(child, leaves);
    else leaves.set(child.path.join("."), child.element.type ?? "");
  }
  return leaves;
}

/** Where a column's pages begin, and where they end. */
function rangeOf(column: ColumnMetaData): [start: number, end: number] {
  // Some writers say 0 where there is no dictionary.
  const start = Number(column.dictionary_page_offset || column.data_page_offset);
  return [start, start + Number(column.total_compressed_size)];
}

/**
 * Runs the Parquet library on a file. It leaves promises of bytes unwatched when it fails for another reason meanwhile, and
 * an unwatched failure would end the process: so a failing read ends the whole work, and its own promise never settles.
 *
 * @param check - looks at bytes before the library does
 */
async function reading<T>(source: ByteSource, work: (file: AsyncBuffer) => Promise<T>, check: (start: number, bytes: Uint8Array) => void = () => undefined): Promise<T> {
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const slice = (start: number, end = source.bytes): Promise<ArrayBuffer> =>
    new Promise((resolve) => {
      exactly(source, start, end)
        .then((bytes) => {
          check(start, new Uint8Array(bytes));
          resolve(bytes);
        })
        .catch(fail);
    });
  return Promise.race([failed, work({ byteLength: source.bytes, slice })]);
}

async function exactly(source: ByteSource, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = await source.read(start, end);
  if (bytes.length !== end - start) {
    throw badParquet(source.path, start + bytes.length, `it ends here, and ${String(end - start)} bytes were to be read from byte ${String(start)}`);
  }
  const { buffer, byteOffset, byteLength } = bytes;
  return byteOffset === 0 && byteLength === buffer.byteLength ? (buffer as ArrayBuffer) : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
}

function encrypted(path: string): MarinError {
  return new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path} is encrypted, and encrypted Parquet files are not read.`, { data: { path } });
}

function badGroup(path: string, index: number, group: RowGroup, cause: unknown): unknown {
  if (isMarinError(cause)) return cause;
  const columns = group.columns.flatMap(({ meta_data: column }) => (column === undefined ? [] : [rangeOf(column)[0]]));
  return badParquet(path, Math.min(...columns), `row group ${String(index)}, which begins here, cannot be decoded: ${messageOf(cause)}`, cause);
}

function badParquet(path: string, offset: number, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_BAD_PARQUET", `${path} is not a whole Parquet file, at byte ${String(offset)}: ${reason}.`, {
    data: { path, offset },
    ...(cause === undefined ? {} : { cause }),
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
