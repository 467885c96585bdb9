import * as tf from "@tensorflow/tfjs-core";
import { causalAttention } from "../../src/engine/ops/attention.js";
import { linearCrossEntropy } from "../../src/engine/ops/cross-entropy.js";
import { embedding } from "../../src/engine/ops/embedding.js";
import { gelu } from "../../src/engine/ops/gelu.js";
import { layerNorm } from "../../src/engine/ops/layer-norm.js";
import { linear } from "../../src/engine/ops/linear.js";
import type { TensorFunction, Specs } from "../../src/engine/types.js";
import type { StoredTensor } from "./fixtures.js";

/** One reference case of `ops.json`. */
export interface OperationCase {
  readonly name: string;
  readonly op: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly inputs: Readonly<Record<string, StoredTensor>>;
  readonly outputs: readonly StoredTensor[];
  /** Gradients of the outputs; absent where an operation has none. */
  readonly upstream?: readonly StoredTensor[];
  readonly gradients?: Readonly<Record<string, StoredTensor>>;
}

type Apply = (inputs: tf.Tensor[], attributes: never) => tf.Tensor | tf.Tensor[];

const unary = (apply: (x: tf.Tensor) => tf.Tensor): Apply => ([x]) => apply(x as tf.Tensor);
const binary = (apply: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor): Apply => ([a, b]) => apply(a as tf.Tensor, b as tf.Tensor);
const reduction =
  (apply: (x: tf.Tensor, axis: number[], keepDims: boolean) => tf.Tensor): Apply =>
  ([x], { axis, keepDims }: { axis: number[]; keepDims: boolean }) => apply(x as tf.Tensor, axis, keepDims);

/** The operations of tfjs that levanter's models may use, by the names of `ops.json`. */
export const TFJS_OPERATIONS: Readonly<Record<string, Apply>> = {
  matMul: ([a, b], { transposeA, transposeB }: { transposeA: boolean; transposeB: boolean }) =>
    tf.matMul(a as tf.Tensor, b as tf.Tensor, transposeA, transposeB),
  add: binary(tf.add),
  sub: binary(tf.sub),
  mul: binary(tf.mul),
  div: binary(tf.div),
  squaredDifference: binary(tf.squaredDifference),
  maximum: binary(tf.maximum),
  minimum: binary(tf.minimum),
  pow: binary(tf.pow),
  neg: unary(tf.neg),
  exp: unary(tf.exp),
  log: unary(tf.log),
  sqrt: unary(tf.sqrt),
  rsqrt: unary(tf.rsqrt),
  reciprocal: unary(tf.reciprocal),
  square: unary(tf.square),
  tanh: unary(tf.tanh),
  sigmoid: unary(tf.sigmoid),
  erf: unary(tf.erf),
  relu: unary(tf.relu),
  abs: unary(tf.abs),
  sin: unary(tf.sin),
  cos: unary(tf.cos),
  softplus: unary(tf.softplus),
  floor: unary(tf.floor),
  ceil: unary(tf.ceil),
  round: unary(tf.round),
  sign: unary(tf.sign),
  isNaN: unary(tf.isNaN),
  leakyRelu: ([x], { alpha }: { alpha: number }) => tf.leakyRelu(x as tf.Tensor, alpha),
  step: ([x], { alpha }: { alpha: number }) => tf.step(x as tf.Tensor, alpha),
  clipByValue: ([x], { clipValueMin, clipValueMax }: { clipValueMin: number; clipValueMax: number }) =>
    tf.clipByValue(x as tf.Tensor, clipValueMin, clipValueMax),
  sum: reduction(tf.sum),
  mean: reduction(tf.mean),
  max: reduction(tf.max),
  min: reduction(tf.min),
  argMax: ([x], { axis }: { axis: number }) => tf.argMax(x as tf.Tensor, axis),
  reshape: ([x], { shape }: { shape: number[] }) => tf.reshape(x as tf.Tensor, shape),
  transpose: ([x], { perm }: { perm: number[] }) => tf.transpose(x as tf.Tensor, perm),
  slice: ([x], { begin, size }: { begin: number[]; size: number[] }) => tf.slice(x as tf.Tensor, begin, size),
  reverse: ([x], { axis }: { axis: number[] }) => tf.reverse(x as tf.Tensor, axis),
  split: ([x], { sizes, axis }: { sizes: number[]; axis: number }) => tf.split(x as tf.Tensor, sizes, axis),
  concat: (parts, { axis }: { axis: number }) => tf.concat(parts, axis),
  pad: ([x], { paddings, constantValue }: { paddings: [number, number][]; constantValue: number }) => tf.pad(x as tf.Tensor, paddings, constantValue),
  tile: ([x], { reps }: { reps: number[] }) => tf.tile(x as tf.Tensor, reps),
  broadcastTo: ([x], { shape }: { shape: number[] }) => tf.broadcastTo(x as tf.Tensor, shape),
  stack: (parts, { axis }: { axis: number }) => tf.stack(parts, axis),
  unstack: ([x], { axis }: { axis: number }) => tf.unstack(x as tf.Tensor, axis),
  gather: ([x, indices], { axis }: { axis: number }) => tf.gather(x as tf.Tensor, indices as tf.Tensor1D, axis),
  unsortedSegmentSum: ([x, ids], { numSegments }: { numSegments: number }) => tf.unsortedSegmentSum(x as tf.Tensor, ids as tf.Tensor1D, numSegments),
  oneHot: ([indices], { depth }: { depth: number }) => tf.oneHot(indices as tf.Tensor, depth, 1, 0, "float32"),
  where: ([condition, a, b]) => tf.where(condition as tf.Tensor, a as tf.Tensor, b as tf.Tensor),
  equal: binary(tf.equal),
  notEqual: binary(tf.notEqual),
  greater: binary(tf.greater),
  greaterEqual: binary(tf.greaterEqual),
  less: binary(tf.less),
  lessEqual: binary(tf.lessEqual),
  logicalAnd: binary(tf.logicalAnd),
  logicalOr: binary(tf.logicalOr),
  logicalNot: unary(tf.logicalNot),
  cast: ([x], { dtype }: { dtype: "float32" | "int32" }) => tf.cast(x as tf.Tensor, dtype),
  cumsum: ([x], { axis, exclusive, reverse }: { axis: number; exclusive: boolean; reverse: boolean }) =>
    tf.cumsum(x as tf.Tensor, axis, exclusive, reverse),
  softmax: unary(tf.softmax),
  logSoftmax: unary(tf.logSoftmax),
};

