import * as tf from "@tensorflow/tfjs-core";

/**
 * Root-mean-square normalization over the last axis (Zhang & Sennrich, arXiv:1910.07467, eq. 4): x / √(mean(x²) + ε) · γ.
 *
 * @param x - float32 [N,D]
 * @param gamma - float32 [D]
 * @param epsilon - added to the mean square
 * @returns float32 [N,D]
 */
export function rmsNorm(x: tf.Tensor, gamma: tf.Tensor, epsilon: number): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, scale, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const inverse = tf.rsqrt(tf.add(tf.mean(tf.square(input), -1, true), epsilon));
    save([input, scale, inverse]);
    return { value: tf.mul(tf.mul(input, inverse), scale), gradFunc: rmsNormGradients };
  });
  return op(x, gamma);
}

/** With x̂ the normalized input and g = dy·γ: dx = (g − x̂·mean(g·x̂)) / √(mean(x²) + ε), dγ = Σ dy·x̂. */
function rmsNormGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [x, gamma, inverse] = saved as [tf.Tensor, tf.Tensor, tf.Tensor];
  const normalized = tf.mul(x, inverse);
  const g = tf.mul(dy, gamma);
  const projected = tf.mul(normalized, tf.mean(tf.mul(g, normalized), -1, true));
  return [tf.mul(tf.sub(g, projected), inverse), tf.sum(tf.mul(dy, normalized), 0)];
}
