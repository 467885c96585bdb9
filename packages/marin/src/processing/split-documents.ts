import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/rigging";
import type { Document } from "./corpus/document.js";
import { readDocuments, writeDocuments } from "./documents-file.js";
import type { ProcessingOptions } from "./progress.js";

/** The two parts of a corpus. */
export type Split = "train" | "validation";

/** Which documents are kept for validation. */
export interface SplitRule {
  /** Share of the documents kept for validation, above 0 and below 1. */
  readonly validationFraction: number;
  /** Any text; another one gives another split of the same documents. */
  readonly salt: string;
}

/** Options of {@link splitDocuments}. */
export interface SplitOptions extends ProcessingOptions {
  /** JSON Lines file of documents. */
  readonly documents: string;
  /** Folder in which `train.jsonl` and `validation.jsonl` are written; created where needed. */
  readonly outputDir: string;
  /** Share of the documents kept for validation, above 0 and below 1. Default 0.05. */
  readonly validationFraction?: number | undefined;
  /** Any text; another one gives another split of the same documents. Default "". */
  readonly salt?: string | undefined;
}

/** One part of a split corpus. */
export interface SplitPart {
  /** Its JSON Lines file. */
  readonly path: string;
  readonly documents: number;
  /** UTF-8 bytes of the documents' texts. */
  readonly bytes: number;
}

/**
 * The part a document belongs to. It depends on the document's id and the rule alone, so adding documents moves none.
 *
 * The first 48 bits of SHA-256(salt, 0, id) are read as a fraction of 2^48; below `validationFraction` means validation.
 */
export function splitOf(id: string, { validationFraction, salt }: SplitRule): Split {
  const digest = createHash("sha256").update(`${salt}\0${id}`, "utf8").digest();
  return digest.readUIntBE(0, 6) / 2 ** 48 < validationFraction ? "validation" : "train";
}

/**
 * Divides documents into `train.jsonl` and `validation.jsonl` by the hash of their ids, each in the order of the input.
 *
 * @throws MarinError MARIN_SPLIT_FRACTION for a fraction that is not between 0 and 1, MARIN_EMPTY_SPLIT when a part gets no document
 */
export async function splitDocuments(options: SplitOptions): Promise<Readonly<Record<Split, SplitPart>>> {
  const { documents, outputDir } = options;
  const rule: SplitRule = { validationFraction: options.validationFraction ?? 0.05, salt: options.salt ?? "" };
  if (!(rule.validationFraction > 0 && rule.validationFraction < 1)) {
    throw new MarinError("MARIN_SPLIT_FRACTION", `validationFraction must be above 0 and below 1, found ${String(rule.validationFraction)}.`, { data: { ...rule } });
  }
  await mkdir(outputDir, { recursive: true });
  const write = async (split: Split): Promise<SplitPart> => {
    const path = join(outputDir, `${split}.jsonl`);
    const counts = { documents: 0, bytes: 0 };
    await writeDocuments(path, select(split, rule, options, counts));
    if (counts.documents > 0) return { path, ...counts };
    throw new MarinError(
      "MARIN_EMPTY_SPLIT",
      `No document of ${documents} falls into the ${split} split with validationFraction ${String(rule.validationFraction)}. Add documents, lower documents.maxDocumentBytes so that texts are cut into more of them, or change documents.validationFraction.`,
      { data: { split, ...rule } },
    );
  };
  return { train: await write("train"), validation: await write("validation") };
}

async function* select(split: Split, rule: SplitRule, { documents, signal, onProgress }: SplitOptions, counts: { documents: number; bytes: number }): AsyncGenerator<Document> {
  for await (const document of readDocuments(documents, signal)) {
    if (splitOf(document.id, rule) !== split) continue;
    counts.documents += 1;
    counts.bytes += Buffer.byteLength(document.text);
    onProgress?.({ done: counts.documents, unit: `${split} documents` });
    yield document;
  }
}
