import * as tf from "@tensorflow/tfjs-core";
import { defineOperator, type Operator } from "../operator.js";
import { elementCount } from "../shape.js";

/** Cosine and sine of each position's angles, float32 [T,K/2]. */
export interface RotaryTables {
  readonly cosine: tf.Tensor;
  readonly sine: tf.Tensor;
}

/** Positions of the fine table; whole multiples of it have a table of their own, so that no table grows with T·K. */
const FINE = 256;

/**
 * The tables for positions 0..T−1. Angles are computed in float64. Beyond 256 positions they are sums of two angles, by the addition theorems; a position's
 * values do not depend on T.
 *
 * @param length - T
 * @param frequencies - K/2 angles per position, in radians
 */
export function rotaryTables(length: number, frequencies: readonly number[]): RotaryTables {
  const rows = Math.min(length, FINE);
  const fine = anglesAt(rows, 1, frequencies);
  if (length <= FINE) return fine;
  const blocks = Math.ceil(length / FINE);
  const coarse = anglesAt(blocks, FINE, frequencies);
  const half = frequencies.length;
  const [cosine, sine] = [tf.reshape(coarse.cosine, [blocks, 1, half]), tf.reshape(coarse.sine, [blocks, 1, half])];
  const flat = (x: tf.Tensor): tf.Tensor => tf.slice(tf.reshape(x, [blocks * FINE, half]), [0, 0], [length, half]);
  return {
    cosine: flat(tf.sub(tf.mul(cosine, fine.cosine), tf.mul(sine, fine.sine))),
    sine: flat(tf.add(tf.mul(sine, fine.cosine), tf.mul(cosine, fine.sine))),
  };
}

function anglesAt(rows: number, stride: number, frequencies: readonly number[]): RotaryTables {
  const shape: [number, number] = [rows, frequencies.length];
  const table = (of: (angle: number) => number): tf.Tensor =>
    tf.tensor2d(Float32Array.from({ length: rows * frequencies.length }, (_unused, at) => of(Math.floor(at / shape[1]) * stride * (frequencies[at % shape[1]] as number))), shape);
  return { cosine: table(Math.cos), sine: table(Math.sin) };
}

/** Turns each head's pairs by the angles of the tables. The gradient turns back. */
const turned: Operator<readonly ["x", "cosine", "sine"], { heads: number }> = defineOperator({
  name: "rotary",
  inputs: ["x", "cosine", "sine"],
  attributes: { heads: 1 },
  differentiable: ["x"],
  shape: ({ x }) => x,
  composed: ({ x, cosine, sine }, { heads }) => {
    const [batch, length, width] = x.shape as [number, number, number];
    const half = width / heads / 2;
    const [first, second] = tf.split(tf.reshape(x, [batch, length, heads, 2 * half]), 2, -1) as [tf.Tensor, tf.Tensor];
    const [cos, sin] = [tf.reshape(cosine, [length, 1, half]), tf.reshape(sine, [length, 1, half])];
    const halves = [tf.sub(tf.mul(first, cos), tf.mul(second, sin)), tf.add(tf.mul(second, cos), tf.mul(first, sin))];
    return tf.reshape(tf.concat(halves, -1), [batch, length, width]);
  },
  // Position 0 stands for 0..T−1.
  lower: ({ onnx, inputs }) => onnx.node("RotaryEmbedding", [inputs.x, onnx.int64([0]), inputs.cosine, inputs.sine], {}, "com.microsoft"),
  gradient: ({ dy, inputs: { cosine, sine }, attributes: { heads } }) => ({ x: turned(dy, cosine, tf.neg(sine), { heads }) }),
  flops: ({ x }) => 3 * elementCount(x.shape),
});

/**
 * Rotary position embedding (Su et al., arXiv:2104.09864, eq. 34, with the pairs (i, i + K/2) as in Hugging Face's Llama): each pair of a head's elements is
 * turned by its position's angle.
 *
 * @param x - float32 [B,T,H·K]
 * @param heads - H
 * @param tables - of {@link rotaryTables} for T
 * @returns float32 [B,T,H·K]
 */
export function rotary(x: tf.Tensor, heads: number, { cosine, sine }: RotaryTables): tf.Tensor {
  return turned(x, cosine, sine, { heads });
}
