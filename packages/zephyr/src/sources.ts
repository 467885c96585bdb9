import { expandGlob, isMarinError, MarinError, parseBytes, type Storage } from "@marin/iris";
import { missing } from "./byte-source.js";
import { isLocal } from "./readers/chunks.js";
import { fileInput } from "./readers/file-input.js";
import type { FilePart, FormatInput, ReadOptions, SourceFile } from "./readers/format.js";
import { formatNamed, formatOf } from "./readers/registry.js";
import { checkSettings } from "./readers/settings.js";
import { currentStorage } from "./storage.js";
import { outputPaths } from "./writers/output-paths.js";

export type { SourceFile } from "./readers/format.js";

/** Settings of a dataset of files: plain data. */
export interface FromFilesOptions extends Pick<ReadOptions, "format" | "columns" | "schema" | "pathColumn" | "onBadRecord" | "settings"> {
  /**
   * Files are split into shards of about so many bytes: a number, or text like "64MiB". Parquet is split between row groups, JSON
   * Lines that is not packed between lines; other files stay whole. Default: a file is a shard.
   */
  readonly shardBytes?: number | string | undefined;
  /** Whether a pattern may match nothing: of files, and of members of an archive. Default false: ZEPHYR_NO_FILES. */
  readonly emptyOk?: boolean | undefined;
}

/**
 * The files that patterns name, each a shard, or several where it is split; sorted by the UTF-8 bytes of their paths, each once.
 * Nothing is read but listings, and the tables of contents of files that are split.
 *
 * @param patterns - paths with `*`, `**`, `?`, `[a-z]`, `{train,test}`, `{00..15}`, on any storage: plain paths, gs://, s3://, hf://,
 * https:// (without wildcards: web servers give no listings). A backslash before such a character makes it one of the name
 * @throws MarinError ZEPHYR_NO_FILES when a part of a pattern matches nothing; RIGGING_NOT_FOUND for a file that is named and is not
 * there; ZEPHYR_UNKNOWN_FORMAT, ZEPHYR_BAD_SETTING, ZEPHYR_BAD_PATTERN; errors of the storage, which say what to do where
 * a place cannot be reached or needs credentials
 */
export async function resolveFiles(patterns: string | readonly string[], options: FromFilesOptions & Pick<ReadOptions, "storage" | "signal"> = {}): Promise<readonly SourceFile[]> {
  const { storage = currentStorage(), signal, onBadRecord = "fail" } = options;
  const sizes = new Map<string, number>();
  for (const pattern of typeof patterns === "string" ? [patterns] : patterns) await collect(pattern, sizes, { ...options, storage });
  const paths = [...sizes.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const shards = (await inTurns(paths, 16, (path) => shardsOf(path, sizes.get(path) ?? 0, { ...options, storage, signal }))).flat();
  if (onBadRecord === "fail" || onBadRecord.sideFile === undefined || shards.length === 0) return shards;
  const sideFiles = outputPaths(onBadRecord.sideFile, shards.map(({ path }) => ({ input: path })));
  return shards.map((shard, index) => ({ ...shard, sideFile: sideFiles[index] ?? "" }));
}

/** Adds the files of a pattern, with their sizes. */
async function collect(pattern: string, sizes: Map<string, number>, { storage, emptyOk = false }: FromFilesOptions & { readonly storage: Storage }): Promise<void> {
  const found = new Map<string, number>();
  let paths: readonly string[];
  try {
    // The first names what has to be there, the second knows sizes.
    paths = await expandGlob(pattern, storage);
    for await (const { path, bytes } of storage.glob(pattern)) found.set(path, bytes);
  } catch (cause) {
    if (!isMarinError(cause, "RIGGING_NO_MATCH")) throw cause;
    if (emptyOk) return;
    throw new MarinError("ZEPHYR_NO_FILES", `No file matches ${pattern}. Look at the pattern, or say that there may be none ({ emptyOk: true }).`, { data: { pattern }, cause });
  }
  for (const path of paths) {
    const bytes = found.get(path);
    if (bytes === undefined) throw await missing(path, storage);
    sizes.set(path, bytes);
  }
}

async function shardsOf(path: string, bytes: number, options: FromFilesOptions & { readonly storage: Storage; readonly signal?: AbortSignal | undefined }): Promise<readonly SourceFile[]> {
  const { storage, signal, format: name, settings = {} } = options;
  const format = name === undefined ? formatOf(path) : formatNamed(name);
  checkSettings(format, settings);
  const shardBytes = sizeOf(options.shardBytes);
  const isSplit = format.split !== undefined && shardBytes !== undefined && bytes > shardBytes;
  const version = isLocal(path) || isSplit ? (await storage.stat(path, { signal }))?.version : undefined;
  const file: SourceFile = { path, bytes, format: format.name, ...(version === undefined ? {} : { version }), ...(format.module === undefined ? {} : { module: format.module }) };
  const parts = isSplit ? await format.split?.(planningInput(file, { storage, signal, settings }), shardBytes) : undefined;
  return parts === undefined || parts.length < 2 ? [file] : parts.map((part: FilePart) => ({ ...file, part }));
}

/** What a format's `split` may ask for: it reads no records. */
function planningInput(file: SourceFile, { storage, signal, settings }: { readonly storage: Storage; readonly signal: AbortSignal | undefined; readonly settings: FormatInput["settings"] }): FormatInput {
  return {
    ...fileInput(file, { storage, signal }),
    part: undefined,
    columns: undefined,
    filter: undefined,
    required: [],
    pathColumn: undefined,
    settings,
    emptyOk: true,
    bad: (error) => {
      throw error;
    },
    record: (value) => value,
  };
}

/** @throws MarinError ZEPHYR_BAD_COUNT, RIGGING_BAD_SIZE */
function sizeOf(shardBytes: number | string | undefined): number | undefined {
  const bytes = typeof shardBytes === "string" ? parseBytes(shardBytes) : shardBytes;
  if (bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0)) return bytes;
  throw new MarinError("ZEPHYR_BAD_COUNT", `shardBytes needs a whole number of at least 1, found ${String(bytes)}.`, { data: { operation: "fromFiles", count: bytes } });
}

/** The results for all items, in their order, so many at a time. */
async function inTurns<I, R>(items: readonly I[], atOnce: number, work: (item: I) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const turn = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as I);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, turn));
  return results;
}
