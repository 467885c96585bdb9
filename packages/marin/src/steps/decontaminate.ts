import { createHash } from "node:crypto";
import { resolve } from "node:path";

import { sha256File } from "@marin/rigging";
import { z } from "zod";

import { decontaminateDocuments, type DecontaminatedDocuments } from "../processing/decontamination/decontaminate-documents.js";
import { listEvaluations } from "../processing/decontamination/read-evaluations.js";
import type { DocumentCounts } from "../processing/dedup-shard.js";
import { workerResources } from "../processing/in-workers.js";
import { defineStep, type StepContext } from "../step.js";

/** Options of {@link decontaminateStep}. */
export const decontaminateOptions = z.strictObject({
  fields: z.array(z.string().min(1)).min(1).default(["text"]).describe("Fields of an evaluation's rows that hold text; each is a passage of its own."),
  ngramWords: z.int().min(1).default(13).describe("Words of an n-gram."),
  leastWords: z.int().min(1).default(3).describe("Passages and paragraphs of fewer words than an n-gram are compared as a whole, from so many words on."),
  minOverlap: z.number().gt(0).max(1).default(0.5).describe("A document goes when evaluations hold this share of the n-grams of one of its paragraphs."),
  minCoverage: z.number().gt(0).max(1).nullable().default(0.5).describe("Or when it holds this share of an evaluation item's n-grams, wherever they stand; null: only minOverlap decides."),
  commonAbove: z.int().min(1).nullable().default(null).describe("An n-gram in more different texts of the documents than this counts for nothing: licences and set phrases give no item away; null: all count."),
  workers: z.int().min(0).default(0).describe("Worker processes; 0: as many as the amount of text is worth, at most one for each processor and 4. The result does not depend on it."),
});

/** Configuration of {@link decontaminateStep}. */
export interface DecontaminateConfig extends z.output<typeof decontaminateOptions> {
  /** Folder of the evaluations that a model will be measured by; relative ones start where the user is. */
  readonly evaluations: string;
}

/** What {@link decontaminateStep} kept and left out. */
export type DecontaminateResult = DecontaminatedDocuments;

/**
 * Leaves out documents that give away evaluations. Shards as the documents' come, with the same names, so that whatever takes documents takes these; what was found is in `flagged/`, and which
 * evaluation holds which n-gram in `evaluations/`.
 */
export const decontaminateStep = defineStep({
  name: "decontaminate",
  version: 1,
  neutral: { commonAbove: null },
  // What lies there decides, not where it lies.
  executionOnly: ["evaluations", "workers"],
  identity: async ({ evaluations }: DecontaminateConfig, { workingDirectory, signal }) => {
    const hash = createHash("sha256");
    for (const { name, path } of await listEvaluations(resolve(workingDirectory, evaluations))) {
      signal.throwIfAborted();
      hash.update(JSON.stringify([name, await sha256File(path)]));
    }
    return hash.digest("hex");
  },
  resources: (config: DecontaminateConfig) => workerResources(config),
  run({ config, inputs, directory, workingDirectory, signal, progress }: StepContext<DecontaminateConfig, { documents: DocumentCounts }>): Promise<DecontaminateResult> {
    return decontaminateDocuments({ ...config, evaluations: resolve(workingDirectory, config.evaluations), documents: inputs.documents.directory, outputDir: directory, signal, onProgress: progress });
  },
  lines: ({ contaminated, evaluations }) => [`contaminated documents left out: ${contaminated.documents}, of ${evaluations.leaked} of ${evaluations.items} evaluation items`],
});