/** levanter's own operations, and what its models compose, by the names of `ops.json`. */
export const LEVANTER_OPERATIONS: Readonly<Record<string, Apply>> = {
  embedding: binary(embedding),
  layerNorm: ([x, gamma, beta], { epsilon }: { epsilon: number }) => layerNorm(x as tf.Tensor, gamma as tf.Tensor, beta as tf.Tensor, epsilon),
  linear: ([x, weight, bias]) => linear(x as tf.Tensor, weight as tf.Tensor, bias),
  geluTanh: unary(gelu),
  geluErf: unary((x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1))),
  causalAttention: ([q, k, v]) => causalAttention(q as tf.Tensor, k as tf.Tensor, v as tf.Tensor),
  linearCrossEntropy: ([hidden, table, targets, weights]) =>
    linearCrossEntropy(hidden as tf.Tensor, table as tf.Tensor, targets as tf.Tensor, weights as tf.Tensor),
};

/** Specs of a case's inputs, and of its upstream gradients as `upstream0`, `upstream1`, ... */
export function inputSpecs(testCase: OperationCase): Specs {
  const named = new Map<string, StoredTensor>(Object.entries(testCase.inputs));
  testCase.upstream?.forEach((upstream, index) => named.set(`upstream${index}`, upstream));
  return Object.fromEntries([...named].map(([name, { shape, dtype }]) => [name, { shape, dtype }]));
}

/** The case as a function from the inputs of `inputSpecs` to `output0`, `output1`, ... and `gradient/<input>`. */
export function caseFunction(testCase: OperationCase, apply: Apply): TensorFunction {
  const names = Object.keys(testCase.inputs);
  const differentiable = Object.keys(testCase.gradients ?? {});
  return (inputs) => {
    const values = names.map((name) => inputs[name] as tf.Tensor);
    const run = (tensors: tf.Tensor[]): tf.Tensor[] => [apply(tensors, testCase.attributes as never)].flat();
    const results: Record<string, tf.Tensor> = {};
    run(values).forEach((output, index) => {
      results[`output${index}`] = output;
    });
    if (differentiable.length === 0) return results;
    // The weighted sum of all outputs has the wanted gradients.
    const weighted = (...tensors: tf.Tensor[]): tf.Scalar => {
      const replaced = values.slice();
      differentiable.forEach((name, index) => {
        replaced[names.indexOf(name)] = tensors[index] as tf.Tensor;
      });
      const terms = run(replaced).map((output, index) => tf.sum(tf.mul(output, inputs[`upstream${index}`] as tf.Tensor)));
      return terms.reduce((sum, term) => tf.add(sum, term)) as tf.Scalar;
    };
    const gradients = tf.grads(weighted)(differentiable.map((name) => inputs[name] as tf.Tensor));
    differentiable.forEach((name, index) => {
      results[`gradient/${name}`] = gradients[index] as tf.Tensor;
    });
    return results;
  };
}
