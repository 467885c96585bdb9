import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/rigging";
import type { FormatSettings, ParquetSchema } from "@marin/zephyr";
import { collectFilesEntry, noCounts, sortShardEntry, type CollectTask, type CollectedSource } from "./collect-shard.js";
import { listSource, type TextSource } from "./corpus/list-source.js";
import { textFileEndings, type SourceFile } from "./corpus/source-file.js";
import { inWorkers } from "./in-workers.js";
import type { ProcessingOptions } from "./progress.js";

/** Options of {@link collectDocuments}. */
export interface CollectOptions extends ProcessingOptions, TextSource {
  /** Folder in which the shards are written; created where needed. */
  readonly outputDir: string;
  /** The field of a record that holds the text; plain files are texts as they are. Default "text". */
  readonly textField?: string | undefined;
  /** Fields that every record must have besides, and their types: one that does not fit is a bad record. Default: none. */
  readonly schema?: ParquetSchema | undefined;
  /** What the readers of formats have to know, by format: `{ csv: { delimiter: ";" } }`. Default: nothing. */
  readonly settings?: Readonly<Record<string, FormatSettings>> | undefined;
  /** What becomes of a record that cannot be read or has no text: the error ends the work, or it is counted, told in `bad-records/` and passed over. Default "fail". */
  readonly onBadRecord?: "fail" | "skip" | undefined;
  /** Most UTF-8 bytes of a document; longer texts are cut between paragraphs, lines, sentences or words. Default 16,384, from 64. */
  readonly maxDocumentBytes?: number | undefined;
  /** Documents with fewer UTF-8 bytes are left out and counted, and empty ones always. Default 64. */
  readonly minDocumentBytes?: number | undefined;
  /** Worker processes; the documents do not depend on it. 0: as many as the amount of text is worth. Default 0. */
  readonly workers?: number | undefined;
}

/** What {@link collectDocuments} found and kept. */
export interface CollectedDocuments {
  /** Documents kept, those included whose text another one has. */
  readonly documents: number;
  /** UTF-8 bytes of their texts. */
  readonly bytes: number;
  /** Shards written. */
  readonly shards: number;
  /** Counts by source: each built-in one, or `folder`. */
  readonly sources: Readonly<Record<string, Readonly<CollectedSource>>>;
  /** Files of the folder that are of no format that is read. */
  readonly ignoredFiles: number;
}

/** Folder, beside the shards, of the files that tell of records passed over. */
export const badRecordsFolder = "bad-records";

/** Bytes of source files for a shard, and for a task of a worker. */
const shardBytes = 8 << 20;
const taskBytes = 2 << 20;
/** A task holds a file open for each. */
const maxShards = 256;

/**
 * Gathers texts, normalises them, cuts long ones, and writes them as shards `part-00000-of-0000N.parquet` of `id`, `text` and `source`, ascending by id, then
 * by source. Equal texts give equal bytes, whatever the number of workers. Documents with equal texts all stay.
 *
 * @throws MarinError MARIN_NO_DOCUMENTS when nothing is left, MARIN_DOCUMENT_SIZE, MARIN_DOCUMENT_OPTION, and those of `listSource` and `readTexts`
 */
