import * as tf from "@tensorflow/tfjs-core";
import { defineOperator } from "../operator.js";
import type { TensorSpec } from "../types.js";

const column = ({ x }: Readonly<Record<"x", TensorSpec>>): TensorSpec => ({ shape: [...x.shape.slice(0, -1), 1], dtype: x.dtype });

/** The largest element of each row, float32 [N,V] to [N,1]. In one pass over the row, unlike `tf.max`: a NaN may be passed over. Has no gradient. */
export const rowMax = defineOperator({
  name: "rowMax",
  inputs: ["x"],
  differentiable: [],
  shape: column,
  composed: ({ x }) => tf.max(x, -1, true),
  lower: ({ onnx, inputs }) => onnx.node("ReduceMax", [inputs.x, onnx.int64([-1])], { keepdims: { int: 1 } }),
});

/** The logarithm of each row's sum, float32 [N,V] to [N,1]. Its bits do not depend on the number of threads, as `tf.log`'s do. Has no gradient. */
export const rowLogSum = defineOperator({
  name: "rowLogSum",
  inputs: ["x"],
  differentiable: [],
  shape: column,
  composed: ({ x }) => tf.log(tf.sum(x, -1, true)),
  lower: ({ onnx, inputs }) => onnx.node("ReduceLogSum", [inputs.x, onnx.int64([-1])], { keepdims: { int: 1 } }),
});
