import * as tf from "@tensorflow/tfjs-core";

/**
 * Product with a weight stored as Hugging Face's `Linear` stores it, x wᵀ. Transposes are explicit, as in `linear`: the compiled engine folds them into its products.
 *
 * @param x - float32 [N,D]
 * @param weight - float32 [M,D], one row an output
 * @returns float32 [N,M]
 */
export function projection(x: tf.Tensor, weight: tf.Tensor): tf.Tensor2D {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, matrix, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    save([input, matrix]);
    return { value: tf.matMul(input, tf.transpose(matrix)), gradFunc: projectionGradients };
  });
  return op(x, weight) as tf.Tensor2D;
}

function projectionGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [x, weight] = saved as [tf.Tensor, tf.Tensor];
  return [tf.matMul(dy, weight), tf.matMul(tf.transpose(dy), x)];
}
