import { z } from "zod";
import { longestSequence, modelConfigSchema } from "./models/model-config.js";
import { parseConfig } from "./parse-config.js";

const positive = z.int().positive();
const cadence = z.int().nonnegative();
const stage = z.number().nonnegative().refine((value) => value <= 1 || Number.isInteger(value), "must be a fraction from 0 to 1 or a whole number of steps");

const optionFields = {
  steps: positive.default(1000).describe("updates to make"),
  batchSize: positive.default(8).describe("sequences per update"),
  microbatchSize: positive.optional().describe("sequences computed at once; divides batchSize; gradients are summed. Default: batchSize"),
  sequenceLength: positive.default(128).describe("tokens per sequence, at most the model's longest"),
  learningRate: z.number().nonnegative().default(6e-4).describe("peak learning rate, after warm-up"),
  warmup: stage.default(0.01).describe("warm-up from rate 0: a fraction of the run up to 1, or a number of steps"),
  decay: stage.optional().describe("decay at the end: a fraction of the run up to 1, or a number of steps. Default: all that warm-up leaves"),
  schedule: z.enum(["cosine", "linear", "constant"]).default("cosine").describe("form of the decay"),
  minLearningRateRatio: z.number().min(0).max(1).default(0.1).describe("the decay ends at this fraction of the peak, 0 to 1"),
  weightDecay: z.number().nonnegative().default(0.1).describe("decoupled weight decay of products' weights; embeddings, norms and biases are not decayed"),
  beta1: z.number().min(0).lt(1).default(0.9).describe("AdamW's decay rate of the averaged gradient, 0 to below 1"),
  beta2: z.number().min(0).lt(1).default(0.95).describe("AdamW's decay rate of the averaged squared gradient, 0 to below 1"),
  epsilon: z.number().positive().default(1e-8).describe("added to the root of AdamW's second moment"),
  maxGradientNorm: z.number().nonnegative().default(1).describe("gradients of a larger global norm are scaled down to it; 0: never"),
  seed: z.int().nonnegative().default(0).describe("names the initial weights and the order of the data, 0 to 2^53 - 1"),
  evaluateEvery: cadence.default(1000).describe("steps between validations; 0: at the end only"),
  checkpointEvery: cadence.default(1000).describe("steps between checkpoints; 0: at the end only"),
  keepCheckpoints: positive.default(2).describe("newest checkpoints kept, at least 1"),
  logEvery: positive.default(1).describe("steps between lines of metrics.jsonl"),
  engine: z.enum(["auto", "onnx", "tfjs-node-gpu", "tfjs-node", "wasm", "cpu"]).default("auto").describe("what computes; auto: the fastest that works"),
  threads: cadence.default(0).describe("threads that compute; 0: one for each available core"),
};

/** What is trained, by what, on what: beside the options, for whoever starts a run from its configuration alone. */
const subjectFields = {
  model: modelConfigSchema.optional().describe("the model: a shape by name, or its fields. Default: whoever calls the trainer brings one"),
  optimizer: z.enum(["adamw"]).optional().describe("what turns gradients into updates. Default: adamw"),
  dataset: z.string().min(1).optional().describe("directory of the token store to train on. Default: whoever calls the trainer brings one"),
};

function dividesBatch({ batchSize, microbatchSize }: { readonly batchSize: number; readonly microbatchSize?: number | undefined }): boolean {
  return microbatchSize === undefined || batchSize % microbatchSize === 0;
}

const dividing = { path: ["microbatchSize"], message: "must divide batchSize" };

/** A trainer's options. Everything but the cadences, the engine and the thread count decides the result's bits. */
export const trainerConfigSchema = z.strictObject(optionFields).refine(dividesBatch, dividing);

/** All that a {@link Trainer} can be made from: {@link trainerConfigSchema}'s options, and the model, optimizer and dataset by name. */
export const trainingConfigSchema = z.strictObject({ ...optionFields, ...subjectFields }).refine(dividesBatch, dividing);

/** Validated options of a {@link Trainer}, and what they name. */
export type TrainerConfig = z.output<typeof trainingConfigSchema>;

/** What a {@link Trainer} is made from, as it is written: everything has a default. */
export type TrainerConfigInput = z.input<typeof trainingConfigSchema>;

/**
 * Validates what a trainer is made from. Where a model is named and no `sequenceLength` is given, sequences are as long as the model takes.
 *
 * @throws MarinError LEVANTER_CONFIG naming each field that is unknown or out of range
 */
export function parseTrainerConfig(config: TrainerConfigInput): TrainerConfig {
  const parsed = parseConfig("the trainer's configuration", trainingConfigSchema, config);
  return config.sequenceLength === undefined && parsed.model !== undefined ? { ...parsed, sequenceLength: longestSequence(parsed.model) } : parsed;
}
