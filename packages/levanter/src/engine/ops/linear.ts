import * as tf from "@tensorflow/tfjs-core";

/**
 * Affine map `x w + b`. The gradient transposes explicitly: the compiled engine folds that into its products, and the wasm backend
 * multiplies ten times faster so than with transpose flags.
 *
 * @param x - float32 [N,K]
 * @param w - float32 [K,M]
 * @param b - float32 [M], or nothing
 * @returns float32 [N,M]
 */
export function linear(x: tf.Tensor, w: tf.Tensor, b?: tf.Tensor): tf.Tensor2D {
  const gradients = (dy: tf.Tensor): tf.Tensor[] => [
    tf.matMul(dy, tf.transpose(w)), tf.matMul(tf.transpose(x), dy), ...(b === undefined ? [] : [tf.sum(dy, 0)]),
  ];
  const inputs = b === undefined ? [x, w] : [x, w, b];
  const affine = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, weight, bias] = args as tf.Tensor[];
    const product = tf.matMul(input as tf.Tensor, weight as tf.Tensor);
    return { value: b === undefined ? product : tf.add(product, bias as tf.Tensor), gradFunc: gradients };
  });
  return affine(...inputs) as tf.Tensor2D;
}
