/**
 * Trains a small GPT on English prose, from messy documents to a report, in a few minutes on two cores:
 *
 *     pnpm experiment first-lm
 *     pnpm experiment first-lm --help
 *     pnpm experiment first-lm --set documents.source=./my-texts
 *     pnpm experiment first-lm --set train.preset=long
 */
import {
  baselinesStep,
  dedupOptions,
  dedupStep,
  defineExperiment,
  documentsOptions,
  documentsStep,
  evaluateStep,
  modelOptions,
  reportStep,
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
  summary: "Trains a GPT of 4 M parameters on English prose without duplicates, measures it beside n-gram models, lets it write, and reports.",

  options: z.strictObject({
    documents: documentsOptions,
    dedup: dedupOptions,
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
    const { engine, device, precision, threads } = options.train;
    const { workers } = options.dedup;
    const documents = documentsStep({}, { ...options.documents, resolveFrom: import.meta.url, builtinFolder: "./corpus" });
    const dedup = dedupStep({ documents }, options.dedup);
    const tokenizer = tokenizerStep({ dedup }, options.tokenizer);
    const tokens = tokensStep({ dedup, tokenizer }, { workers });
    const train = trainStep({ tokens }, { ...options.train, model: options.model });
    const baselines = baselinesStep({ dedup, tokens }, {});
    const evaluate = evaluateStep({ model: train, tokens, baselines }, { engine, device, precision, threads });
    const sample = sampleStep({ model: train, tokenizer }, { ...options.sample, engine, device, precision, threads });
    const report = reportStep({ documents, dedup, tokenizer, tokens, train, baselines, evaluate, sample }, { title: "first-lm", examples: 5 });
    return { documents, dedup, tokenizer, tokens, train, baselines, evaluate, sample, report };
  },
});
