import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MarinError, writeFileAtomic } from "@marin/rigging";
import { writeJsonl } from "@marin/zephyr";
import { type Document, documentId, normalizeText, type SourceText } from "./corpus/document.js";
import { readBuiltinTexts } from "./corpus/builtin-sources.js";
import { listTextFiles, readFolderTexts } from "./corpus/folder-source.js";
import { splitText } from "./corpus/split-text.js";
import type { ProcessingOptions } from "./progress.js";

/** The source that means the texts of the npm data packages. */
export const builtinSource = "builtin";

/** Options of {@link collectDocuments}. */
export interface CollectOptions extends ProcessingOptions {
  /** `"builtin"`, or a folder with .txt, .text and .md files. */
  readonly source: string;
  /** For the built-in texts: path or URL of a module whose package depends on the data packages (`import.meta.url` there). */
  readonly resolveFrom: string | URL;
  /** Folder in which `documents.jsonl` and `summary.json` are written; created where needed. */
  readonly outputDir: string;
  /** Most UTF-8 bytes of a document; longer texts are cut between paragraphs, lines, sentences or words. Default 16,384, from 64. */
  readonly maxDocumentBytes?: number | undefined;
  /** Documents with fewer UTF-8 bytes are left out and counted, and empty ones always. Default 64. */
  readonly minDocumentBytes?: number | undefined;
}

/** What was kept of one group of texts. */
export interface GroupCounts {
  /** Texts read: files, speeches, chapters. */
  texts: number;
  documents: number;
  /** UTF-8 bytes of the documents' texts. */
  bytes: number;
}

/** What {@link collectDocuments} found, kept and left out; also written as `summary.json`. */
export interface CollectSummary {
  readonly source: string;
  /** Documents kept. */
  readonly documents: number;
  /** UTF-8 bytes of their texts. */
  readonly bytes: number;
  /** Counts by source: each built-in one, or `folder`. */
  readonly groups: Readonly<Record<string, GroupCounts>>;
  /** What was left out. */
  readonly removed: {
    /** Documents whose text had been seen before. */
    readonly duplicates: number;
    /** Documents below `minDocumentBytes`, empty ones included. */
    readonly tooShort: number;
    /** Files of the folder that are not named like text. */
    readonly ignoredFiles: number;
  };
}

/** A finished collection. */
export interface CollectedDocuments extends CollectSummary {
  /** Path of the JSON Lines file of documents: `id`, `text`, `source`. */
  readonly path: string;
}

/**
 * Gathers texts, normalises them, cuts long ones, removes exact duplicates, and writes `documents.jsonl`. Equal texts give
 * equal bytes; the order is that of the sources and their file names.
 *
 * @throws MarinError MARIN_NO_DOCUMENTS when nothing is left, and those of {@link readBuiltinTexts}, {@link listTextFiles} and
 * {@link readFolderTexts}
 */
export async function collectDocuments(options: CollectOptions): Promise<CollectedDocuments> {
  const { source, outputDir, onProgress, signal } = options;
  const maxBytes = options.maxDocumentBytes ?? 16384;
  const minBytes = options.minDocumentBytes ?? 64;
  if (!Number.isInteger(maxBytes) || maxBytes < 64 || minBytes > maxBytes) {
    throw new MarinError("MARIN_DOCUMENT_SIZE", `maxDocumentBytes must be an integer of at least 64 and not below minDocumentBytes, found ${String(maxBytes)} and ${String(minBytes)}.`, { data: { maxBytes, minBytes } });
  }
  const listing = source === builtinSource ? undefined : await listTextFiles(source);
  const texts = listing === undefined ? readBuiltinTexts(options.resolveFrom) : readFolderTexts(listing);
  const groups: Record<string, GroupCounts> = {};
  const seen = new Set<string>();
  let duplicates = 0;
  let tooShort = 0;

  async function* documents(): AsyncGenerator<Document> {
    for await (const text of texts) {
      signal?.throwIfAborted();
      const counts = (groups[text.group] ??= { texts: 0, documents: 0, bytes: 0 });
      counts.texts += 1;
      for (const document of cut(text, maxBytes)) {
        const bytes = Buffer.byteLength(document.text);
        if (bytes < minBytes || bytes === 0) tooShort += 1;
        else if (seen.has(document.id)) duplicates += 1;
        else {
          seen.add(document.id);
          counts.documents += 1;
          counts.bytes += bytes;
          yield document;
        }
      }
      onProgress?.({ done: seen.size, unit: "documents" });
    }
    if (seen.size > 0) return;
    throw new MarinError("MARIN_NO_DOCUMENTS", `No document is left of ${source}: ${String(tooShort)} are shorter than ${String(minBytes)} bytes. Give a folder with longer texts, or lower documents.minDocumentBytes.`, {
      data: { source, tooShort, minBytes },
    });
  }

  await mkdir(outputDir, { recursive: true });
  const path = join(outputDir, "documents.jsonl");
  await writeJsonl(path, documents());
  const summary: CollectSummary = {
    source,
    documents: seen.size,
    bytes: Object.values(groups).reduce((sum, { bytes }) => sum + bytes, 0),
    groups,
    removed: { duplicates, tooShort, ignoredFiles: listing?.ignored ?? 0 },
  };
  await writeFileAtomic(join(outputDir, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  return { ...summary, path };
}

function* cut({ source, text }: SourceText, maxBytes: number): Generator<Document> {
  const parts = splitText(normalizeText(text), maxBytes);
  for (const [index, part] of parts.entries()) {
    // A part can end in the white space it was cut at.
    const trimmed = normalizeText(part);
    yield { id: documentId(trimmed), text: trimmed, source: parts.length === 1 ? source : `${source}#${String(index + 1)}` };
  }
}
