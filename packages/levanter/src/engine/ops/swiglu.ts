import * as tf from "@tensorflow/tfjs-core";

/**
 * Gated linear unit with the SiLU as its gate's activation, gate·σ(gate)·up (Shazeer, arXiv:2002.05202, eq. 6).
 *
 * With s = σ(gate) and a = gate·s the derivative of the activation is s + a(1 − s).
 *
 * @param gate - float32, any shape
 * @param up - float32 of the same shape
 */
export function swiglu(gate: tf.Tensor, up: tf.Tensor): tf.Tensor {
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [gated, linear, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const sigma = tf.sigmoid(gated);
    const activated = tf.mul(gated, sigma);
    save([linear, sigma, activated]);
    return { value: tf.mul(activated, linear), gradFunc: swigluGradients };
  });
  return op(gate, up);
}

function swigluGradients(dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] {
  const [up, sigma, activated] = saved as [tf.Tensor, tf.Tensor, tf.Tensor];
  const slope = tf.add(sigma, tf.sub(activated, tf.mul(activated, sigma)));
  return [tf.mul(tf.mul(dy, up), slope), tf.mul(dy, activated)];
}
