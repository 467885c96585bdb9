import * as tf from "@tensorflow/tfjs-core";

/** Values kept softly within ±cap: cap · tanh(x / cap) (Gemma 2, arXiv:2408.00118, section 2). A cap of 0 leaves them as they are. */
export function softCap(x: tf.Tensor, cap: number): tf.Tensor {
  return cap === 0 ? x : tf.mul(tf.tanh(tf.mul(x, 1 / cap)), cap);
}

/** The derivative of {@link softCap} at a point, given its value there: 1 − (value / cap)². */
export function softCapSlope(value: tf.Tensor, cap: number): tf.Tensor {
  return tf.sub(1, tf.square(tf.mul(value, 1 / cap)));
}
