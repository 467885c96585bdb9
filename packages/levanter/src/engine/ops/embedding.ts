import * as tf from "@tensorflow/tfjs-core";

/**
 * Looks up rows of a table. The gradient adds up the rows of equal indices in their order, so its bits do not depend on threads.
 *
 * @param table - float32 [V,D]
 * @param indices - int32 [N], each in 0..V−1
 * @returns float32 [N,D]
 */
export function embedding(table: tf.Tensor, indices: tf.Tensor): tf.Tensor2D {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [source, save] = args as [tf.Tensor, tf.GradSaveFunc];
    save([indices]);
    const rows = source.shape[0];
    return { value: tf.gather(source, indices), gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => scatterAddRows(rows, saved[0] as tf.Tensor, dy) };
  });
  return op(table) as tf.Tensor2D;
}

/**
 * A table of zeros with each update added to the row of its index.
 *
 * @param rows - R, the table's rows
 * @param indices - int32 [N]
 * @param updates - float32 [N,D]
 * @returns float32 [R,D]
 */
export function scatterAddRows(rows: number, indices: tf.Tensor, updates: tf.Tensor): tf.Tensor2D {
  const width = updates.shape[1] as number;
  if (tf.getKernel("ScatterAddRows", tf.getBackend()) !== undefined) {
    // Not tf.zeros, which makes an array of all its elements, only to be found uniform.
    const base = tf.fill([rows, width], 0);
    return tf.engine().runKernel<tf.Tensor2D>("ScatterAddRows", { base, indices, updates });
  }
  // The wasm backend has no segment sum: there the one-hot product does the same.
  if (tf.getKernel("UnsortedSegmentSum", tf.getBackend()) === undefined) {
    if (rows === 1) return tf.sum(updates, 0, true);
    return tf.matMul(tf.transpose(tf.cast(tf.oneHot(indices as tf.Tensor1D, rows), "float32")), updates);
  }
  return tf.unsortedSegmentSum(updates, indices as tf.Tensor1D, rows) as tf.Tensor2D;
}
