import { isMarinError, MarinError, type Storage } from "@marin/iris";
import { type ByteSource, openSource, type OpenSourceOptions } from "../byte-source.js";
import { requireCodec } from "./compression.js";
import type { FileMetadata, ByteRange } from "./format.js";
import { EncryptedColumn, parseMetadata } from "./metadata.js";
import { UnknownEncoding } from "./values.js";

/** A file and its table of contents. */
export interface ParquetFile {
  readonly source: ByteSource;
  readonly metadata: FileMetadata;
}

/** Bytes fetched first, from the file's end. */
const tailBytes = 1 << 16;
/** Ranges that lie no further apart are fetched as one. */
const gapBytes = 1 << 13;
/** A fetch takes no more, unless one range is longer. */
const fetchBytes = 1 << 26;

/**
 * Reads and checks a file's table of contents: all that it promises must lie inside the file.
 *
 * @throws MarinError ZEPHYR_BAD_PARQUET, ZEPHYR_PARQUET_UNSUPPORTED (encrypted); RIGGING_NOT_FOUND and the other file errors,
 * RIGGING_CHANGED
 */
export async function openParquet(path: string, storage: Storage, options: OpenSourceOptions): Promise<ParquetFile> {
  const source = await openSource(path, storage, options);
  const { bytes } = source;
  if (bytes < 12) throw badParquet(path, 0, `it has ${String(bytes)} bytes, fewer than the smallest Parquet file`);
  const tailStart = Math.max(0, bytes - tailBytes);
  const tail = await exactly(source, { start: tailStart, end: bytes });
  const mark = Buffer.from(tail.subarray(-4)).toString("latin1");
  if (mark === "PARE") throw encrypted(path);
  if (mark !== "PAR1") throw badParquet(path, bytes - 8, 'its end is not a table of contents (the mark "PAR1" is missing): it was cut short, or is no Parquet file');
  const length = Buffer.from(tail.subarray(-8)).readUInt32LE(0);
  const start = bytes - 8 - length;
  // The mark at the file's beginning takes four bytes.
  if (start < 4) throw badParquet(path, bytes - 8, `its table of contents should have ${String(length)} bytes, and the file has ${String(bytes)}`);
  const contents = start >= tailStart ? tail.subarray(start - tailStart, -8) : await exactly(source, { start, end: bytes - 8 });
  let metadata: FileMetadata;
  try {
    metadata = parseMetadata(contents);
  } catch (cause) {
    if (cause instanceof EncryptedColumn) throw encrypted(path);
    throw badParquet(path, start, `its table of contents does not fit together (${messageOf(cause)})`, cause);
  }
  checkContents(path, start, metadata);
  return { source, metadata };
}

function checkContents(path: string, limit: number, { groups, rows }: FileMetadata): void {
  let together = 0;
  for (const [index, group] of groups.entries()) {
    together += group.rows;
    for (const { path: names, range, dataStart, values, offsetIndex, columnIndex } of group.columns) {
      const name = names.join(".");
      for (const index of [offsetIndex, columnIndex]) {
        if (index !== undefined && index.end > limit) throw badParquet(path, index.start, `the page index of column ${name} should end at byte ${String(index.end)}, and the data ends at ${String(limit)}`);
      }
      if (range.start < 4 || dataStart < range.start || dataStart > range.end || range.end > limit) {
        throw badParquet(path, range.start, `column ${name} of row group ${String(index)} should end at byte ${String(range.end)}, and the data ends at ${String(limit)}`);
      }
      if (values < group.rows) throw badParquet(path, limit, `column ${name} holds ${String(values)} values, fewer than the ${String(group.rows)} rows of row group ${String(index)}`);
    }
  }
  if (together !== rows) throw badParquet(path, limit, `its row groups have ${String(together)} rows together, and its table of contents says ${String(rows)}`);
}

/**
 * Parts of a file, each as a view; those that lie side by side are fetched together.
 *
 * @throws MarinError ZEPHYR_BAD_PARQUET where the file ends before
 */
export async function fetchRanges(source: ByteSource, ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
  const order = ranges.map((range, index) => ({ ...range, index })).sort((a, b) => a.start - b.start);
  const runs: { start: number; end: number; readonly parts: typeof order }[] = [];
  for (const part of order) {
    const run = runs.at(-1);
    if (run !== undefined && part.start - run.end <= gapBytes && Math.max(run.end, part.end) - run.start <= fetchBytes) {
      run.end = Math.max(run.end, part.end);
      run.parts.push(part);
    } else runs.push({ start: part.start, end: part.end, parts: [part] });
  }
  const found = new Array<Uint8Array>(ranges.length);
  await Promise.all(
    runs.map(async (run) => {
      const bytes = await exactly(source, run);
      for (const { index, start, end } of run.parts) found[index] = bytes.subarray(start - run.start, end - run.start);
    }),
  );
  return found;
}

async function exactly(source: ByteSource, { start, end }: ByteRange): Promise<Uint8Array> {
  const bytes = await source.read(start, end);
  if (bytes.length !== end - start) throw badParquet(source.path, start + bytes.length, `it ends here, and ${String(end - start)} bytes were to be read from byte ${String(start)}`);
  return bytes;
}

/** What went wrong with a column of a row group, with file, place and name. */
export function badColumn(file: ParquetFile, group: number, leaf: number, cause: unknown): unknown {
  if (isMarinError(cause)) return cause;
  const { path } = file.source;
  const chunk = file.metadata.groups[group]?.columns[leaf];
  const column = chunk?.path.join(".") ?? "";
  if (cause instanceof UnknownEncoding) {
    return new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path}: column ${column}: ${cause.message}.`, { data: { path, column }, cause });
  }
  return badParquet(path, chunk?.range.start ?? 0, `column ${column} of row group ${String(group)}, which begins here, cannot be decoded: ${messageOf(cause)}`, cause);
}

/** @throws MarinError ZEPHYR_PARQUET_UNSUPPORTED naming column and codec */
export function requireCodecs({ source, metadata }: ParquetFile, group: number, leaf: number): void {
  const chunk = metadata.groups[group]?.columns[leaf];
  if (chunk !== undefined) requireCodec(source.path, chunk.path.join("."), chunk.codec);
}

function encrypted(path: string): MarinError {
  return new MarinError("ZEPHYR_PARQUET_UNSUPPORTED", `${path} is encrypted, and encrypted Parquet files are not read.`, { data: { path } });
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
