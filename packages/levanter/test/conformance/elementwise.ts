import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { gelu } from "../../src/engine/ops/gelu.js";
import type { DType } from "../../src/engine/types.js";
import { broadcastShapes, erf64, mapped } from "./array64.js";
import { answers, awayFromZero, between, broadcastable, distinct, drawn, seeds, shapes, whole, type Draw, type OperationCase, type OperationSpec } from "./operation-case.js";

/** Odd extents: parts of different sizes for every number of threads. */
const LARGE = [257, 1021];

interface UnaryOptions {
  readonly gradient?: boolean;
  readonly dtype?: DType;
}

function unary(name: string, apply: (x: tf.Tensor) => tf.Tensor, fn: (x: number) => number, draw: Draw, { gradient = true, dtype = "float32" }: UnaryOptions = {}): OperationSpec {
  const made = (shape: readonly number[], seed: number): OperationCase => ({
    label: "", inputs: [drawn(shape, draw, seed, dtype)], apply, oracle: (x) => mapped(fn, x), gradients: gradient ? [0] : [],
  });
  return { name, group: "one tensor, element by element", cases: fc.tuple(shapes(0, 3), seeds).map(([shape, seed]) => made(shape, seed)), large: () => made(LARGE, 1) };
}

interface BinaryOptions {
  readonly dtype?: DType;
  /** Where tfjs has a gradient: for all shapes, for equal ones, for none. */
  readonly gradient?: "all" | "equal shapes" | "none";
  readonly drawB?: Draw;
  /** The second tensor is broadcast to the first, never the other way. */
  readonly oneWay?: boolean;
}

function binary(
  name: string, apply: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor, fn: (a: number, b: number) => number, draw: Draw, { dtype = "float32", gradient = "all", drawB = draw, oneWay = false }: BinaryOptions = {},
): OperationSpec {
  const made = ([a, b]: readonly (readonly number[])[], seed: number): OperationCase => {
    const differentiable = gradient === "all" || (gradient === "equal shapes" && String(a) === String(b));
    return {
      label: "", inputs: [drawn(a ?? [], draw, seed, dtype), drawn(b ?? [], drawB, seed + 1, dtype)], apply, oracle: (x, y) => mapped(fn, x, y),
      gradients: differentiable && dtype === "float32" ? [0, 1] : [],
    };
  };
  const pairs = gradient === "equal shapes" ? fc.oneof(broadcastable(2), shapes(0, 3).map((shape) => [shape, shape])) : broadcastable(2);
  const asked = oneWay ? pairs.map(([a = [], b = []]) => [broadcastShapes(a, b), b]) : pairs;
  return { name, group: "two tensors, element by element", cases: fc.tuple(asked, seeds).map(([pair, seed]) => made(pair, seed)), large: () => made([LARGE, LARGE], 1) };
}

/** Near 0 in half of the places, where digits are lost if 1 is added first. */
const nearZero = (low: number, high: number): Draw => (seed, count) => between(low, high)(seed, count).map((value, index) => (index % 2 === 0 ? value : Math.fround(value * 1e-5)));

/** Halves among other numbers, with ties to even. */
const halves: Draw = (seed, count) => whole(-9, 9)(seed, count).map((value, index) => (index % 2 === 0 ? value / 2 : value + 0.3));
const roundHalfEven = (x: number): number => {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
};
const withSpecials: Draw = (seed, count) => between(-3, 3)(seed, count).map((value, index) => [value, Number.NaN, Infinity, -Infinity][index % 4] as number);
const shifted: Draw = (seed, count) => distinct()(seed, count).map((value) => Math.fround(value + 0.05));
const flag = (condition: boolean): number => (condition ? 1 : 0);
const floorMod = (a: number, b: number): number => a - b * Math.floor(a / b);
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;
const GELU_SCALE = Math.sqrt(2 / Math.PI);

const common = between(-3, 3);
const positive = between(0.2, 4);
const apart = awayFromZero(0.1, 4);