export async function collectDocuments(options: CollectOptions): Promise<CollectedDocuments> {
  const { source, outputDir, textField = "text", schema = {}, settings = {}, onBadRecord = "fail", workers, onProgress, signal } = options;
  const maxBytes = options.maxDocumentBytes ?? 16384;
  const minBytes = options.minDocumentBytes ?? 64;
  if (!Number.isInteger(maxBytes) || maxBytes < 64 || minBytes > maxBytes) {
    throw new MarinError("MARIN_DOCUMENT_SIZE", `maxDocumentBytes must be an integer of at least 64 and not below minDocumentBytes, found ${String(maxBytes)} and ${String(minBytes)}.`, { data: { maxBytes, minBytes } });
  }
  signal?.throwIfAborted();
  if (Object.hasOwn(schema, textField) && schema[textField] !== "string") throw badOption("schema", `the field "${textField}" holds the text, so its type is "string", found ${JSON.stringify(schema[textField])}`);
  const listing = await listSource(options);
  const idle = Object.keys(settings).find((format) => !listing.files.some((file) => file.format === format));
  if (idle !== undefined) throw badOption("settings", `${source} has no file of the format "${idle}"; those in it are ${[...new Set(listing.files.map(({ format }) => format))].sort().join(", ")}`);
  const bytes = listing.files.reduce((sum, file) => sum + file.bytes, 0);
  const shards = Math.min(maxShards, Math.max(1, Math.ceil(bytes / shardBytes)));
  const scratch = join(outputDir, "scratch");
  const badRecords = onBadRecord === "skip" ? join(outputDir, badRecordsFolder) : undefined;
  const tasks = tasksOf(listing.files).map((files, task): CollectTask => ({ files, scratch, task, shards, rule: { textField, schema, settings }, badRecords, maxBytes, minBytes }));

  const groups: Record<string, CollectedSource> = {};
  const spread = { workers, bytes, signal };
  await mkdir(outputDir, { recursive: true });
  try {
    for await (const found of inWorkers(collectFilesEntry, tasks, { ...spread, name: "documents" })) {
      for (const [group, counts] of Object.entries(found)) addTo((groups[group] ??= noCounts()), counts);
      onProgress?.({ done: total(groups, "documents"), unit: "documents" });
    }
    if (total(groups, "documents") === 0) throw nothingLeft(source, groups, minBytes);
    const sorting = Array.from({ length: shards }, (_, shard) => ({ scratch, tasks: tasks.length, shard, shards, outputDir }));
    for await (const _documents of inWorkers(sortShardEntry, sorting, { ...spread, name: "shards" })) continue;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return { documents: total(groups, "documents"), bytes: total(groups, "bytes"), shards, sources: groups, ignoredFiles: listing.ignored };
}

/** Files in order, as many for a task as make it worth sending. */
function tasksOf(files: readonly SourceFile[]): SourceFile[][] {
  const tasks: SourceFile[][] = [];
  let size = Infinity;
  for (const file of files) {
    if (size >= taskBytes) {
      tasks.push([]);
      size = 0;
    }
    tasks.at(-1)?.push(file);
    size += file.bytes;
  }
  return tasks;
}

function addTo(sum: CollectedSource, counts: CollectedSource): void {
  for (const key of ["files", "read", "documents", "bytes", "tooShort", "tooShortBytes"] as const) sum[key] += counts[key];
  if (counts.unreadable !== undefined) sum.unreadable = (sum.unreadable ?? 0) + counts.unreadable;
}

function total(groups: Readonly<Record<string, CollectedSource>>, key: keyof CollectedSource): number {
  return Object.values(groups).reduce((sum, counts) => sum + (counts[key] ?? 0), 0);
}

function badOption(option: string, reason: string): MarinError {
  return new MarinError("MARIN_DOCUMENT_OPTION", `documents.${option}: ${reason}.`, { data: { option } });
}

function nothingLeft(source: string, groups: Readonly<Record<string, CollectedSource>>, minBytes: number): MarinError {
  const [tooShort, unreadable] = [total(groups, "tooShort"), total(groups, "unreadable")];
  const passedOver = unreadable === 0 ? "" : `, ${String(unreadable)} could not be read or had no text (the error with documents.onBadRecord=fail says why)`;
  return new MarinError(
    "MARIN_NO_DOCUMENTS",
    `No document is left of ${source}: ${String(tooShort)} are shorter than ${String(minBytes)} bytes${passedOver}. Give longer texts (${textFileEndings()}), or lower documents.minDocumentBytes.`,
    { data: { source, tooShort, unreadable, minBytes } },
  );
}
