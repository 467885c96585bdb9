import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evaluate } from "../../test/reference/evaluate.js";
import { OnnxEngine } from "./compiled-engine.js";

/** Where operators of runtimes differ: zeros of both signs, infinities, NaN, numbers that are subnormal or whose exponential is. */
const VALUES = Float32Array.of(0, -0, 1, -1, Infinity, -Infinity, NaN, 1e-30, -1e-30, 1e-40, 1e30, -1e30, 88, 89, -88, -104, 0.5, 2.5);

const FUNCTIONS: Readonly<Record<string, readonly [(x: tf.Tensor) => tf.Tensor, (x: number) => number]>> = {
  abs: [tf.abs, Math.abs], acos: [tf.acos, Math.acos], acosh: [tf.acosh, Math.acosh], asin: [tf.asin, Math.asin], asinh: [tf.asinh, Math.asinh],
  atan: [tf.atan, Math.atan], atanh: [tf.atanh, Math.atanh], ceil: [tf.ceil, Math.ceil], cosh: [tf.cosh, Math.cosh], elu: [tf.elu, (x) => (x > 0 ? x : Math.expm1(x))],
  exp: [tf.exp, Math.exp], expm1: [tf.expm1, Math.expm1], floor: [tf.floor, Math.floor], leakyRelu: [(x) => tf.leakyRelu(x, 0.5), (x) => (x > 0 ? x : x / 2)],
  log: [tf.log, Math.log], log1p: [tf.log1p, Math.log1p], neg: [tf.neg, (x) => -x], reciprocal: [tf.reciprocal, (x) => 1 / x], relu: [tf.relu, (x) => Math.max(0, x)],
  relu6: [tf.relu6, (x) => Math.min(6, Math.max(0, x))], rsqrt: [tf.rsqrt, (x) => 1 / Math.sqrt(x)], sigmoid: [tf.sigmoid, (x) => 1 / (1 + Math.exp(-x))],
  sign: [tf.sign, Math.sign], sinh: [tf.sinh, Math.sinh], softplus: [tf.softplus, (x) => (x > 80 ? x : Math.log1p(Math.exp(x)))], sqrt: [tf.sqrt, Math.sqrt],
  square: [tf.square, (x) => x * x], step: [(x) => tf.step(x), (x) => (Number.isNaN(x) ? NaN : Number(x > 0))], tanh: [tf.tanh, Math.tanh],
};

describe("the compiled engine at zeros, infinities, NaN and the ends of float32", () => {
  let engine: OnnxEngine;
  beforeAll(async () => {
    engine = await OnnxEngine.create({ threads: 1 });
  });
  afterAll(() => engine.dispose());

  it.each(Object.entries(FUNCTIONS))("%s is what the function is", async (_name, [apply, fn]) => {
    const { y } = await evaluate(engine, ({ x }) => ({ y: apply(x as tf.Tensor) }), { x: { shape: [VALUES.length], data: VALUES } });
    const wrong = Array.from(VALUES).flatMap((x, index) => {
      const [found, expected] = [y?.[index] ?? 0, Math.fround(fn(x))];
      const close = Object.is(found, expected) || found === expected || Math.abs(found - expected) <= 1e-5 * Math.abs(expected) + 1e-29;
      return close ? [] : [`${x}: ${found}, not ${expected}`];
    });
    expect(wrong).toEqual([]);
  });
});
