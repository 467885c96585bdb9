import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { at, build, mapped, reduced, softmax64, total, type Array64 } from "./array64.js";
import { answers, between, distinct, drawn, oneAxis, seeds, shapes, someAxes, whole, type Draw, type OperationCase, type OperationSpec } from "./operation-case.js";
import type { DType } from "../../src/engine/types.js";

interface Reduction {
  readonly shape: number[];
  readonly axes: number[];
  readonly keepDims: boolean;
}

const reductions = shapes(1, 4).chain((shape) => fc.record({ shape: fc.constant(shape), axes: someAxes(shape.length), keepDims: fc.boolean() }));
const LARGE: Reduction = { shape: [129, 2049], axes: [1], keepDims: false };

function reduction(
  name: string, apply: (x: tf.Tensor, axes: number[], keepDims: boolean) => tf.Tensor, fold: (values: number[]) => number, draw: Draw,
  { gradient = true, dtype = "float32", large = LARGE }: { gradient?: boolean; dtype?: DType; large?: Reduction } = {},
): OperationSpec {
  const made = (attributes: Reduction, seed: number): OperationCase => ({
    label: JSON.stringify(attributes), inputs: [drawn(attributes.shape, draw, seed, dtype)], apply: (x) => apply(x, attributes.axes, attributes.keepDims),
    oracle: (x) => reduced(x, attributes.axes, attributes.keepDims, fold), gradients: gradient ? [0] : [],
  });
  return { name, group: "reductions", cases: fc.tuple(reductions, seeds).map(([attributes, seed]) => made(attributes, seed)), large: () => made(large, 1) };
}

