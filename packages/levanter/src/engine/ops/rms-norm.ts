import * as tf from "@tensorflow/tfjs-core";
import { defineOperator } from "../operator.js";
import { elementCount } from "../shape.js";

/** 1 / √(mean(x²) + ε) of each row, float32 [N,D] to [N,1]. Has no gradient. WebGPU's normalization gives none of its statistics: this takes their place. */
const inverseRms = defineOperator({
  name: "inverseRms",
  inputs: ["x"],
  attributes: { epsilon: 1e-5 },
  differentiable: [],
  shape: ({ x }) => ({ shape: [...x.shape.slice(0, -1), 1], dtype: x.dtype }),
  composed: ({ x }, { epsilon }) => tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), epsilon)),
  lower: ({ onnx, inputs, attributes, specs }) => {
    const squares = onnx.node("ReduceSumSquare", [inputs.x, onnx.int64([-1])], { keepdims: { int: 1 } });
    const mean = onnx.node("Mul", [squares, onnx.scalar(1 / (specs.inputs.x.shape.at(-1) as number))]);
    return onnx.node("Reciprocal", [onnx.node("Sqrt", [onnx.node("Add", [mean, onnx.scalar(attributes.epsilon)])])]);
  },
  flops: ({ x }) => 2 * elementCount(x.shape),
});

/**
 * With r = 1/√(mean(x²) + ε) and o = dy·x: dγ = Σ r·o, a product of a row with a matrix, and dx = r·γ·dy − (r³/D)·(Σ γ·o)·x. The second sum is none of products: the bits of
 * a matrix times a column depend on the number of threads.
 */
const rmsNormOperator = defineOperator({
  name: "rmsNorm",
  inputs: ["x", "gamma"],
  attributes: { epsilon: 1e-5 },
  shape: ({ x }) => x,
  composed: ({ x, gamma }, { epsilon }) => tf.mul(tf.mul(x, inverseRms(x, { epsilon })), gamma),
  lower: ({ onnx, inputs, attributes }) =>
    onnx.node("SimplifiedLayerNormalization", [inputs.x, inputs.gamma], { axis: { int: -1 }, epsilon: { float: attributes.epsilon }, stash_type: { int: 1 } }),
  gradient: ({ dy, inputs: { x, gamma }, attributes }) => {
    const inverse = inverseRms(x, attributes);
    const width = gamma.shape[0] as number;
    const outer = tf.mul(dy, x);
    const share = tf.mul(tf.sum(tf.mul(outer, gamma), -1, true), tf.mul(tf.mul(tf.square(inverse), inverse), 1 / width));
    return {
      x: tf.sub(tf.mul(tf.mul(dy, gamma), inverse), tf.mul(x, share)),
      gamma: tf.reshape(tf.matMul(tf.reshape(inverse, [1, -1]), outer), [width]),
    };
  },
  flops: ({ x }) => 4 * elementCount(x.shape),
});

/**
 * Root-mean-square normalization over the last axis (Zhang & Sennrich, arXiv:1910.07467, eq. 4): x / √(mean(x²) + ε) · γ.
 *
 * @param x - float32 [N,D]
 * @param gamma - float32 [D]
 * @param epsilon - added to the mean square
 * @returns float32 [N,D]
 */
export function rmsNorm(x: tf.Tensor, gamma: tf.Tensor, epsilon: number): tf.Tensor {
  return rmsNormOperator(x, gamma, { epsilon });
}