export const ELEMENTWISE_OPERATIONS: readonly OperationSpec[] = [
  unary("tf.abs", tf.abs, Math.abs, apart),
  unary("tf.acos", tf.acos, Math.acos, between(-0.9, 0.9)),
  unary("tf.acosh", tf.acosh, Math.acosh, between(1.2, 5)),
  unary("tf.asin", tf.asin, Math.asin, between(-0.9, 0.9)),
  unary("tf.asinh", tf.asinh, Math.asinh, common),
  unary("tf.atan", tf.atan, Math.atan, common),
  unary("tf.atanh", tf.atanh, Math.atanh, between(-0.9, 0.9)),
  unary("tf.ceil", tf.ceil, Math.ceil, distinct(0.3 + 1e-3)),
  unary("tf.clipByValue", (x) => tf.clipByValue(x, -1, 1.5), (x) => Math.min(1.5, Math.max(-1, x)), distinct()),
  unary("tf.cos", tf.cos, Math.cos, common),
  unary("tf.cosh", tf.cosh, Math.cosh, common),
  unary("tf.elu", tf.elu, (x) => (x > 0 ? x : Math.expm1(x)), apart),
  unary("tf.erf", tf.erf, erf64, common),
  unary("tf.exp", tf.exp, Math.exp, between(-5, 5)),
  unary("tf.expm1", tf.expm1, Math.expm1, nearZero(-3, 3)),
  unary("tf.floor", tf.floor, Math.floor, distinct(0.3 + 1e-3)),
  unary("tf.isFinite", tf.isFinite, (x) => flag(Number.isFinite(x)), withSpecials, { gradient: false }),
  unary("tf.isInf", tf.isInf, (x) => flag(Math.abs(x) === Infinity), withSpecials, { gradient: false }),
  unary("tf.isNaN", tf.isNaN, (x) => flag(Number.isNaN(x)), withSpecials, { gradient: false }),
  unary("tf.leakyRelu", (x) => tf.leakyRelu(x, 0.1), (x) => (x > 0 ? x : 0.1 * x), apart),
  unary("tf.log", tf.log, Math.log, positive),
  unary("tf.log1p", tf.log1p, Math.log1p, nearZero(-0.8, 4)),
  unary("tf.logSigmoid", tf.logSigmoid, (x) => -Math.log1p(Math.exp(-x)), common),
  unary("tf.logicalNot", tf.logicalNot, (x) => 1 - x, answers, { gradient: false, dtype: "bool" }),
  unary("tf.neg", tf.neg, (x) => -x, common),
  unary("tf.reciprocal", tf.reciprocal, (x) => 1 / x, awayFromZero(0.3, 4)),
  unary("tf.relu", tf.relu, (x) => Math.max(0, x), apart),
  unary("tf.relu6", tf.relu6, (x) => Math.min(6, Math.max(0, x)), distinct(1.7)),
  unary("tf.round", tf.round, roundHalfEven, halves, { gradient: false }),
  unary("tf.rsqrt", tf.rsqrt, (x) => 1 / Math.sqrt(x), positive),
  unary("tf.selu", tf.selu, (x) => SELU_SCALE * (x > 0 ? x : SELU_ALPHA * Math.expm1(x)), apart),
  unary("tf.sigmoid", tf.sigmoid, sigmoid, between(-9, 9)),
  unary("tf.sign", tf.sign, Math.sign, apart),
  unary("tf.sin", tf.sin, Math.sin, common),
  unary("tf.sinh", tf.sinh, Math.sinh, common),
  unary("tf.softplus", tf.softplus, (x) => Math.log1p(Math.exp(x)), between(-9, 9)),
  unary("tf.sqrt", tf.sqrt, Math.sqrt, positive),
  unary("tf.square", tf.square, (x) => x * x, common),
  unary("tf.step", (x) => tf.step(x, 0.25), (x) => (x > 0 ? 1 : 0.25), apart),
  unary("tf.tan", tf.tan, Math.tan, between(-1.2, 1.2)),
  unary("tf.tanh", tf.tanh, Math.tanh, common),
  unary("gelu", gelu, (x) => 0.5 * x * (1 + Math.tanh(GELU_SCALE * (x + 0.044715 * x ** 3))), common),
  unary("tf.abs of int32", tf.abs, Math.abs, whole(-9, 9), { gradient: false, dtype: "int32" }),
  unary("tf.neg of int32", tf.neg, (x) => -x || 0, whole(-9, 9), { gradient: false, dtype: "int32" }),
  unary("tf.sign of int32", tf.sign, Math.sign, whole(-9, 9), { gradient: false, dtype: "int32" }),
  unary("tf.square of int32", tf.square, (x) => x * x, whole(-9, 9), { gradient: false, dtype: "int32" }),

  binary("tf.add", tf.add, (a, b) => a + b, common),
  binary("tf.atan2", tf.atan2, Math.atan2, apart),
  binary("tf.div", tf.div, (a, b) => a / b, awayFromZero(0.4, 4)),
  binary("tf.divNoNan", tf.divNoNan, (a, b) => (b === 0 ? 0 : a / b), whole(-2, 2), { gradient: "none" }),
  binary("tf.equal", tf.equal, (a, b) => flag(a === b), whole(-2, 2), { gradient: "none" }),
  binary("tf.floorDiv of int32", tf.floorDiv, (a, b) => (b === 0 ? 0 : Math.floor(a / b)), whole(-9, 9), { dtype: "int32" }),
  binary("tf.greater", tf.greater, (a, b) => flag(a > b), whole(-2, 2), { gradient: "none" }),
  binary("tf.greaterEqual", tf.greaterEqual, (a, b) => flag(a >= b), whole(-2, 2), { gradient: "none" }),
  binary("tf.less", tf.less, (a, b) => flag(a < b), whole(-2, 2), { gradient: "none" }),
  binary("tf.lessEqual", tf.lessEqual, (a, b) => flag(a <= b), whole(-2, 2), { gradient: "none" }),
  binary("tf.logicalAnd", tf.logicalAnd, (a, b) => a * b, answers, { dtype: "bool" }),
  binary("tf.logicalOr", tf.logicalOr, Math.max, answers, { dtype: "bool" }),
  binary("tf.logicalXor", tf.logicalXor, (a, b) => flag(a !== b), answers, { dtype: "bool" }),
  binary("tf.maximum", tf.maximum, Math.max, distinct(), { gradient: "equal shapes", drawB: shifted }),
  binary("tf.minimum", tf.minimum, Math.min, distinct(), { gradient: "equal shapes", drawB: shifted }),
  // Quotients stay away from whole numbers, where the remainder jumps.
  binary("tf.mod", tf.mod, floorMod, (seed, count) => whole(-9, 9)(seed, count).map((value) => Math.fround(value + 0.37)), { drawB: (seed, count) => whole(1, 3)(seed, count).map((value, index) => (index % 2 === 0 ? value : -value)) }),
  binary("tf.mod of int32", tf.mod, (a, b) => (b === 0 ? 0 : floorMod(a, b)), whole(-9, 9), { dtype: "int32" }),
  binary("tf.mul", tf.mul, (a, b) => a * b, common),
  binary("tf.notEqual", tf.notEqual, (a, b) => flag(a !== b), whole(-2, 2), { gradient: "none" }),
  binary("tf.pow", tf.pow, Math.pow, positive, { drawB: common }),
  binary("tf.prelu", tf.prelu, (x, alpha) => (x < 0 ? alpha * x : x), apart, { oneWay: true }),
  binary("tf.squaredDifference", tf.squaredDifference, (a, b) => (a - b) ** 2, common, { gradient: "equal shapes" }),
  binary("tf.sub", tf.sub, (a, b) => a - b, common),
  binary("tf.add of int32", tf.add, (a, b) => a + b, whole(-9, 9), { dtype: "int32" }),
  binary("tf.maximum of int32", tf.maximum, Math.max, whole(-9, 9), { dtype: "int32" }),
  binary("tf.mul of int32", tf.mul, (a, b) => a * b || 0, whole(-9, 9), { dtype: "int32" }),
  binary("tf.pow of int32", tf.pow, (a, b) => a ** b, whole(1, 5), { dtype: "int32" }),
  binary("tf.sub of int32", tf.sub, (a, b) => a - b, whole(-9, 9), { dtype: "int32" }),
];
