import { generate, RandomKey } from "@marin/levanter";
import { escapeControls } from "@marin/rigging";
import { z } from "zod";

import { loadTokenizer } from "../processing/tokenizer/tokenizer.js";
import { defineStep, type StepContext } from "../step.js";
import { computeResources, withLoadedModel, type ComputeConfig } from "./compute.js";
import { tokenizerPath, type TokenizerResult } from "./tokenizer.js";
import { trainedModel, type TrainedModel } from "./train.js";

/** Options of {@link sampleStep}. */
export const sampleOptions = z.strictObject({
  prompt: z.string().default("The people of").describe("Text to continue; empty: the model begins a document."),
  tokens: z.int().min(1).default(100).describe("Tokens to draw at most; the end of the text ends it earlier."),
  temperature: z.number().min(0).default(0.7).describe("Above 1 bolder, below 1 safer; 0 always takes the likeliest token."),
  topK: z.int().min(0).default(50).describe("Only this many of the likeliest tokens can be drawn; 0: all."),
  seed: z.int().min(0).default(0).describe("Names the draws."),
});

/** Configuration of {@link sampleStep}. */
export type SampleConfig = z.output<typeof sampleOptions> & ComputeConfig;

/** What {@link sampleStep} drew. */
export interface SampleResult {
  readonly prompt: string;
  /** What the model wrote after the prompt. */
  readonly continuation: string;
  readonly tokens: number;
}

/** Continues a prompt with a trained model. */
export const sampleStep = defineStep({
  name: "sample",
  version: 1,
  executionOnly: ["threads"],
  resources: computeResources,
  async run({ config, inputs, signal, log, progress }: StepContext<SampleConfig, { model: TrainedModel; tokenizer: TokenizerResult }>): Promise<SampleResult> {
    const tokenizer = await loadTokenizer(tokenizerPath(inputs.tokenizer));
    let done = 0;
    const drawn = await withLoadedModel(config, log, trainedModel(inputs.model), (loaded) =>
      generate({
        ...loaded,
        prompt: [tokenizer.endOfTextId, ...tokenizer.encode(config.prompt)],
        maxTokens: config.tokens,
        temperature: config.temperature,
        topK: config.topK,
        key: RandomKey.fromSeed(config.seed).fold("sample"),
        stopToken: tokenizer.endOfTextId,
        signal,
        onToken: () => {
          progress({ done: ++done, total: config.tokens, unit: "tokens" });
        },
      }),
    );
    return { prompt: config.prompt, continuation: tokenizer.decode(drawn), tokens: drawn.length };
  },
  // A model can write any bytes.
  lines: ({ prompt, continuation }) => ["sample:", ...escapeControls(prompt + continuation, "\n\t").split("\n").map((line) => `  ${line}`)],
});
