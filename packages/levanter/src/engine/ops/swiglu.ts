import * as tf from "@tensorflow/tfjs-core";

/**
 * Gated linear unit with the SiLU as its gate's activation, y = gate·σ(gate)·up (Shazeer, arXiv:2002.05202, eq. 6).
 *
 * The activation's derivative is σ + gate·σ(1 − σ); times up that is y + σ(up − y), which takes one pass less over memory.
 *
 * @param gate - float32, any shape
 * @param up - float32 of the same shape
 */
export function swiglu(gate: tf.Tensor, up: tf.Tensor): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [gated, linear, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const sigma = tf.sigmoid(gated);
    const activated = tf.mul(gated, sigma);
    const value = tf.mul(activated, linear);
    save([linear, sigma, activated, value]);
    return { value, gradFunc: swigluGradients };
  });
  return op(gate, up);
}

function swigluGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [up, sigma, activated, value] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const slope = tf.add(value, tf.mul(sigma, tf.sub(up, value)));
  return [tf.mul(dy, slope), tf.mul(dy, activated)];
}
