import * as tf from "@tensorflow/tfjs-core";

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

/**
 * Rotary position embedding (Su et al., arXiv:2104.09864, eq. 34, with the pairs (i, i + K/2) as in Hugging Face's Llama): each pair of a head's elements is
 * turned by its position's angle. The gradient turns back.
 *
 * @param x - float32 [B,T,H·K]
 * @param heads - H
 * @param tables - of {@link rotaryTables} for T
 * @returns float32 [B,T,H·K]
 */
export function rotary(x: tf.Tensor, heads: number, tables: RotaryTables): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, save] = args as [tf.Tensor, tf.GradSaveFunc];
    save([tables.cosine, tables.sine]);
    return {
      value: turned(input, heads, tables.cosine, tables.sine),
      gradFunc: (dy: tf.Tensor, [cosine, sine]: tf.Tensor[]) => turned(dy, heads, cosine as tf.Tensor, tf.neg(sine as tf.Tensor)),
    };
  });
  return op(x);
}

function turned(x: tf.Tensor, heads: number, cosine: tf.Tensor, sine: tf.Tensor): tf.Tensor {
  const [batch, length, width] = x.shape as [number, number, number];
  const half = width / heads / 2;
  const [first, second] = tf.split(tf.reshape(x, [batch, length, heads, 2 * half]), 2, -1) as [tf.Tensor, tf.Tensor];
  const [cos, sin] = [tf.reshape(cosine, [length, 1, half]), tf.reshape(sine, [length, 1, half])];
  const halves = [tf.sub(tf.mul(first, cos), tf.mul(second, sin)), tf.add(tf.mul(second, cos), tf.mul(first, sin))];
  return tf.reshape(tf.concat(halves, -1), [batch, length, width]);
}