interface Running {
  readonly shape: number[];
  readonly axis: number;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

const runnings = shapes(1, 3).chain((shape) => fc.record({ shape: fc.constant(shape), axis: oneAxis(shape.length), exclusive: fc.boolean(), reverse: fc.boolean() }));

function running(name: string, apply: (x: tf.Tensor, axis: number, exclusive: boolean, reverse: boolean) => tf.Tensor, fold: (values: number[]) => number, draw: Draw, gradient: boolean, dtype: DType = "float32"): OperationSpec {
  const made = (attributes: Running, seed: number): OperationCase => {
    const { shape, axis, exclusive, reverse } = attributes;
    return {
      label: JSON.stringify(attributes), inputs: [drawn(shape, draw, seed, dtype)], apply: (x) => apply(x, axis, exclusive, reverse),
      oracle: (x) => build(shape, (place) => {
        const end = place[axis] as number;
        const positions = Array.from({ length: shape[axis] as number }, (_unused, position) => position).filter((position) => (reverse ? position >= end : position <= end) && !(exclusive && position === end));
        return fold(positions.map((position) => at(x, place.map((own, index) => (index === axis ? position : own)))));
      }),
      gradients: gradient ? [0] : [],
    };
  };
  return { name, group: "along an axis", cases: fc.tuple(runnings, seeds).map(([attributes, seed]) => made(attributes, seed)), large: () => made({ shape: [129, 1025], axis: 1, exclusive: false, reverse: false }, 1) };
}

function alongLast(name: string, apply: (x: tf.Tensor) => tf.Tensor | readonly tf.Tensor[], oracle: (x: Array64) => Array64 | readonly Array64[], draw: Draw, gradient: boolean, group = "along an axis"): OperationSpec {
  const made = (shape: readonly number[], seed: number): OperationCase => ({ label: "", inputs: [drawn(shape, draw, seed)], apply, oracle, gradients: gradient ? [0] : [] });
  return { name, group, cases: fc.tuple(shapes(1, 3, 5), seeds).map(([shape, seed]) => made(shape, seed)), large: () => made([129, 2049], 1) };
}

function extremePlace(name: string, apply: (x: tf.Tensor, axis: number) => tf.Tensor, better: (a: number, b: number) => boolean): OperationSpec {
  const made = ({ shape, axis }: { shape: readonly number[]; axis: number }, seed: number): OperationCase => ({
    // Of equals, the first.
    label: `axis ${axis}`, inputs: [drawn(shape, whole(-3, 3), seed)], apply: (x) => apply(x, axis),
    oracle: (x) => reduced(x, [axis], false, (values) => values.reduce((best, value, index) => (better(value, values[best] as number) ? index : best), 0)), gradients: [],
  });
  const cases = shapes(1, 3).chain((shape) => fc.record({ shape: fc.constant(shape), axis: oneAxis(shape.length) }));
  return { name, group: "along an axis", cases: fc.tuple(cases, seeds).map(([attributes, seed]) => made(attributes, seed)), large: () => made({ shape: [129, 2049], axis: 1 }, 1) };
}

const common = between(-3, 3);
const norm = (values: readonly number[]): number => Math.sqrt(total(values.map((value) => value * value)));
const logSumExp = (values: readonly number[]): number => {
  const largest = Math.max(...values);
  return largest + Math.log(total(values.map((value) => Math.exp(value - largest))));
};
const times = (values: readonly number[]): number => values.reduce((product, value) => product * value, 1);
const variance = (values: readonly number[]): number => total(values.map((value) => (value - total(values) / values.length) ** 2)) / values.length;
const factors = between(0.7, 1.4);

/** The k largest of each row in falling order, and their places; of equals the first. */
function largest(x: Array64, k: number): { value: number; place: number }[][] {
  const width = x.shape.at(-1) as number;
  return Array.from({ length: x.data.length / width }, (_unused, row) =>
    x.data.slice(row * width, (row + 1) * width).map((value, place) => ({ value, place })).sort((a, b) => b.value - a.value || a.place - b.place).slice(0, k),
  );
}

export const REDUCING_OPERATIONS: readonly OperationSpec[] = [
  reduction("tf.sum", tf.sum, total, common),
  reduction("tf.sum over leading axes", (x, axes, keepDims) => tf.sum(x, axes, keepDims), total, common, { large: { shape: [2049, 129], axes: [0], keepDims: false } }),
  reduction("tf.mean", tf.mean, (values) => total(values) / values.length, common),
  reduction("tf.max", tf.max, (values) => Math.max(...values), distinct()),
  reduction("tf.min", tf.min, (values) => Math.min(...values), distinct()),
  reduction("tf.prod", tf.prod, times, factors),
  reduction("tf.all", tf.all, (values) => Math.min(...values), answers, { gradient: false, dtype: "bool" }),
  reduction("tf.any", tf.any, (values) => Math.max(...values), answers, { gradient: false, dtype: "bool" }),
  reduction("tf.logSumExp", tf.logSumExp, logSumExp, common),
  reduction("tf.norm", (x, axes, keepDims) => tf.sqrt(tf.sum(tf.square(x), axes, keepDims)), norm, common),
  reduction("tf.moments", (x, axes, keepDims) => tf.moments(x, axes, keepDims).variance, variance, common),
  reduction("tf.sum of int32", tf.sum, total, whole(-9, 9), { gradient: false, dtype: "int32" }),
  reduction("tf.prod of int32", tf.prod, times, whole(1, 2), { gradient: false, dtype: "int32", large: { shape: [4097, 9], axes: [1], keepDims: false } }),
  extremePlace("tf.argMax", tf.argMax, (a, b) => a > b),
  extremePlace("tf.argMin", tf.argMin, (a, b) => a < b),
  running("tf.cumsum", tf.cumsum, total, common, true),
  running("tf.cumsum of int32", tf.cumsum, total, whole(-9, 9), false, "int32"),
  running("tf.cumprod", tf.cumprod, times, factors, false),
  alongLast("tf.softmax", (x) => tf.softmax(x), softmax64, common, true),
  alongLast("tf.logSoftmax", (x) => tf.logSoftmax(x), (x) => mapped(Math.log, softmax64(x)), common, true),
  alongLast("tf.topk", (x) => {
    const { values, indices } = tf.topk(x, Math.min(3, x.shape.at(-1) as number));
    return [values, indices];
  }, (x) => {
    const k = Math.min(3, x.shape.at(-1) as number);
    const rows = largest(x, k);
    const shape = [...x.shape.slice(0, -1), k];
    return [{ shape, data: rows.flat().map(({ value }) => value) }, { shape, data: rows.flat().map(({ place }) => place) }];
  }, whole(-3, 3), false),
];
