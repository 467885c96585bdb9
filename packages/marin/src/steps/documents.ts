import { resolve } from "node:path";

import type { ParquetSchema } from "@marin/zephyr";
import { z } from "zod";

import { badRecordsFolder, collectDocuments, type CollectedDocuments } from "../processing/collect-documents.js";
import { builtinSource, type TextSource } from "../processing/corpus/list-source.js";
import { textFileEndings } from "../processing/corpus/source-file.js";
import { workerResources } from "../processing/in-workers.js";
import { sourceFingerprint } from "../processing/source-fingerprint.js";
import { defineStep, type IdentityContext, type StepContext } from "../step.js";

/** Options of {@link documentsStep}. */
export const documentsOptions = z.strictObject({
  source: z.string().min(1).default(builtinSource).describe(`Text to learn from: "builtin" (the texts that the experiment brings) or a folder of texts (${textFileEndings()}).`),
  textField: z.string().min(1).default("text").describe("Field of rows and records that holds the text; plain files are texts as they are."),
  schema: z.record(z.string(), z.unknown()).default({}).describe('Fields that every record must have besides, and their types: {"year":"int32"}. One that does not fit is a bad record.'),
  settings: z.record(z.string(), z.record(z.string(), z.unknown())).default({}).describe('What the readers of formats have to know, by format: {"csv":{"delimiter":";"}}.'),
  onBadRecord: z.enum(["fail", "skip"]).default("fail").describe("A record that cannot be read or has no text ends the work, or is counted, told in bad-records/ and passed over."),
  maxDocumentBytes: z.int().min(64).default(16384).describe("Longer texts are cut between paragraphs, sentences or words, in UTF-8 bytes."),
  minDocumentBytes: z.int().min(0).default(64).describe("Shorter documents are left out and counted, in UTF-8 bytes."),
  workers: z.int().min(0).default(0).describe("Worker processes; 0: as many as the amount of text is worth, at most one for each processor and 4. The result does not depend on it."),
});

/** Configuration of {@link documentsStep}. */
export interface DocumentsConfig extends z.output<typeof documentsOptions> {
  /** `import.meta.url` of a module whose package depends on the npm packages of text. */
  readonly resolveFrom: string;
  /** A folder of texts, relative to that module, that belongs to the built-in ones. */
  readonly builtinFolder?: string;
}

/** What {@link documentsStep} found and kept. Files that are no texts are not counted: they do not decide the artifact. */
export type DocumentsResult = Omit<CollectedDocuments, "ignoredFiles">;

/** Gathers texts into documents: shards `part-00000-of-0000N.parquet` of `id`, `text`, `source`. */
export const documentsStep = defineStep({
  name: "documents",
  version: 2,
  neutral: { schema: {}, settings: {}, onBadRecord: "fail" },
  // Where the folder lies stands in them.
  runRecords: [badRecordsFolder],
  // What lies there decides, not where it lies.
  executionOnly: ["source", "resolveFrom", "builtinFolder", "workers"],
  identity: (config: DocumentsConfig, context) => sourceFingerprint(sourceOf(config, context), context.signal),
  resources: (config: DocumentsConfig) => workerResources(config),
  async run(context: StepContext<DocumentsConfig>): Promise<DocumentsResult> {
    const { config, directory, signal, log, progress } = context;
    const { ignoredFiles, ...result } = await collectDocuments({ ...config, schema: config.schema as ParquetSchema, ...sourceOf(config, context), outputDir: directory, signal, onProgress: progress });
    if (ignoredFiles > 0) log(`files of other kinds than ${textFileEndings()}, left out: ${ignoredFiles}`);
    return result;
  },
  lines: ({ sources }) => Object.entries(sources).flatMap(([name, { unreadable = 0 }]) => (unreadable === 0 ? [] : [`records of ${name} passed over, unreadable or without text: ${unreadable}`])),
});

function sourceOf({ source, resolveFrom, builtinFolder }: DocumentsConfig, { workingDirectory }: IdentityContext): TextSource {
  return { source: source === builtinSource ? source : resolve(workingDirectory, source), resolveFrom, builtinFolder };
}
