import { join } from "node:path";

import { presets } from "@marin/dupekit";
import { z } from "zod";

import { dedupDocuments, type DedupedDocuments, needsPreset } from "../processing/dedup-documents.js";
import type { DocumentCounts, PresetName } from "../processing/dedup-shard.js";
import { workerResources } from "../processing/in-workers.js";
import type { Split } from "../processing/split-rule.js";
import { defineStep, type StepContext } from "../step.js";

const dedupFields = z.strictObject({
  minSimilarity: z.number().gt(0).max(1).default(0.35).describe("Least share of three-word sequences that near duplicates have in common (Jaccard); 1: only texts of the same words."),
  commonAbove: z.int().min(1).default(8).describe("Text that more documents than this share can be boilerplate, and makes no duplicates by itself."),
  preset: z.enum(Object.keys(presets) as PresetName[]).nullable().default(null).describe("How candidates are found: by the signatures of such a system; null: by rare word sequences, which finds more where documents share a template."),
  verify: z.boolean().default(true).describe("Whether candidates are compared by their words; false: what the preset's bands say, accidents and templates included."),
  keep: z.enum(["central", "longest", "first"]).default("central").describe("Which of several duplicates stays: the one most like the others, the longest, or the first by file name and row."),
  link: z.enum(["direct", "transitive"]).default("direct").describe("What goes for the one that stays: what was found to be its duplicate, or duplicates of duplicates too."),
  validationFraction: z.number().gt(0).lt(1).default(0.05).describe("Share of the documents kept that are for validation, chosen by the hash of their ids."),
  splitSalt: z.string().default("").describe("Any text; another one gives another split."),
  workers: z.int().min(0).default(0).describe("Worker processes; 0: as many as the amount of text is worth, at most one for each processor and 4. The result does not depend on it."),
});

/** Options of {@link dedupStep}. */
export const dedupOptions = dedupFields.refine(({ preset, verify }) => verify || preset !== null, { path: ["verify"], message: needsPreset().message });

/** What {@link dedupStep} kept and removed. */
export type DedupResult = DedupedDocuments;

/**
 * Removes exact and near duplicates and divides the rest: shards in `train/` and `validation/`, what was removed and for which kept document in
 * `removed.parquet`, pairs to look at in `examples.json`.
 */
export const dedupStep = defineStep({
  name: "dedup",
  version: 1,
  neutral: { preset: null, verify: true, keep: "central", link: "direct" },
  executionOnly: ["workers"],
  resources: (config: z.output<typeof dedupOptions>) => workerResources(config),
  async run({ config, inputs, directory, signal, log, progress }: StepContext<z.output<typeof dedupOptions>, { documents: DocumentCounts }>): Promise<DedupResult> {
    const { splitSalt, preset, ...options } = config;
    const result = await dedupDocuments({ ...options, preset: preset ?? undefined, salt: splitSalt, documents: inputs.documents.directory, outputDir: directory, signal, onProgress: progress });
    const { kept, removed } = result;
    log(`documents kept: ${kept.documents}; left out: ${removed.exact.documents} exact copies, ${removed.near.documents} near copies`);
    return result;
  },
});

/** Folder of a part's documents within the artifact. */
export function documentsPath(artifact: { readonly directory: string }, part: Split): string {
  return join(artifact.directory, part);
}
