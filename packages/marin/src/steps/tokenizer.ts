import { join } from "node:path";

import { z } from "zod";

import { trainTokenizer } from "../processing/tokenizer/train-tokenizer.js";
import { defineStep, type StepContext } from "../step.js";
import { documentsPath, type DedupResult } from "./dedup.js";

/** Options of {@link tokenizerStep}. */
export const tokenizerOptions = z.strictObject({
  vocabSize: z.int().min(257).max(65536).default(4096).describe("Tokens of the vocabulary: 256 bytes, merges learned from the training documents, and the end of text."),
});

/** What {@link tokenizerStep} learned. */
export interface TokenizerResult {
  readonly vocabSize: number;
  readonly merges: number;
}

/** Learns a byte-level BPE from the training documents: a Hugging Face `tokenizer.json`. */
export const tokenizerStep = defineStep({
  name: "tokenizer",
  version: 2,
  async run({ config, inputs, directory, signal, progress }: StepContext<z.output<typeof tokenizerOptions>, { dedup: DedupResult }>): Promise<TokenizerResult> {
    const documents = documentsPath(inputs.dedup, "train");
    const { vocabSize, merges } = await trainTokenizer({ documents, vocabSize: config.vocabSize, outputDir: directory, signal, onProgress: progress });
    return { vocabSize, merges };
  },
});

/** Path of the tokenizer within the artifact. */
export function tokenizerPath(artifact: { readonly directory: string }): string {
  return join(artifact.directory, "tokenizer.json");
}
