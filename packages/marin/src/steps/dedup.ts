import { join } from "node:path";

import { z } from "zod";

import { dedupDocuments, type DedupedDocuments } from "../processing/dedup-documents.js";
import type { DocumentCounts } from "../processing/dedup-shard.js";
import { workerResources } from "../processing/in-workers.js";
import type { Split } from "../processing/split-rule.js";
import { defineStep, type StepContext } from "../step.js";

/** Options of {@link dedupStep}. */
export const dedupOptions = z.strictObject({
  minSimilarity: z.number().gt(0).max(1).default(0.35).describe("Least share of three-word sequences that near duplicates have in common (Jaccard); 1: only texts of the same words."),
  commonAbove: z.int().min(1).default(8).describe("Text that more documents than this share can be boilerplate, and makes no duplicates by itself."),
  validationFraction: z.number().gt(0).lt(1).default(0.05).describe("Share of the documents kept that are for validation, chosen by the hash of their ids."),
  splitSalt: z.string().default("").describe("Any text; another one gives another split."),
  workers: z.int().min(0).default(0).describe("Worker processes; 0: as many as the amount of text is worth, at most one for each processor and 4. The result does not depend on it."),
});

/** What {@link dedupStep} kept and removed. */
export type DedupResult = DedupedDocuments;

/**
 * Removes exact and near duplicates and divides the rest: shards in `train/` and `validation/`, what was removed and for which kept document in
 * `removed.parquet`, pairs to look at in `examples.json`.
 */
export const dedupStep = defineStep({
  name: "dedup",
  version: 1,
  executionOnly: ["workers"],
  resources: (config: z.output<typeof dedupOptions>) => workerResources(config),
  run({ config, inputs, directory, signal, progress }: StepContext<z.output<typeof dedupOptions>, { documents: DocumentCounts }>): Promise<DedupResult> {
    const { splitSalt, ...options } = config;
    return dedupDocuments({ ...options, salt: splitSalt, documents: inputs.documents.directory, outputDir: directory, signal, onProgress: progress });
  },
});

/** Folder of a part's documents within the artifact. */
export function documentsPath(artifact: { readonly directory: string }, part: Split): string {
  return join(artifact.directory, part);
}
