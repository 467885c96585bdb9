import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { entry, getIrisCtx } from "@marin/iris";
import { JsonlReader, JsonlWriter, zephyrContext } from "@marin/zephyr";
import { type Document, documentId, normalizeText } from "./corpus/document.js";
import { readTexts, type SourceFile, type TextRule } from "./corpus/source-file.js";
import { splitText } from "./corpus/split-text.js";
import { shardName, shardWriter } from "./documents-file.js";

/** What was read of one group of texts, and what was kept. */
export interface CollectedSource {
  files: number;
  /** Documents read, those that were too short included. */
  read: number;
  /** Documents kept. */
  documents: number;
  /** UTF-8 bytes of the texts of the documents kept. */
  bytes: number;
  /** Documents left out as too short, empty ones included. */
  tooShort: number;
  /** UTF-8 bytes of their texts. */
  tooShortBytes: number;
  /** Records that could not be read or had no text, where such ones are passed over. */
  unreadable?: number;
}

/** Nothing yet. */
export function noCounts(): CollectedSource {
  return { files: 0, read: 0, documents: 0, bytes: 0, tooShort: 0, tooShortBytes: 0 };
}

/** Some files to read. */
export interface CollectTask {
  readonly files: readonly SourceFile[];
  /** Folder for what is found, one file a shard. */
  readonly scratch: string;
  /** This task among all, from 0 up. */
  readonly task: number;
  readonly shards: number;
  readonly rule: TextRule;
  /** Folder of the files that tell of records passed over; undefined: none is. */
  readonly badRecords: string | undefined;
  readonly maxBytes: number;
  readonly minBytes: number;
}

/** Reads files, makes documents of their texts, and puts each into the file of the shard that its id falls into. */
export async function collectFiles({ files, scratch, task, shards, rule, badRecords, maxBytes, minBytes }: CollectTask): Promise<Record<string, CollectedSource>> {
  const signal = getIrisCtx()?.signal;
  const groups: Record<string, CollectedSource> = {};
  await mkdir(scratch, { recursive: true });
  const writers = Array.from({ length: shards }, (_, shard) => new JsonlWriter(scratchFile(scratch, task, shard)));
  try {
    for (const file of files) {
      const counts = (groups[file.group] ??= noCounts());
      counts.files += 1;
      const before = countOfBadRecords();
      const told = badRecords === undefined ? undefined : join(badRecords, `${file.source}.jsonl`);
      for await (const { source, text } of readTexts(file, rule, told, signal)) {
        signal?.throwIfAborted();
        for (const document of cut(source, text, maxBytes)) {
          const bytes = Buffer.byteLength(document.text);
          counts.read += 1;
          if (bytes < minBytes || bytes === 0) {
            counts.tooShort += 1;
            counts.tooShortBytes += bytes;
            continue;
          }
          counts.documents += 1;
          counts.bytes += bytes;
          await writers[shardOf(document.id, shards)]?.write(document);
        }
      }
      if (told === undefined) continue;
      const unreadable = countOfBadRecords() - before;
      counts.unreadable = (counts.unreadable ?? 0) + unreadable;
      if (unreadable === 0) await rm(told);
    }
    for (const writer of writers) await writer.close();
  } finally {
    for (const writer of writers) await writer.abort();
  }
  return groups;
}

/** A shard to put together. */
export interface SortTask {
  readonly scratch: string;
  readonly tasks: number;
  readonly shard: number;
  readonly shards: number;
  readonly outputDir: string;
}

/** Writes a shard of all documents that fall into it, ascending by id, then by source. */
export async function sortShard({ scratch, tasks, shard, shards, outputDir }: SortTask): Promise<number> {
  const signal = getIrisCtx()?.signal;
  const documents: Document[] = [];
  for (let task = 0; task < tasks; task += 1) {
    const path = scratchFile(scratch, task, shard);
    for await (const document of new JsonlReader<Document>({ path, ...(signal === undefined ? {} : { signal }) })) documents.push(document);
    await rm(path);
  }
  documents.sort((a, b) => compareText(a.id, b.id) || compareText(a.source, b.source));
  const writer = shardWriter(join(outputDir, shardName(shard, shards)));
  try {
    for (const { id, text, source } of documents) await writer.write({ id, text, source });
    await writer.close();
  } finally {
    await writer.abort();
  }
  return documents.length;
}

export const collectFilesEntry = entry<typeof collectFiles>(import.meta.url, "collectFiles");
export const sortShardEntry = entry<typeof sortShard>(import.meta.url, "sortShard");

/** What zephyr's readers have passed over in this task. */
function countOfBadRecords(): number {
  return zephyrContext().counters()["bad-records"]?.sum ?? 0;
}

/** Ids are spread evenly, so equal ranges of them make shards of about equal size, in order. */
function shardOf(id: string, shards: number): number {
  return Math.floor((Number.parseInt(id.slice(0, 12), 16) / 2 ** 48) * shards);
}

function scratchFile(scratch: string, task: number, shard: number): string {
  return join(scratch, `${String(task)}-${String(shard)}.jsonl`);
}

function* cut(source: string, text: string, maxBytes: number): Generator<Document> {
  const parts = splitText(normalizeText(text), maxBytes);
  for (const [index, part] of parts.entries()) {
    // A part can end in the white space it was cut at.
    const trimmed = normalizeText(part);
    yield { id: documentId(trimmed), text: trimmed, source: parts.length === 1 ? source : `${source}#${String(index + 1)}` };
  }
}

/** By code units, the same everywhere. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
