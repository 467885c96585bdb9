import * as tf from "@tensorflow/tfjs-core";

/**
 * Wraps a part of a model so that the backward pass computes what is inside once more instead of keeping it (Chen et al., arXiv:1604.06174): only the
 * arguments stay in memory, for at most a third more floating-point operations. Values and gradients are the same to the bit. Works on every engine, nested too.
 *
 * ```ts
 * const block = recompute((x, weight, bias) => gelu(linear(x, weight, bias)));
 * const y = block(x, weight, bias);
 * ```
 *
 * @param fn - from the activation that comes in, and every other tensor that a gradient flows to, parameters above all, to the activation that goes
 * out; float32. Tensors that it closes over get no gradient. It is called twice, so it must be pure
 * @returns the same function. Gradients flow to all its arguments; those that do not matter for the value get zeros
 */
export function recompute<Rest extends tf.Tensor[]>(fn: (x: tf.Tensor, ...rest: Rest) => tf.Tensor): (x: tf.Tensor, ...rest: Rest) => tf.Tensor {
  return (...inputs) => {
    const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
      const save = args.pop() as tf.GradSaveFunc;
      const taken = args as [tf.Tensor, ...Rest];
      save([...taken]);
      return { value: fn(...taken), gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => gradientsOf(fn, saved as [tf.Tensor, ...Rest], dy) };
    });
    return op(...inputs);
  };
}

function gradientsOf<Rest extends tf.Tensor[]>(fn: (x: tf.Tensor, ...rest: Rest) => tf.Tensor, [x, ...rest]: [tf.Tensor, ...Rest], dy: tf.Tensor): tf.Tensor[] {
  const inputs: [tf.Tensor, ...Rest] = [notBefore(dy, x), ...rest];
  // tfjs ends its record of the outer function with that of the inner one.
  const { state } = tf.engine();
  const { activeTape } = state;
  try {
    const { grads } = tf.engine().gradients(() => fn(...inputs), [...inputs], dy, true);
    return inputs.map((input, index) => (grads as (tf.Tensor | undefined)[])[index] ?? tf.zerosLike(input));
  } finally {
    state.activeTape = activeTape;
  }
}

/**
 * `x`, bit for bit, but only once `dy` is there. Without this dependency the second computation would be the first one to a compiler, or be scheduled
 * beside it, and nothing would be let go.
 */
function notBefore(dy: tf.Tensor, x: tf.Tensor): tf.Tensor {
  const probe = tf.reshape(tf.slice(tf.reshape(dy, [-1]), [0], [1]), x.shape.map(() => 1));
  return tf.where(tf.equal(probe, probe), x, x);
}
