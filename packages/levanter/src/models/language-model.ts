import * as tf from "@tensorflow/tfjs-core";
import type { Specs, TensorFunction } from "../engine/types.js";
import type { DropoutSite } from "../rng/dropout.js";
import type { RandomKey } from "../rng/random-key.js";
import type { TransformerShape } from "./flops.js";

/** Sizes of the rows that a function computes at once. */
export interface RowShape {
  /** B, rows. */
  readonly batchSize: number;
  /** T, tokens of a row. */
  readonly sequenceLength: number;
}

/** What a model's training minimises instead of its loss: dropout, z-loss. */
export interface Regularization {
  /** The inputs of the model's `loss` and the masks of {@link Regularization.specs} to `{ lossSum }`: the scalar whose gradient is followed. */
  readonly loss: TensorFunction;
  /** The places that drop activations, for `dropoutMasks`; none where only the loss differs. */
  sites(rows: RowShape): Readonly<Record<string, DropoutSite>>;
  /** The masks as inputs: `dropout/<site>`, float32. */
  specs(rows: RowShape): Specs;
}

/** A causal language model: named parameters, and functions over them that every engine runs. Shapes: B batch, T time, D model, V vocabulary. */
export interface LanguageModel {
  /** Architecture, as `model.type` in a configuration and in checkpoints: `"gpt2"`. */
  readonly type: string;
  /** The configuration it was built from; recorded in checkpoints, compared on resume. */
  readonly config: Readonly<Record<string, number | string | boolean>>;
  readonly vocabSize: number;
  /** Longest T that the model accepts, in tokens. */
  readonly maxSequenceLength: number;
  /** What its floating-point operations are counted from (`forwardFlopsPerToken`); absent where nobody counts them. */
  readonly transformer?: TransformerShape;
  /** Parameters by name, float32, in checkpoint order. */
  readonly parameters: Specs;
  /** True when decoupled weight decay applies to the parameter: products' weights, not embeddings, layer norms and biases. */
  isDecayed(parameter: string): boolean;
  /** Initial values, a pure function of the key. */
  initialize(key: RandomKey): Record<string, Float32Array>;
  /** Every parameter, `tokens` int32 [B,T], `targets` int32 [B,T], `weights` float32 [B,T] to `{ lossSum }`: the scalar Σ weight · −ln p(target), in nats. */
  readonly loss: TensorFunction;
  /** Every parameter and `tokens` int32 [B,T] to `{ logits }` float32 [B,T,V]. */
  readonly logits: TensorFunction;
  /** What training minimises where it isn't `loss`. */
  readonly regularization?: Regularization;
}

/** Name under which `lossAndGradients` returns the gradient of a parameter. */
export function gradientName(parameter: string): string {
  return `grad/${parameter}`;
}

/**
 * The function a training step compiles: the inputs of `model.loss`, or of the `regularization.loss` that takes its place, to `{ lossSum, "grad/<parameter>": ... }`, each
 * gradient that of `lossSum` with the parameter's shape. Weights are not normalised here: summing gradients over microbatches and dividing once by Σ weight equals the full batch.
 */
export function lossAndGradients(model: LanguageModel): TensorFunction {
  const names = Object.keys(model.parameters);
  return (inputs) => {
    const parameters = names.map((name) => {
      const tensor = inputs[name];
      if (tensor === undefined) throw new TypeError(`lossAndGradients: input "${name}" is missing`);
      return tensor;
    });
    const lossOf = (...values: tf.Tensor[]): tf.Scalar => {
      const named: Record<string, tf.Tensor> = { ...inputs };
      names.forEach((name, index) => {
        named[name] = values[index] as tf.Tensor;
      });
      return (model.regularization ?? model).loss(named)["lossSum"] as tf.Scalar;
    };
    const { value, grads } = tf.valueAndGrads(lossOf)(parameters);
    const result: Record<string, tf.Tensor> = { lossSum: value };
    names.forEach((name, index) => {
      result[gradientName(name)] = grads[index] as tf.Tensor;
    });
    return result;
  };
}
