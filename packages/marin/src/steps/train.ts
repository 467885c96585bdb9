import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { gpt2, joinDistributed, microbatchesFit, TokenStore, Trainer, trainerConfigSchema, type Engine, type Gpt2Config, type LanguageModel, type StepInfo } from "@marin/levanter";
import { createLogger, type Logger } from "@marin/rigging";
import { z } from "zod";

import { defineStep, type Artifact, type StepContext } from "../step.js";
import { computeResources, type ComputeConfig } from "./compute.js";
import { writeLossCurve } from "./loss-curve.js";
import { tokensPath, type TokensResult } from "./tokens.js";

/** Options of the model that {@link trainStep} trains. */
export const modelOptions = z
  .strictObject({
    layers: z.int().min(1).default(4).describe("Transformer blocks."),
    hiddenSize: z.int().min(1).default(256).describe("Width of the residual stream; a multiple of heads."),
    heads: z.int().min(1).default(4).describe("Attention heads of a block."),
    sequenceLength: z.int().min(2).default(128).describe("Tokens that the model sees at once."),
  })
  .refine(({ hiddenSize, heads }) => hiddenSize % heads === 0, { path: ["hiddenSize"], error: "must be a multiple of heads" });

const { sequenceLength: _ofModel, ...trainerFields } = trainerConfigSchema.shape;

/** Options of {@link trainStep}: those of levanter's trainer, the length of a sequence excepted, which is the model's. */
export const trainOptions = z
  .strictObject({
    ...trainerFields,
    evaluateEvery: z.int().min(0).default(0).describe("steps between validations while training; 0: none, the evaluate step measures at the end"),
  })
  .refine(microbatchesFit, { path: ["microbatchSize"], error: "must divide batchSize" });

/** Configuration of {@link trainStep}. */
export interface TrainConfig extends z.output<typeof trainOptions> {
  readonly model: z.output<typeof modelOptions>;
}

/** What {@link trainStep} made. */
export interface TrainedModel {
  /** Configuration of the model, vocabulary included. */
  readonly model: Gpt2Config;
  /** Directory of the last checkpoint within the artifact. */
  readonly checkpoint: string;
  readonly parameters: number;
  readonly steps: number;
  /** Mean loss of the last batch, in nats per token. */
  readonly loss: number;
}

/** Trains a GPT-2-shaped model on the training tokens. An interrupted run goes on from its newest checkpoint. */
export const trainStep = defineStep({
  name: "train",
  version: 1,
  resumable: true,
  // Not logEvery: it decides which points the artifact's curve has.
  executionOnly: [
    "threads", "evaluateEvery", "checkpointEvery", "keepCheckpoints", "saveIntervalSeconds", "keepTemporaryCheckpoints", "temporaryCheckpointDirectory", "trackers", "peakFlops",
  ],
  runRecords: ["metrics.jsonl", "tensorboard/events.out.tfevents"],
  resources: (config: TrainConfig) => computeResources(config),
  async run(context: StepContext<TrainConfig, { tokens: TokensResult }>): Promise<TrainedModel> {
    const { config, inputs, directory, signal, log } = context;
    const { model: shape, ...trainerConfig } = config;
    const tokens = await TokenStore.open(tokensPath(inputs.tokens, "train"));
    const validation = config.evaluateEvery > 0 ? await TokenStore.open(tokensPath(inputs.tokens, "validation")) : undefined;
    const modelConfig = { ...shape, vocabSize: tokens.vocabSize };
    const model = gpt2(modelConfig);
    const parameters = countParameters(model);
    const result = await asWorker(config, log, async (engine, warnings) => {
      log(`${millions(parameters)} parameters, ${millions(tokens.tokenCount)} training tokens, ${engine.description}`);
      const trainer = new Trainer({ ...trainerConfig, sequenceLength: shape.sequenceLength }, { engine, log: warnings });
      let first = true;
      const onStep = ({ step }: StepInfo): void => {
        if (first && step > 1) log(`continues after step ${step - 1}`);
        first = false;
      };
      // The trainer reports each step to the task's context itself.
      return trainer.train({ model, tokens, validation, directory, signal, onStep });
    });
    await keepOnly(result.checkpoint);
    await writeLossCurve(directory, config);
    return { model: modelConfig, checkpoint: `checkpoints/${basename(result.checkpoint)}`, parameters, steps: result.step, loss: result.loss };
  },
});

/** Joins training as the context's worker, has `use` train with its engine, and leaves. */
async function asWorker<T>(config: ComputeConfig, log: (message: string) => void, use: (engine: Engine, warnings: Logger) => Promise<T>): Promise<T> {
  const warnings = createLogger({ write: (line) => { log(line.trimEnd()); } });
  const worker = await joinDistributed({ ...config, log: warnings });
  try {
    return await use(worker.engine, warnings);
  } finally {
    await worker.leave();
  }
}

/** Model and checkpoint directory of a trained artifact. */
export function trainedModel({ directory, result }: Artifact<TrainedModel>): { model: LanguageModel; checkpoint: string } {
  return { model: gpt2(result.model), checkpoint: join(directory, result.checkpoint) };
}

/** Deletes earlier checkpoints, so that how often they were written leaves no trace in the artifact. */
async function keepOnly(checkpoint: string): Promise<void> {
  const root = dirname(checkpoint);
  for (const name of await readdir(root)) {
    if (name !== basename(checkpoint)) await rm(join(root, name), { recursive: true });
  }
}

function countParameters(model: LanguageModel): number {
  return Object.values(model.parameters).reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
}

function millions(count: number): string {
  return count < 1e5 ? count.toLocaleString("en-US") : `${(count / 1e6).toFixed(1)} M`;
}
