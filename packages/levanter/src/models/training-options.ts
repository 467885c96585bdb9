import * as tf from "@tensorflow/tfjs-core";
import { z } from "zod";
import { languageModelLoss } from "../engine/ops/language-model-loss.js";
import { softCap } from "../engine/ops/soft-cap.js";
import type { TensorFunction } from "../engine/types.js";
import { dropoutName, type DropoutSite } from "../rng/dropout.js";
import type { LanguageModel, RowShape } from "./language-model.js";
import { lookup, type Parameters } from "./parameters.js";

/** Fields that every model's configuration has: its loss, and what training adds. */
export const trainingFields = {
  dropout: z.number().min(0).lt(1).default(0).describe("probability that training drops an activation: of the embedding, of each attention's and each feed-forward network's output; 0 to below 1"),
  zLossWeight: z.number().nonnegative().default(0).describe("training adds this times (ln of the sum of exponentials of the logits)^2 to each token's loss; 1e-4 is common"),
  logitSoftCap: z.number().nonnegative().default(0).describe("logits are kept softly within plus and minus this bound; 0: no bound"),
  lossBlockSize: z.int().nonnegative().default(0).describe("tokens of the vocabulary whose logits the loss holds at a time: less memory for one product more; 0: all"),
  recompute: z.boolean().default(false).describe("true: the backward pass computes each block once more instead of keeping its activations; the same bits, less memory, a third more operations at most"),
};

/** The fields of {@link trainingFields}, with their defaults filled in. */
export type TrainingFields = { readonly [Field in keyof typeof trainingFields]: z.output<(typeof trainingFields)[Field]> };

/** Drops activations float32 [N,D] at a site while training; otherwise leaves them as they are. */
export type Drop = (x: tf.Tensor, site: string) => tf.Tensor;

/** What a model's functions are made from. */
export interface ModelBody {
  readonly options: TrainingFields;
  /** D. */
  readonly hiddenSize: number;
  /** Name of the head's parameter, float32 [V,D]. */
  readonly head: string;
  /** Places that drop activations. */
  readonly sites: readonly string[];
  /** tokens int32 [B,T] to what the head takes, float32 [N,D]. */
  readonly hidden: (parameter: Parameters, tokens: tf.Tensor, drop: Drop) => tf.Tensor;
}

/** A model's functions: loss and logits, and the loss that training minimises where it differs. */
export function modelFunctions({ options, hiddenSize, head, sites, hidden }: ModelBody): Pick<LanguageModel, "loss" | "logits" | "regularization"> {
  const lossWith = (zLossWeight: number, dropOf: (parameter: Parameters) => Drop): TensorFunction => (inputs) => {
    const parameter = lookup(inputs);
    const states = hidden(parameter, parameter("tokens"), dropOf(parameter));
    const flat = (name: string): tf.Tensor => tf.reshape(parameter(name), [-1]);
    return { lossSum: languageModelLoss(states, parameter(head), flat("targets"), flat("weights"), { ...options, zLossWeight }) };
  };
  const keep: Drop = (x) => x;
  const functions = {
    loss: lossWith(0, () => keep),
    logits: (inputs) => {
      const parameter = lookup(inputs);
      const tokens = parameter("tokens");
      const table = parameter(head);
      const logits = softCap(tf.matMul(hidden(parameter, tokens, keep), tf.transpose(table)), options.logitSoftCap);
      return { logits: tf.reshape(logits, [...tokens.shape, table.shape[0] as number]) };
    },
  } satisfies Pick<LanguageModel, "loss" | "logits">;
  const { dropout, zLossWeight } = options;
  if (dropout === 0 && zLossWeight === 0) return functions;
  const drop = (parameter: Parameters): Drop => (dropout === 0 ? keep : (x, site) => tf.mul(x, parameter(dropoutName(site))));
  const dropped = ({ batchSize, sequenceLength }: RowShape): Record<string, DropoutSite> =>
    Object.fromEntries((dropout === 0 ? [] : sites).map((site) => [site, { shape: [batchSize * sequenceLength, hiddenSize], rate: dropout }]));
  return {
    ...functions,
    regularization: {
      loss: lossWith(zLossWeight, drop),
      sites: dropped,
      specs: (rows) => Object.fromEntries(Object.entries(dropped(rows)).map(([site, { shape }]) => [dropoutName(site), { shape, dtype: "float32" }])),
    },
  };
}

/**
 * A configuration as checkpoints record it. What training adds appears only where it differs from its default, so that older checkpoints still fit; recomputation, which
 * changes no bit, never does.
 */
export function recordedConfig<T extends TrainingFields>(config: T): Omit<T, keyof TrainingFields> & Partial<TrainingFields> {
  const { dropout, zLossWeight, logitSoftCap, lossBlockSize, recompute: _recompute, ...rest } = config;
  const added = Object.entries({ dropout, zLossWeight, logitSoftCap, lossBlockSize }).filter(([, value]) => value !== 0);
  return { ...rest, ...(Object.fromEntries(added) as Partial<TrainingFields>) };
}
