import { z } from "zod";
import type { BatchSize } from "../data/batch-schedule.js";
import { scheduleSchema, type DecayShapeInput } from "./decay-shapes.js";
import { learningRateSchedule, type LearningRateSchedule } from "./learning-rate.js";

const stage = z
  .number()
  .nonnegative()
  .refine((value) => value <= 1 || Number.isInteger(value), "must be a fraction from 0 to 1 or a whole number of steps");
const positive = z.int().positive();

/** Options that a run's learning rate follows from. */
export const scheduleFields = {
  learningRate: z.number().nonnegative().default(6e-4).describe("peak learning rate, after warm-up"),
  warmup: stage.default(0.01).describe("warm-up from rate 0: a fraction of the first cycle up to 1, or a number of steps"),
  decay: stage.optional().describe("decay at the end of each cycle: a fraction of the cycle up to 1, or a number of steps. Default: all that warm-up leaves"),
  schedule: scheduleSchema.default("cosine").describe("form of the decay: its name, or { shape: its name } with its parameters"),
  minLearningRateRatio: z.number().min(0).max(1).default(0.1).describe("the decay ends at this fraction of the peak, 0 to 1"),
  cycles: z.union([positive, z.array(positive).min(1)]).optional().describe("number of equal cycles of warm-up and decay, or the steps at which they end. Default: 1"),
  cycleLength: z
    .union([z.number().positive().refine((value) => value <= 1 || Number.isInteger(value), "must be a fraction of the run up to 1, or a whole number of steps"), z.array(positive).min(1)])
    .optional()
    .describe("instead of cycles: length of each, a fraction of the run up to 1 or a number of steps, the last one longer by the remainder; or a list of lengths in steps"),
  rewarmup: stage.optional().describe("warm-up of later cycles, from the rate before it: a fraction of the cycle up to 1, or a number of steps. Default: 0, a jump to the peak"),
};

/** Options of the optimizer: AdamW, clipping, weight decay, skipped steps, averaged parameters. */
export const optimizerFields = {
  weightDecay: z.number().nonnegative().default(0.1).describe("decoupled weight decay; which parameters are decayed is the model's rule, or weightDecayModules'"),
  weightDecayModules: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .optional()
    .describe("decays these instead: a regular expression that matches from the beginning of a parameter's name, or parts of names. Default: the model's rule (products' weights; not embeddings, norms and biases)"),
  defaultWeightDecayMask: z.boolean().default(false).describe("true: decays what the model's rule names as well as what weightDecayModules names"),
  adamcWeightDecay: z.boolean().default(false).describe("true: weight decay is multiplied by learning rate / peak (AdamC)"),
  beta1: z.number().min(0).lt(1).default(0.9).describe("AdamW's decay rate of the averaged gradient, 0 to below 1"),
  beta2: z.number().min(0).lt(1).default(0.95).describe("AdamW's decay rate of the averaged squared gradient, 0 to below 1"),
  epsilon: z.number().positive().default(1e-8).describe("added to the root of AdamW's second moment"),
  maxGradientNorm: z.number().nonnegative().default(1).describe("gradients of a larger global norm are scaled down to it; 0: never"),
  skipBadSteps: z
    .union([
      z.boolean(),
      z.strictObject({
        rollingLength: z.int().min(2).default(128).describe("steps whose loss and gradient norm are remembered"),
        sigmaFactor: z.number().positive().default(6).describe("standard deviations above the mean from which a step is bad"),
      }),
    ])
    .default(false)
    .describe("true: a step whose loss or gradient norm is an outlier (6 standard deviations above the mean of the last 128) changes nothing"),
  emaBeta: z.number().min(0).lt(1).optional().describe("keeps an exponential moving average of the parameters, of which each step keeps this share; evaluated besides them. Default: none"),
};

/** The options that {@link learningRateOf} reads: those of `scheduleFields`, and the sizes of the run. */
export interface LearningRateOptions extends Omit<LearningRateSchedule, "peak" | "minRatio" | "shape" | "batchSize"> {
  readonly learningRate: number;
  readonly schedule: DecayShapeInput;
  readonly minLearningRateRatio: number;
  readonly batchSize?: BatchSize | undefined;
}

/** The learning rate that a trainer's options ask for, as a function of the steps already taken. Throws `LEVANTER_CONFIG` where they do not fit together. */
export function learningRateOf({ learningRate, schedule, minLearningRateRatio, batchSize, ...rest }: LearningRateOptions): (step: number) => number {
  return learningRateSchedule({
    ...rest,
    peak: learningRate,
    shape: schedule,
    minRatio: minLearningRateRatio,
    // Only `power` asks for it, and it knows one size.
    batchSize: typeof batchSize === "number" ? batchSize : undefined,
  });
}
