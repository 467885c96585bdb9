import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";

import { z } from "zod";

import { builtinSource, collectDocuments, type CollectSummary } from "../processing/collect-documents.js";
import { sourceFingerprint } from "../processing/source-fingerprint.js";
import { splitDocuments } from "../processing/split-documents.js";
import { defineStep, type IdentityContext, type StepContext } from "../step.js";

/** Options of {@link documentsStep}. */
export const documentsOptions = z.strictObject({
  source: z.string().min(1).default(builtinSource).describe('Text to learn from: "builtin" (English prose carried by npm packages) or a folder of .txt, .text and .md files.'),
  validationFraction: z.number().gt(0).lt(1).default(0.05).describe("Share of the documents kept for validation, chosen by the hash of their ids."),
  splitSalt: z.string().default("").describe("Any text; another one gives another split."),
  maxDocumentBytes: z.int().min(64).default(16384).describe("Longer texts are cut between paragraphs, sentences or words, in UTF-8 bytes."),
  minDocumentBytes: z.int().min(0).default(64).describe("Shorter documents are left out and counted, in UTF-8 bytes."),
});

/** Configuration of {@link documentsStep}. */
export interface DocumentsConfig extends z.output<typeof documentsOptions> {
  /** `import.meta.url` of a module whose package depends on the npm packages of text. */
  readonly resolveFrom: string;
}

/** Counts of one part of the documents. */
interface PartCounts {
  readonly documents: number;
  /** UTF-8 bytes. */
  readonly bytes: number;
}

/** What {@link documentsStep} found, kept and left out. */
export interface DocumentsResult extends Omit<CollectSummary, "source" | "removed"> {
  /** What was left out. Files that are no texts are not counted: they do not decide the artifact. */
  readonly removed: Omit<CollectSummary["removed"], "ignoredFiles">;
  readonly train: PartCounts;
  readonly validation: PartCounts;
}

/** Gathers texts into documents and splits them: `train.jsonl` and `validation.jsonl`. */
export const documentsStep = defineStep({
  name: "documents",
  version: 1,
  // What lies there decides, not where it lies.
  executionOnly: ["source", "resolveFrom"],
  identity: (config: DocumentsConfig, context) => sourceFingerprint(sourceOf(config, context), config.resolveFrom, context.signal),
  runRecords: ["summary.json"],
  async run(context: StepContext<DocumentsConfig>): Promise<DocumentsResult> {
    const { config, directory, signal, log, progress } = context;
    const common = { outputDir: directory, signal, onProgress: progress };
    const { path, source: _source, ...summary } = await collectDocuments({ ...config, ...common, source: sourceOf(config, context) });
    const { ignoredFiles, ...removed } = summary.removed;
    if (ignoredFiles > 0) log(`files not named like text (.txt, .text, .md), left out: ${ignoredFiles}`);
    const { train, validation } = await splitDocuments({ ...common, documents: path, validationFraction: config.validationFraction, salt: config.splitSalt });
    // Every document is in one of the two parts now.
    await rm(path);
    const counts = ({ documents, bytes }: PartCounts): PartCounts => ({ documents, bytes });
    return { ...summary, removed, train: counts(train), validation: counts(validation) };
  },
});

/** Path of a part's documents within the artifact. */
export function documentsPath(artifact: { readonly directory: string }, part: "train" | "validation"): string {
  return join(artifact.directory, `${part}.jsonl`);
}

function sourceOf({ source }: DocumentsConfig, { workingDirectory }: IdentityContext): string {
  return source === builtinSource ? source : resolve(workingDirectory, source);
}
