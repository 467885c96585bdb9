import * as tf from "@tensorflow/tfjs-core";
import { primitive } from "./primitive.js";

/**
 * Layer normalization over the last axis (Ba et al., arXiv:1607.06450): (x − mean) / √(variance + ε) · γ + β, with the biased variance.
 *
 * @param x - float32 [N,D]
 * @param gamma - float32 [D]
 * @param beta - float32 [D]
 * @param epsilon - added to the variance
 */
export function layerNorm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: number): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, scale, shift, save] = args as [tf.Tensor, tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const [value, mean, inverse] = normalize(input, scale, shift, epsilon) as [tf.Tensor, tf.Tensor, tf.Tensor];
    save([input, scale, mean, inverse]);
    return { value, gradFunc: layerNormGradients };
  });
  return op(x, gamma, beta);
}

function normalize(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: number): tf.Tensor[] {
  return primitive("LayerNorm", { x, gamma, beta }, { epsilon }, () => {
    const mean = tf.mean(x, -1, true);
    const centred = tf.sub(x, mean);
    const inverse = tf.rsqrt(tf.add(tf.mean(tf.square(centred), -1, true), epsilon));
    return [tf.add(tf.mul(tf.mul(centred, inverse), gamma), beta), mean, inverse];
  });
}

/** With x̂ the normalized input and g = dy·γ: dx = (g − mean(g) − x̂·mean(g·x̂)) / σ, dγ = Σ dy·x̂, dβ = Σ dy. */
function layerNormGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [x, gamma, mean, inverse] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const normalized = tf.mul(tf.sub(x, mean), inverse);
  const outer = tf.mul(dy, normalized);
  const g = tf.mul(dy, gamma);
  const projected = tf.mul(normalized, tf.mean(tf.mul(g, normalized), -1, true));
  const dx = tf.mul(tf.sub(tf.sub(g, tf.mean(g, -1, true)), projected), inverse);
  return [dx, tf.sum(outer, 0), tf.sum(dy, 0)];
}
