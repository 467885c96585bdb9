import * as tf from "@tensorflow/tfjs-core";
import { primitive } from "./primitive.js";

const SCALE = Math.sqrt(2 / Math.PI);
const CUBIC = 0.044715;

/**
 * Gaussian error linear unit in its tanh form, ½x(1 + tanh(√(2/π)(x + 0.044715x³))) (Hendrycks & Gimpel, arXiv:1606.08415), as GPT-2 uses it.
 *
 * Since ½(1 + tanh u) = σ(2u), it is x·σ(2u); the derivative is σ + xσ(1 − σ)·(2u)′.
 *
 * @param x - float32, any shape
 */
export function gelu(x: tf.Tensor): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [input, save] = args as [tf.Tensor, tf.GradSaveFunc];
    const value = primitive("GeluTanh", { x: input }, {}, () => tf.mul(input, gate(input).sigma));
    save([input, value]);
    return { value, gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, derivative(saved[0] as tf.Tensor, saved[1] as tf.Tensor)) };
  });
  return op(x);
}

/** σ(2u), and x² from which u is made. */
function gate(x: tf.Tensor): { sigma: tf.Tensor; squared: tf.Tensor } {
  const squared = tf.square(x);
  const doubled = tf.mul(x, tf.add(tf.mul(squared, 2 * SCALE * CUBIC), 2 * SCALE));
  return { sigma: tf.sigmoid(doubled), squared };
}

/** The derivative at x, given the unit's value there, which is xσ. */
function derivative(x: tf.Tensor, value: tf.Tensor): tf.Tensor {
  const { sigma, squared } = gate(x);
  const slope = tf.add(tf.mul(squared, 6 * SCALE * CUBIC), 2 * SCALE);
  return tf.add(sigma, tf.mul(tf.sub(value, tf.mul(value, sigma)), slope));
}
