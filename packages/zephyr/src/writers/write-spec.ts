import { MarinError, type Storage } from "@marin/iris";
import type { ParquetSchema } from "../parquet/types.js";
import { resolveWork, type Work } from "../plan/work.js";
import { ArrowWriter, type ArrowWriterOptions, InferringArrowWriter } from "./arrow.js";
import { InferringParquetWriter } from "./inferring-parquet.js";
import type { ParquetFileOptions } from "./inferring-rows.js";
import { JsonlWriter } from "./jsonl.js";
import { giveOneSchema } from "./one-schema.js";
import { checkPattern } from "./output-paths.js";
import { ParquetWriter } from "./parquet.js";
import { type ShardWriter, writeAll } from "./write-all.js";

/** Settings of every write of a dataset. */
export interface WriteOptions {
  /**
   * Whether shards whose output is there already are neither computed nor written. Every output appears whole or not at all, so one
   * that is there is finished. Default false: what is there is replaced.
   */
  readonly skipExisting?: boolean;
}

/** Settings of `Dataset.writeParquet`. */
export interface WriteParquetOptions extends WriteOptions, ParquetFileOptions {
  /** The columns. Default: inferred, one schema for all files that holds every record exactly (see `inferSchema`). */
  readonly schema?: ParquetSchema;
}

/** Settings of `Dataset.writeArrow`. */
export interface WriteArrowOptions extends WriteOptions, Pick<ArrowWriterOptions, "batchRows"> {
  /** The columns. Default: inferred, for each file by itself. */
  readonly schema?: ParquetSchema;
}

/** What a shard's writer is made for. */
export interface ShardTarget {
  /** Where the output is to appear. */
  readonly path: string;
  /** The storage. */
  readonly storage: Storage;
  /** Aborts the work. */
  readonly signal?: AbortSignal | undefined;
}

/** Settings of `Dataset.writeTokenCache`. */
export interface WriteTokenCacheOptions<T> extends WriteOptions {
  /** Makes the writer of a shard: the format of the cache is its own. */
  readonly writer: Work<[target: ShardTarget], ShardWriter<T>>;
  /** Where the output is a directory: the file in it that says that it is whole. `skipExisting` looks for it. Default: the output itself. */
  readonly marker?: string;
}

/** How the records of a dataset are written: plain data, but for an inline function. */
export type WriteSpec = { readonly pattern: string; readonly skipExisting: boolean } & (
  | { readonly format: "jsonl" }
  | { readonly format: "parquet"; readonly schema: ParquetSchema | undefined; readonly stored: ParquetFileOptions }
  | { readonly format: "arrow"; readonly schema: ParquetSchema | undefined; readonly stored: Pick<ArrowWriterOptions, "batchRows"> }
  | { readonly format: "tokens"; readonly writer: Work<never[], unknown>; readonly marker: string | undefined }
);

/** An output of a dataset. */
export interface WrittenFile {
  /** The file, or what the writer of a token cache has made. */
  readonly path: string;
  /** Its records; undefined where it was there already and nobody has counted them. */
  readonly records: number | undefined;
  /** Its size in bytes. */
  readonly bytes: number;
  /** Whether it was there already. */
  readonly skipped: boolean;
}

/** @throws MarinError ZEPHYR_BAD_PATTERN */
export function jsonlSpec(pattern: string, { skipExisting = false }: WriteOptions = {}): WriteSpec {
  checkPattern(pattern);
  return { format: "jsonl", pattern, skipExisting };
}

/** @throws MarinError ZEPHYR_BAD_PATTERN */
export function parquetSpec(pattern: string, { skipExisting = false, schema, ...stored }: WriteParquetOptions = {}): WriteSpec {
  checkPattern(pattern);
  return { format: "parquet", pattern, skipExisting, schema, stored };
}

/** @throws MarinError ZEPHYR_BAD_PATTERN */
export function arrowSpec(pattern: string, { skipExisting = false, schema, ...stored }: WriteArrowOptions = {}): WriteSpec {
  checkPattern(pattern);
  return { format: "arrow", pattern, skipExisting, schema, stored };
}

/** @throws MarinError ZEPHYR_BAD_PATTERN */
export function tokensSpec<T>(pattern: string, { skipExisting = false, writer, marker }: WriteTokenCacheOptions<T>): WriteSpec {
  checkPattern(pattern);
  return { format: "tokens", pattern, skipExisting, writer: writer as Work<never[], unknown>, marker };
}

/** Where and for whom a shard is written. */
export interface WriteContext {
  readonly storage: Storage;
  readonly signal?: AbortSignal | undefined;
  /** The file that the shard's records come from, for messages. */
  readonly source?: string | undefined;
  /** A directory of the local disk for parts of a file whose schema is not known yet. Default: the system's temporary one. */
  readonly scratch?: string | undefined;
}

/**
 * Writes a shard's records to its output.
 *
 * @throws what the writer throws, and what the records' source throws; nothing appears at the path then
 */
export async function writeShard(spec: WriteSpec, path: string, records: AsyncIterable<unknown>, context: WriteContext): Promise<WrittenFile> {
  const { records: count, bytes } = await writeAll(await writerOf(spec, path, context), records);
  return { path, records: count, bytes, skipped: false };
}

/** The output of a shard, where it is there already. */
export async function existingOutput(spec: WriteSpec, path: string, { storage, signal }: WriteContext): Promise<WrittenFile | undefined> {
  const marker = spec.format === "tokens" ? spec.marker : undefined;
  const found = await storage.stat(marker === undefined ? path : `${path}/${marker}`, { signal });
  return found && { path, records: undefined, bytes: found.bytes, skipped: true };
}

/**
 * What is left to do when the outputs of all shards are there: Parquet files whose schema was inferred get one together. Can be
 * repeated.
 *
 * @param files - the outputs, in the order of the shards
 * @returns the outputs, as they are now
 * @throws MarinError ZEPHYR_SCHEMA_CONFLICT naming two files; file errors
 */
export async function finishWrite(spec: WriteSpec, files: readonly WrittenFile[], { storage, signal }: WriteContext): Promise<WrittenFile[]> {
  if (spec.format !== "parquet" || spec.schema !== undefined) return [...files];
  const finished = await giveOneSchema(files.map(({ path }) => path), { storage, signal, stored: spec.stored });
  return files.map((file, index) => ({ ...file, bytes: finished[index]?.bytes ?? file.bytes }));
}

async function writerOf(spec: WriteSpec, path: string, { storage, signal, source, scratch }: WriteContext): Promise<ShardWriter> {
  switch (spec.format) {
    case "jsonl":
      return new JsonlWriter(path, { storage });
    case "parquet":
      if (spec.schema === undefined) return new InferringParquetWriter(path, { ...spec.stored, storage, source, scratch });
      return new ParquetWriter(path, { ...spec.stored, schema: spec.schema, storage }) as ShardWriter;
    case "arrow":
      if (spec.schema === undefined) return new InferringArrowWriter(path, { ...spec.stored, storage, source, scratch });
      return new ArrowWriter(path, { ...spec.stored, schema: spec.schema, storage }) as ShardWriter;
    case "tokens": {
      const make = await resolveWork(spec.writer);
      const writer = (await make({ path, storage, signal } satisfies ShardTarget)) as Partial<ShardWriter> | undefined;
      if (typeof writer?.write === "function" && typeof writer.close === "function" && typeof writer.abort === "function") return writer as ShardWriter;
      throw new MarinError("ZEPHYR_BAD_WRITER", `The writer for ${path} is none: it needs the methods write, close and abort.`, { data: { path } });
    }
  }
}
