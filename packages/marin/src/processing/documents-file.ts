import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileError, MarinError } from "@marin/rigging";
import { ParquetReader, ParquetWriter, type ParquetSchema } from "@marin/zephyr";
import type { Document } from "./corpus/document.js";

const schema: ParquetSchema = { id: "string", text: "string", source: "string" };

/** Name of a shard: `part-00000-of-00003.parquet`. */
export function shardName(index: number, count: number, ending = ".parquet"): string {
  return `part-${String(index).padStart(5, "0")}-of-${String(count).padStart(5, "0")}${ending}`;
}

/**
 * The shards of a folder, in order.
 *
 * @returns their paths
 * @throws MarinError MARIN_NO_SHARDS when there is none, MARIN_SHARD_MISSING naming one that is not there, and the file errors
 */
export async function listShards(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    throw fileError(error, { action: "list", path: directory });
  });
  const shards = names.filter((name) => /^part-\d{5,}-of-\d{5,}\.parquet$/.test(name)).sort();
  const count = Number(/-of-(\d+)/.exec(shards[0] ?? "")?.[1] ?? 0);
  if (count === 0) throw new MarinError("MARIN_NO_SHARDS", `${directory} holds no documents: there is no file part-00000-of-....parquet.`, { data: { directory } });
  for (let index = 0; index < count; index += 1) {
    const name = shardName(index, count);
    if (shards[index] !== name) throw new MarinError("MARIN_SHARD_MISSING", `${join(directory, name)} is missing, one of ${String(count)} shards of the documents.`, { data: { directory, name } });
  }
  return shards.map((name) => join(directory, name));
}

/**
 * The documents of a folder of shards, in order: ascending by id, then by source.
 *
 * @param directory - a folder that `collectDocuments` or `dedupDocuments` wrote
 * @param signal - stops the reading, throwing its reason
 * @throws MarinError of {@link listShards}, ZEPHYR_BAD_PARQUET naming the file, and the file errors
 */
export async function* readDocuments(directory: string, signal?: AbortSignal): AsyncGenerator<Document> {
  for (const path of await listShards(directory)) yield* readShard(path, signal);
}

/** The documents of one shard. */
export function readShard(path: string, signal?: AbortSignal): AsyncIterable<Document> {
  return new ParquetReader<Document>({ path, columns: ["id", "text", "source"], ...(signal === undefined ? {} : { signal }) });
}

/** Writes one shard; it appears when it is closed. */
export function shardWriter(path: string): ParquetWriter {
  return new ParquetWriter(path, { schema });
}

/** Size of files together. */
export async function fileBytes(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += (await stat(path)).size;
  return bytes;
}
