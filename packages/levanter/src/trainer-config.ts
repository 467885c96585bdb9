import { z } from "zod";
import { batchSchedule, batchSizeSchema, type BatchSize } from "./data/batch-schedule.js";
import { mixtureSchema } from "./data/mixture-plan.js";
import { longestSequence, modelConfigSchema } from "./models/model-config.js";
import { optimizerFields, scheduleFields } from "./optim/optimizer-config.js";
import { parseConfig } from "./parse-config.js";

const positive = z.int().positive();
const cadence = z.int().nonnegative();

const permanentPolicies = z
  .array(z.strictObject({ every: positive.describe("steps between checkpoints"), until: positive.optional().describe("last step that this speaks for; the last one may leave it out") }))
  .min(1);

const optionFields = {
  steps: positive.default(1000).describe("updates to make"),
  batchSize: batchSizeSchema.default(8).describe("sequences per update: a number, or stages { start, value } that each begin after start steps"),
  microbatchSize: positive.optional().describe("sequences computed at once; divides batchSize; gradients are summed. Default: batchSize, or what divides each of its stages"),
  sequenceLength: positive.default(128).describe("tokens per sequence, at most the model's longest"),
  ...scheduleFields,
  ...optimizerFields,
  seed: z.int().nonnegative().default(0).describe("names the initial weights and the order of the data, 0 to 2^53 - 1"),
  evaluateEvery: cadence.default(1000).describe("steps between validations; 0: at the end only"),
  checkpointEvery: z.union([cadence, permanentPolicies]).default(1000).describe("steps between checkpoints, 0: at the end only; or a list of { every, until }, each from where the one before ends"),
  keepCheckpoints: positive.default(2).describe("newest checkpoints kept, at least 1; temporary ones do not count"),
  saveIntervalSeconds: z.number().nonnegative().optional().describe("seconds since the last checkpoint after which a temporary one is written; 0: never. Default: 900"),
  keepTemporaryCheckpoints: positive.optional().describe("newest temporary checkpoints kept until the next permanent one. Default: 1"),
  temporaryCheckpointDirectory: z.string().min(1).optional().describe("directory of this run's temporary checkpoints, on another disk for instance. Default: that of the others"),
  logEvery: positive.default(1).describe("steps between lines of metrics.jsonl, and between what trackers are given"),
  trackers: z.array(z.enum(["tensorboard"])).optional().describe("where measurements go besides metrics.jsonl; tensorboard: event files in the run's directory"),
  peakFlops: z
    .union([z.number().positive(), z.literal("measure")])
    .optional()
    .describe("peak in FLOP/s that utilization (mfu) is told against; measure: that of the engine's own matrix product, which takes a second. Default: the GPU's, where it is known; the CPU has none"),
  engine: z.enum(["auto", "onnx", "tfjs-node-gpu", "tfjs-node", "wasm", "cpu"]).default("auto").describe("what computes; auto: the fastest that works"),
  device: z.enum(["auto", "cpu", "webgpu", "cuda"]).default("auto").describe("where it computes; auto: the CPU, or CUDA where tfjs-node-gpu is installed and sees a GPU"),
  precision: z.enum(["float32", "float16"]).optional().describe("in what matrix products compute; float16: on devices that have such products. Default: float32"),
  threads: cadence.default(0).describe("threads that compute; 0: one for each available core"),
};

/** What is trained, by what, on what: beside the options, for whoever starts a run from its configuration alone. */
const subjectFields = {
  model: modelConfigSchema.optional().describe("the model: a shape by name, or its fields. Default: whoever calls the trainer brings one"),
  optimizer: z.enum(["adamw"]).optional().describe("what turns gradients into updates. Default: adamw"),
  dataset: z.string().min(1).optional().describe("directory of the token store to train on. Default: whoever calls the trainer brings one"),
  mixture: mixtureSchema.optional().describe("instead of dataset: several token stores, and each one's share of the rows"),
};

/** Whether microbatches make up every batch of a configuration. */
export function microbatchesFit({ batchSize, microbatchSize }: { readonly batchSize: BatchSize; readonly microbatchSize?: number | undefined }): boolean {
  return microbatchSize === undefined || batchSchedule(batchSize).commonDivisor % microbatchSize === 0;
}

const fitting = { path: ["microbatchSize"], message: "must divide batchSize" };

/** A trainer's options. Everything but the cadences, the engine and the thread count decides the result's bits. */
export const trainerConfigSchema = z.strictObject(optionFields).refine(microbatchesFit, fitting);

/** All that a {@link Trainer} can be made from: {@link trainerConfigSchema}'s options, and the model, optimizer and dataset by name. */
export const trainingConfigSchema = z.strictObject({ ...optionFields, ...subjectFields }).refine(microbatchesFit, fitting);

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
