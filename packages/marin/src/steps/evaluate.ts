import { evaluateLoss, TokenStore } from "@marin/levanter";

import { evaluateBaselines, type Baseline } from "../evaluation/baselines.js";
import { defineStep, type StepContext } from "../step.js";
import { computeResources, withLoadedModel, type ComputeConfig } from "./compute.js";
import { documentsPath, type DedupResult } from "./dedup.js";
import { tokensPath, type TokensResult } from "./tokens.js";
import { trainedModel, type TrainedModel } from "./train.js";

/** What {@link baselinesStep} measured. */
export interface BaselinesResult {
  readonly baselines: readonly Baseline[];
}

/** Scores n-gram models, counted on all training documents, on the validation documents. */
export const baselinesStep = defineStep({
  name: "baselines",
  version: 2,
  async run({ inputs, signal, progress }: StepContext<object, { dedup: DedupResult; tokens: TokensResult }>): Promise<BaselinesResult> {
    const { dedup, tokens } = inputs;
    const baselines = await evaluateBaselines({
      train: documentsPath(dedup, "train"),
      validation: documentsPath(dedup, "validation"),
      trainTokens: tokensPath(tokens, "train"),
      validationTokens: tokensPath(tokens, "validation"),
      signal,
      onProgress: progress,
    });
    return { baselines };
  },
});

/** How well a model and the baselines predict the validation documents. */
export interface EvaluateResult {
  /** Nats per token. */
  readonly validationLoss: number;
  readonly bitsPerByte: number;
  /** Tokens predicted: all of the validation documents, their ends included. */
  readonly tokens: number;
  /** UTF-8 bytes of the validation documents. */
  readonly bytes: number;
  /** Bits per byte of each baseline, by name. */
  readonly baselines: Readonly<Record<string, number>>;
}

/** Scores a trained model on all validation documents, beside the baselines. */
export const evaluateStep = defineStep({
  name: "evaluate",
  version: 1,
  executionOnly: ["threads"],
  resources: computeResources,
  async run(context: StepContext<ComputeConfig, { model: TrainedModel; tokens: TokensResult; baselines: BaselinesResult }>): Promise<EvaluateResult> {
    const { config, inputs, signal, log, progress } = context;
    const store = await TokenStore.open(tokensPath(inputs.tokens, "validation"));
    const result = await withLoadedModel(config, log, trainedModel(inputs.model), (loaded) => evaluateLoss({ ...loaded, store, signal, onProgress: progress }));
    return {
      validationLoss: result.loss,
      bitsPerByte: result.bitsPerByte,
      tokens: result.tokens,
      bytes: result.bytes,
      baselines: Object.fromEntries(inputs.baselines.result.baselines.map(({ name, bitsPerByte }) => [name, bitsPerByte])),
    };
  },
  lines: ({ validationLoss, bitsPerByte, baselines }) => [
    `validation loss: ${validationLoss.toFixed(4)} nats per token`,
    `bits per byte: ${bitsPerByte.toFixed(4)}`,
    ...Object.entries(baselines).map(([name, bits]) => `baseline ${name}: ${bits.toFixed(4)} bits per byte`),
  ],
});
