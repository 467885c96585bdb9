import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENGINES } from "../../test/reference/engines.js";
import { evaluate, type HostTensor } from "../../test/reference/evaluate.js";
import { trace } from "./trace.js";
import type { DType, Engine, TensorData } from "./types.js";

const floats = (...values: number[]): HostTensor => ({ shape: [values.length], data: Float32Array.from(values) });
const integers = (...values: number[]): HostTensor => ({ shape: [values.length], data: Int32Array.from(values) });
const answers = (...values: number[]): HostTensor => ({ shape: [values.length], data: Uint8Array.from(values) });
const matrix = (rows: number, { data }: HostTensor): HostTensor => ({ shape: [rows, data.length / rows], data });

const INDICES = integers(-4, -1, 0, 2, 3);
const ROWS = matrix(2, integers(1, 2, 3, 4, 5, 6));

interface EdgeCase {
  readonly fn: (...inputs: tf.Tensor[]) => tf.Tensor;
  readonly inputs: readonly HostTensor[];
  readonly expected: TensorData;
}

/** What tfjs defines where ONNX's operators differ from it, or exist for fewer element types. */
const CASES: Readonly<Record<string, EdgeCase>> = {
  "the mean of integers is no integer": { fn: (x) => tf.mean(x), inputs: [integers(1, 2, 4, 4)], expected: Float32Array.of(2.75) },
  "the mean of integers over nothing": { fn: (x) => tf.mean(x, []), inputs: [integers(1, 2)], expected: Float32Array.of(1, 2) },
  "the mean of answers": { fn: (x) => tf.mean(x), inputs: [answers(1, 0, 1, 1)], expected: Float32Array.of(0.75) },
  "the exponential of integers": { fn: (x) => tf.exp(x), inputs: [integers(0, 0)], expected: Float32Array.of(1, 1) },
  "a leaky unit of integers": { fn: (x) => tf.leakyRelu(x, 0.5), inputs: [integers(-3, 2)], expected: Float32Array.of(-1.5, 2) },
  "rounded integers": { fn: (x) => tf.round(x), inputs: [integers(-3, 2)], expected: Int32Array.of(-3, 2) },
  "integers are numbers": { fn: (x) => tf.isNaN(x), inputs: [integers(1, 2)], expected: Uint8Array.of(0, 0) },
  "answers are numbers": { fn: (x) => tf.isNaN(x), inputs: [answers(1, 0)], expected: Uint8Array.of(0, 0) },
  "a cast keeps to the type asked for": { fn: (x) => tf.cast(x, "int32"), inputs: [answers(1, 0)], expected: Int32Array.of(1, 0) },
  "answers in order": { fn: (a, b) => tf.greater(a, b), inputs: [answers(1, 1, 0, 0), answers(1, 0, 1, 0)], expected: Uint8Array.of(0, 1, 0, 0) },
  "the first answer that is true": { fn: (x) => tf.argMax(x), inputs: [answers(0, 1, 1)], expected: Int32Array.of(1) },
  "counting answers up": { fn: (x) => tf.cumsum(x), inputs: [answers(1, 0, 1)], expected: Int32Array.of(1, 1, 2) },
  "choosing among answers": { fn: (c, a, b) => tf.where(c, a, b), inputs: [answers(1, 0), answers(1, 1), answers(0, 0)], expected: Uint8Array.of(1, 0) },
  "choosing between an integer and a float": { fn: (c, a, b) => tf.where(c, a, b), inputs: [answers(1, 0), integers(3, 4), floats(0.5, 1.5)], expected: Float32Array.of(3, 1.5) },
  "a product of integers, transposed": { fn: (x) => tf.matMul(x, x, false, true), inputs: [ROWS], expected: Int32Array.of(14, 32, 32, 77) },
  "a product of integers and a transposition": { fn: (x) => tf.matMul(tf.transpose(x), x), inputs: [ROWS], expected: Int32Array.of(17, 22, 27, 22, 29, 36, 27, 36, 45) },
  "a product of integers, scaled, with a bias": {
    fn: (x, b) => tf.add(tf.mul(tf.matMul(x, tf.reshape(x, [3, 2])), tf.scalar(2, "int32")), b),
    inputs: [ROWS, integers(1, 2)],
    expected: Int32Array.of(45, 58, 99, 130),
  },
  "one-hot rows of indices outside": {
    fn: (x) => tf.oneHot(x, 3, 1, 0, "float32"),
    inputs: [INDICES],
    expected: Float32Array.of(0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0),
  },
  "segments outside": { fn: (ids, x) => tf.unsortedSegmentSum(x, ids as tf.Tensor1D, 3), inputs: [INDICES, floats(1, 2, 4, 8, 16)], expected: Float32Array.of(4, 0, 8) },
  "NaN in a maximum": { fn: (x) => tf.max(x, 1), inputs: [matrix(3, floats(1, Number.NaN, Number.NaN, 0, -2, -1))], expected: Float32Array.of(Number.NaN, Number.NaN, -1) },
  "NaN in a minimum": { fn: (x) => tf.min(x, 0), inputs: [matrix(2, floats(1, Number.NaN, 2, Number.NaN, 0, -2))], expected: Float32Array.of(Number.NaN, Number.NaN, -2) },
  "joining nothing": { fn: (x) => tf.concat([x, x], 1), inputs: [{ shape: [0, 2], data: new Float32Array(0) }], expected: new Float32Array(0) },
  "reshaping nothing": { fn: (x) => tf.matMul(tf.reshape(x, [2, 0]), tf.reshape(x, [0, 3])), inputs: [{ shape: [0, 2], data: new Float32Array(0) }], expected: new Float32Array(6) },
};

describe.each(Object.entries(ENGINES))("engine %s", (_name, create) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await create();
  });
  afterAll(async () => {
    await engine.dispose();
  });

  it.each(Object.entries(CASES))("%s", async (_title, { fn, inputs, expected }) => {
    const named = Object.fromEntries(inputs.map((input, index) => [String(index), input]));
    const { y } = await evaluate(engine, (tensors) => ({ y: fn(...inputs.map((_input, index) => tensors[String(index)] as tf.Tensor)) }), named);
    expect(y).toStrictEqual(expected);
  });
});

describe("an element type without a lowering is named, with the line", () => {
  const cases: readonly [DType, string, (x: tf.Tensor) => tf.Tensor][] = [
    ["bool", "add", (x) => tf.add(x, x)],
    ["bool", "neg", (x) => tf.neg(x)],
    ["bool", "matmul", (x) => tf.matMul(x, x)],
    ["bool", "clip", (x) => tf.clipByValue(x, 0, 1)],
    ["bool", "step", (x) => tf.step(x)],
    ["int32", "reciprocal", (x) => tf.reciprocal(x)],
  ];
  it.each(cases)("%s %s", (dtype, op, fn) => {
    expect(() => trace("typed", ({ x }) => ({ y: fn(x as tf.Tensor) }), { x: { shape: [2, 2], dtype } })).toThrow(
      expect.objectContaining({ code: "LEVANTER_NO_LOWERING", message: expect.stringMatching(new RegExp(`^operation ${op} on ${dtype} .*edge-cases\\.test\\.ts:\\d+.*cast to`)) as string }) as Error,
    );
  });
});
