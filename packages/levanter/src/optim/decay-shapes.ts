import { MarinError } from "@marin/iris";
import { z } from "zod";

/**
 * Forms that a learning rate's decay takes, with their parameters. P is the peak, m = minRatio·P, t the steps since the decay began, T its length,
 * w the steps of the warm-up before it.
 */
const decayShapeSchema = z.discriminatedUnion("shape", [
  z.strictObject({ shape: z.literal("constant").describe("P: no decay") }),
  z.strictObject({ shape: z.literal("linear").describe("a line from P to m") }),
  z.strictObject({
    shape: z.literal("cosine").describe("(P - m)·((1 + cos πt/T)/2)^exponent + m"),
    exponent: z.number().positive().default(1).describe("power of the half cosine, above 0"),
  }),
  z.strictObject({
    shape: z.literal("polynomial").describe("(P - m)·(1 - t/T)^power + m"),
    power: z.number().positive().default(2).describe("power of what is left of the decay, above 0"),
  }),
  z.strictObject({
    shape: z.literal("inv_sqrt").describe("P/√((t + w)/timescale), at most P, at least m"),
    timescale: z.number().positive().default(10_000).describe("steps until which the rate stays at the peak"),
  }),
  z.strictObject({ shape: z.literal("inv").describe("P/(1 + (1/minRatio - 1)·t/T), from P to m; t counts from 1") }),
  z.strictObject({
    shape: z.literal("inv_sqrt_decay").describe("P/√(1 + c·t/T), at least m"),
    c: z.number().nonnegative().default(28.6).describe("how far the rate falls: at the end to 1/√(1 + c)"),
  }),
  z.strictObject({
    shape: z.literal("power").describe("B·a·n^b after n = t·B·S tokens, B sequences of S tokens an update; at most P"),
    a: z.number().positive().default(4.6).describe("rate of one sequence after one token"),
    b: z.number().negative().default(-0.51).describe("power of the tokens seen, below 0"),
  }),
]);

/** A decay's form and its parameters, all given. */
export type DecayShape = z.output<typeof decayShapeSchema>;

/** Names of decay forms. */
export const DECAY_SHAPES = ["cosine", "linear", "constant", "polynomial", "inv_sqrt", "inv", "inv_sqrt_decay", "power"] as const satisfies readonly DecayShape["shape"][];

/** A decay's form as it is written: its name, or its name with parameters. */
export const scheduleSchema = z.union([z.enum(DECAY_SHAPES), decayShapeSchema], {
  error: `must be one of ${DECAY_SHAPES.join(", ")}, or { shape: one of them, and its parameters }`,
});

/** A decay's form as it is written: its name, or its name with parameters; what is left out has its default. */
export type DecayShapeInput = z.input<typeof scheduleSchema>;

/** What a decay is computed from, besides its form. */
export interface DecayContext {
  /** Learning rate at the decay's beginning, P. */
  readonly peak: number;
  /** Lowest rate as a fraction of the peak. */
  readonly minRatio: number;
  /** Sequences per update and tokens per sequence; for the form `power` alone. */
  readonly batchSize?: number | undefined;
  readonly sequenceLength?: number | undefined;
}

/** Rate at step `t` of a decay of `length` steps that follows a warm-up of `warmup` steps. */
export type Decay = (t: number, length: number, warmup: number) => number;

/**
 * The rate in a decay. The forms are those of Levanter's optimizer configurations; `power` is Shen et al., "Power Scheduler: A Batch Size and Token
 * Number Agnostic Learning Rate Scheduler", 2024. Throws `LEVANTER_CONFIG` for `inv` without a lowest rate, and for `power` without sizes.
 */
export function decayOf(input: DecayShapeInput, { peak, minRatio, batchSize, sequenceLength }: DecayContext): Decay {
  const shape = decayShapeSchema.parse(typeof input === "string" ? { shape: input } : input);
  const min = minRatio * peak;
  switch (shape.shape) {
    case "constant":
      return () => peak;
    case "linear":
      return (t, length) => peak * (1 - (1 - minRatio) * (t / length));
    case "cosine":
      return (t, length) => peak * ((1 - minRatio) * (0.5 * (1 + Math.cos((Math.PI * t) / length))) ** shape.exponent + minRatio);
    case "polynomial":
      return (t, length) => peak * ((1 - minRatio) * (1 - t / length) ** shape.power + minRatio);
    case "inv_sqrt":
      return (t, _, warmup) => Math.max(min, peak * Math.min(1, 1 / Math.sqrt(Math.max(t + warmup, 1) / shape.timescale)));
    case "inv":
      if (minRatio === 0) throw refused('the schedule "inv" falls to minLearningRateRatio times the peak, which must be above 0', { minRatio });
      return (t, length) => Math.max(min, peak * Math.min(1, 1 / ((1 / minRatio - 1) * (Math.max(t, 1) / length) + 1)));
    case "inv_sqrt_decay":
      return (t, length) => Math.max(min, peak / Math.sqrt(1 + shape.c * (t / length)));
    case "power": {
      if (batchSize === undefined || sequenceLength === undefined) {
        throw refused('the schedule "power" needs one batchSize for the whole run and a sequenceLength', { batchSize, sequenceLength });
      }
      return (t) => Math.min(peak, batchSize * shape.a * (t * batchSize * sequenceLength) ** shape.b);
    }
  }
}

function refused(message: string, data: Record<string, unknown>): MarinError {
  return new MarinError("LEVANTER_CONFIG", message, { data });
}
