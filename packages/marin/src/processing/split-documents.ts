import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/rigging";
import { JsonlWriter } from "@marin/zephyr";
import { readDocuments } from "./documents-file.js";
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
  const parts = { train: newPart(outputDir, "train"), validation: newPart(outputDir, "validation") };
  const writers = { train: new JsonlWriter(parts.train.path), validation: new JsonlWriter(parts.validation.path) };
  try {
    let done = 0;
    for await (const document of readDocuments(documents, options.signal)) {
      const split = splitOf(document.id, rule);
      await writers[split].write(document);
      parts[split].documents += 1;
      parts[split].bytes += Buffer.byteLength(document.text);
      done += 1;
      options.onProgress?.({ done, unit: "documents" });
    }
    for (const split of ["train", "validation"] as const) if (parts[split].documents === 0) throw emptySplit(documents, split, rule, done);
    await writers.train.close();
    await writers.validation.close();
  } finally {
    await writers.train.abort();
    await writers.validation.abort();
  }
  return parts;
}

function newPart(outputDir: string, split: Split): { path: string; documents: number; bytes: number } {
  return { path: join(outputDir, `${split}.jsonl`), documents: 0, bytes: 0 };
}

function emptySplit(documents: string, split: Split, rule: SplitRule, total: number): MarinError {
  const remedy =
    split === "validation"
      ? "raise documents.validationFraction, or lower documents.maxDocumentBytes so that texts are cut into more documents"
      : "lower documents.validationFraction";
  return new MarinError(
    "MARIN_EMPTY_SPLIT",
    `None of the ${String(total)} documents of ${documents} falls into the ${split} split with validationFraction ${String(rule.validationFraction)}: add documents, ${remedy}.`,
    { data: { split, documents: total, ...rule } },
  );
}
