import * as tf from "@tensorflow/tfjs-core";

/** What is added to the score of a position that may not be attended to: its weight becomes 0 in float32. */
const MASKED = -1e9;

/**
 * Causal scaled dot-product attention (Vaswani et al., arXiv:1706.03762, eq. 1): softmax(q kᵀ / √K + mask) v; position t attends to 0..t.
 *
 * The gradient needs Σ dP·P over each row of weights P; that equals Σ dO·O over the head's outputs (Dao et al., arXiv:2205.14135, appendix B.4),
 * which is T/K times less work.
 *
 * @param q - float32 [B,H,R·T,K]: R times T queries, one T after the other, that share keys and values; R is 1 without grouping
 * @param k - float32 [B,H,T,K]
 * @param v - float32 [B,H,T,K]
 * @returns float32 [B,H,R·T,K]
 */
export function causalAttention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor {
  const scale = 1 / Math.sqrt(q.shape.at(-1) as number);
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [query, key, value, save] = args as [tf.Tensor, tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const scores = tf.mul(tf.matMul(query, transposeLast(key)), scale);
    const weights = tf.softmax(tf.add(scores, causalMask(query.shape[2] as number, key.shape[2] as number)));
    const output = tf.matMul(weights, value);
    save([query, key, value, weights, output]);
    return { value: output, gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => attentionGradients(dy, saved, scale) };
  });
  return op(q, k, v);
}

function attentionGradients(dy: tf.Tensor, saved: tf.Tensor[], scale: number): tf.Tensor[] {
  const [q, k, v, weights, output] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const dWeights = tf.matMul(dy, transposeLast(v));
  const dScores = tf.mul(weights, tf.sub(dWeights, tf.sum(tf.mul(dy, output), -1, true)));
  return [
    tf.mul(tf.matMul(dScores, k), scale), tf.mul(tf.matMul(transposeLast(dScores), q), scale), tf.matMul(transposeLast(weights), dy),
  ];
}

/** float32 [R·T,T]: 0 on and below the diagonal of each T rows, `MASKED` above. Built from ranges: no constant of T² elements enters the graph. */
function causalMask(rows: number, length: number): tf.Tensor2D {
  const positions = tf.range(0, length, 1, "int32");
  const queries = tf.tile(tf.expandDims(positions, 1), [rows / length, 1]);
  return tf.mul(tf.cast(tf.greater(tf.expandDims(positions, 0), queries), "float32"), MASKED);
}

function transposeLast(x: tf.Tensor): tf.Tensor {
  return tf.transpose(x, [0, 1, 3, 2]);
}
