import { join } from "node:path";

import { tokenizeDocuments, type TokenizedDocuments } from "../processing/tokenize-documents.js";
import { defineStep, type StepContext } from "../step.js";
import { documentsPath, type DocumentsResult } from "./documents.js";
import { tokenizerPath, type TokenizerResult } from "./tokenizer.js";

/** What {@link tokensStep} wrote. */
export interface TokensResult {
  readonly train: TokenizedDocuments;
  readonly validation: TokenizedDocuments;
}

/** Turns the documents into token stores: `train/` and `validation/`. */
export const tokensStep = defineStep({
  name: "tokens",
  version: 1,
  async run({ inputs, directory, signal, progress }: StepContext<object, { documents: DocumentsResult; tokenizer: TokenizerResult }>): Promise<TokensResult> {
    const { documents, tokenizer } = inputs;
    const total = documents.result.documents;
    let before = 0;
    const tokenize = async (part: "train" | "validation"): Promise<TokenizedDocuments> => {
      const counts = await tokenizeDocuments({
        documents: documentsPath(documents, part),
        tokenizerPath: tokenizerPath(tokenizer),
        outputDir: join(directory, part),
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
