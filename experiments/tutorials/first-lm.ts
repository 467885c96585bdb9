/**
 * Trains a small GPT on English prose, from raw text to a sample, in a few minutes on two cores:
 *
 *     pnpm experiment first-lm
 *     pnpm experiment first-lm --help
 *     pnpm experiment first-lm --set documents.source=./my-texts
 *     pnpm experiment first-lm --set train.preset=long
 */
import {
  baselinesStep,
  defineExperiment,
  documentsOptions,
  documentsStep,
  evaluateStep,
  modelOptions,
  sampleOptions,
  sampleStep,
  tokenizerOptions,
  tokenizerStep,
  tokensStep,
  trainOptions,
  trainStep,
  withPresets,
} from "@marin/marin";
import { z } from "zod";

export const firstLm = defineExperiment({
  name: "first-lm",
  summary: "Trains a GPT of 4 M parameters on English prose, measures it beside n-gram models, and lets it write.",

  options: z.strictObject({
    documents: documentsOptions,
    tokenizer: tokenizerOptions,
    model: modelOptions,
    train: withPresets(
      trainOptions,
      {
        quick: { steps: 700, learningRate: 1e-3, warmup: 0.05, checkpointEvery: 100 },
        long: { steps: 4000, learningRate: 1e-3, warmup: 0.05, checkpointEvery: 250, evaluateEvery: 1000 },
      },
      "quick",
    ),
    sample: sampleOptions,
  }),

  steps(options) {
    const { engine, threads } = options.train;
    const documents = documentsStep({}, { ...options.documents, resolveFrom: import.meta.url });
    const tokenizer = tokenizerStep({ documents }, options.tokenizer);
    const tokens = tokensStep({ documents, tokenizer }, {});
    const model = trainStep({ tokens }, { ...options.train, model: options.model });
    const baselines = baselinesStep({ documents, tokens }, {});
    const evaluate = evaluateStep({ model, tokens, baselines }, { engine, threads });
    const sample = sampleStep({ model, tokenizer }, { ...options.sample, engine, threads });
    return { documents, tokenizer, tokens, train: model, baselines, evaluate, sample };
  },
});
