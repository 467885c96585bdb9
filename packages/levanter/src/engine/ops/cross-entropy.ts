import * as tf from "@tensorflow/tfjs-core";
import { scatterAddRows } from "./embedding.js";
import { primitive } from "./primitive.js";

/**
 * Weighted cross-entropy of a linear head, Σ weight · −ln softmax(h tableᵀ)[target], in nats.
 *
 * The gradient of the logits, weight · (softmax − onehot), is never formed: its two terms go through the head's products separately.
 * With P the softmax: dh = w·(P table − table[target]), dtable = Pᵀ(w·h) − scatter(target, w·h).
 *
 * @param h - float32 [N,D]
 * @param table - float32 [V,D]: the head's weights, one row a token
 * @param targets - int32 [N], each in 0..V−1
 * @param weights - float32 [N]; 0 leaves a position out
 * @returns float32 scalar
 */
export function linearCrossEntropy(h: tf.Tensor, table: tf.Tensor, targets: tf.Tensor, weights: tf.Tensor): tf.Scalar {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [hidden, head, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const logProbabilities = logSoftmax(tf.matMul(hidden, tf.transpose(head)));
    const value = tf.neg(tf.sum(tf.mul(gatherPerRow(logProbabilities, targets), weights)));
    save([hidden, head, logProbabilities, targets, weights]);
    return { value, gradFunc: headGradients };
  });
  return op(h, table) as tf.Scalar;
}

function headGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [hidden, head, logProbabilities, targets, weights] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const probabilities = tf.exp(logProbabilities);
  const scale = tf.expandDims(tf.mul(weights, dy), 1);
  const scaledHidden = tf.mul(hidden, scale);
  const dHidden = tf.mul(scale, tf.sub(tf.matMul(probabilities, head), tf.gather(head, targets)));
  const pulled = tf.matMul(tf.transpose(probabilities), scaledHidden);
  return [dHidden, tf.add(pulled, scatterAddRows(head.shape[0], targets, tf.neg(scaledHidden)))];
}

/** Logarithm of the softmax over the last axis of float32 [N,V]. */
function logSoftmax(logits: tf.Tensor): tf.Tensor {
  return primitive("LogSoftmax", { logits }, {}, () => {
    const shifted = tf.sub(logits, tf.max(logits, -1, true));
    return tf.sub(shifted, tf.log(tf.sum(tf.exp(shifted), -1, true)));
  });
}

/** The element of each row of x float32 [N,V] at its index, float32 [N]. */
function gatherPerRow(x: tf.Tensor, indices: tf.Tensor): tf.Tensor {
  return primitive("GatherPerRow", { x, indices }, {}, () => {
    const [rows, width] = x.shape as [number, number];
    return tf.gather(tf.reshape(x, [-1]), tf.add(tf.mul(tf.range(0, rows, 1, "int32"), tf.scalar(width, "int32")), indices));
  });
}
