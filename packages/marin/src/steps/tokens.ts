import { join } from "node:path";

import { workerResources } from "../processing/in-workers.js";
import { tokenizeDocuments } from "../processing/tokenize-documents.js";
import type { TokenizedDocuments } from "../processing/tokenize-shard.js";
import { defineStep, type StepContext } from "../step.js";
import { documentsPath, type DedupResult } from "./dedup.js";
import { tokenizerPath, type TokenizerResult } from "./tokenizer.js";

/** What {@link tokensStep} wrote. */
export interface TokensResult {
  readonly train: TokenizedDocuments;
  readonly validation: TokenizedDocuments;
}

/** Configuration of {@link tokensStep}. */
export interface TokensConfig {
  /** Worker processes; the tokens do not depend on it. Default: as many as the amount of text is worth. */
  readonly workers?: number;
}

/** Turns the documents into token stores: `train/` and `validation/`. */
export const tokensStep = defineStep({
  name: "tokens",
  version: 2,
  executionOnly: ["workers"],
  resources: (config: TokensConfig) => workerResources(config),
  async run({ config, inputs, directory, signal, progress }: StepContext<TokensConfig, { dedup: DedupResult; tokenizer: TokenizerResult }>): Promise<TokensResult> {
    const { dedup, tokenizer } = inputs;
    const total = dedup.result.kept.documents;
    let before = 0;
    const tokenize = async (part: "train" | "validation"): Promise<TokenizedDocuments> => {
      const counts = await tokenizeDocuments({
        documents: documentsPath(dedup, part),
        tokenizerPath: tokenizerPath(tokenizer),
        outputDir: join(directory, part),
        workers: config.workers,
        signal,
        onProgress: ({ done, unit }) => {
          progress({ done: before + done, total, unit });
        },
      });
      before += counts.documents;
      return counts;
    };
    return { train: await tokenize("train"), validation: await tokenize("validation") };
  },
});

/** Path of a part's token store within the artifact. */
export function tokensPath(artifact: { readonly directory: string }, part: "train" | "validation"): string {
  return join(artifact.directory, part);
}
