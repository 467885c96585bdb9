import * as tf from "@tensorflow/tfjs-core";
import { causalAttention } from "./attention.js";

/**
 * Causal attention in which several heads of queries share one head of keys and values (Ainslie et al., arXiv:2305.13245): heads h·R to h·R + R − 1 share number h,
 * with R = H/G. The queries of a group are the rows of one product, so that keys and values are never repeated.
 *
 * @param q - float32 [B,H,T,K]
 * @param k - float32 [B,G,T,K], G a divisor of H
 * @param v - float32 [B,G,T,K]
 * @returns float32 [B,H,T,K]
 */
export function groupedAttention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor {
  const [batch, heads, length, size] = q.shape as [number, number, number, number];
  const groups = k.shape[1] as number;
  const rows = tf.reshape(q, [batch, groups, (heads / groups) * length, size]);
  return tf.reshape(causalAttention(rows, k, v), [batch, heads, length, size]);
}
