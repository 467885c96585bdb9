import * as tf from "@tensorflow/tfjs-core";
import type { TensorFunction } from "../engine/types.js";

/** Element-wise `{ total, gradients }` to `{ total: total + gradients }`: adds a microbatch's gradients to those of the ones before. */
export const addGradients: TensorFunction = ({ total, gradients }) => {
  if (total === undefined || gradients === undefined) throw new TypeError("addGradients needs total and gradients");
  return { total: tf.add(total, gradients) };
};

/** `{ gradients }` to `{ value }`: the sum of squares, additive over pieces. */
export const sumOfSquares: TensorFunction = ({ gradients }) => {
  if (gradients === undefined) throw new TypeError("sumOfSquares needs gradients");
  return { value: tf.sum(tf.mul(gradients, gradients)) };
};

/**
 * The factor that brings a gradient of norm `norm` to at most `maxNorm`: min(1, maxNorm / (norm + 1e-6)), as `torch.nn.utils.clip_grad_norm_` has it.
 * `maxNorm` 0 means no clipping.
 */
export function clipFactor(norm: number, maxNorm: number): number {
  return maxNorm === 0 ? 1 : Math.min(1, maxNorm / (norm + 1e-6));
}
