import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectClose } from "../../test/reference/closeness.js";
import { ENGINES } from "../../test/reference/engines.js";
import { evaluate } from "../../test/reference/evaluate.js";
import type { Engine, TensorData, TensorFunction } from "./types.js";

const expressions: Readonly<Record<string, (x: tf.Tensor2D, y: tf.Tensor2D) => tf.Tensor>> = {
  "sum of three": (x, y) => tf.addN([x, y, tf.mul(x, y)]),
  "fused product with bias": (x, y) => tf.fused.matMul({ a: x, b: y, transposeB: true, bias: tf.slice(tf.sum(x, 1), 0, 1), activation: "relu" }),
  "a filled operand": (x, y) => tf.mul(tf.add(x, tf.fill([3, 4], 2.5)), y),
  "one more axis": (x, y) => tf.expandDims(tf.sub(x, y), 1),
  "ones and zeros like": (x, y) => tf.sub(tf.add(x, tf.onesLike(y)), tf.mul(y, tf.zerosLike(x))),
};

describe("the compiled engine agrees with the eager one", () => {
  const engines: Record<string, Engine> = {};
  beforeAll(async () => {
    for (const [name, create] of Object.entries(ENGINES)) engines[name] = await create();
  });
  afterAll(async () => {
    for (const engine of Object.values(engines)) await engine.dispose();
  });

  async function expectAgreement(fn: TensorFunction, inputs: Readonly<Record<string, { shape: number[]; data: TensorData }>>): Promise<void> {
    const [expected, found] = [await evaluate(engines["cpu"] as Engine, fn, inputs), await evaluate(engines["onnx"] as Engine, fn, inputs)];
    expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, values] of Object.entries(expected)) {
      const largest = Math.max(...Array.from(values, Math.abs));
      expectClose(found[name] ?? [], values, 1e-6 + 2e-6 * largest, 1e-5, name);
    }
  }

  const matrix = (rows: number, columns: number, seed: number): { shape: number[]; data: Float32Array } => ({
    shape: [rows, columns],
    data: Float32Array.from({ length: rows * columns }, (_unused, index) => Math.sin((index + 1) * (seed + 1) * 1.7)),
  });

  it.each(Object.entries(expressions))("%s, with gradients", async (_name, apply) => {
    const fn: TensorFunction = ({ x, y }) => {
      const of = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.sum(tf.square(apply(a as tf.Tensor2D, b as tf.Tensor2D)));
      const [dx, dy] = tf.grads(of)([x as tf.Tensor, y as tf.Tensor]) as [tf.Tensor, tf.Tensor];
      return { value: apply(x as tf.Tensor2D, y as tf.Tensor2D), dx, dy };
    };
    await expectAgreement(fn, { x: matrix(3, 4, 0), y: matrix(3, 4, 1) });
  });

  it("on random programs of products, transposes, scales, broadcasts, sums and shared parts, with gradients", async () => {
    type Build = (values: tf.Tensor[]) => tf.Tensor;
    // Every value is a matrix [n,n], so that any two combine.
    const steps = (n: number): Record<string, (a: tf.Tensor, b: tf.Tensor) => tf.Tensor> => ({
      product: (a, b) => tf.mul(tf.matMul(a, b), 1 / n),
      transposedProduct: (a, b) => tf.matMul(tf.transpose(a), b),
      flaggedProduct: (a, b) => tf.matMul(a, b, true, true),
      transpose: (a) => tf.transpose(a),
      twoTransposes: (a, b) => tf.add(tf.transpose(tf.transpose(a)), b),
      scale: (a) => tf.mul(a, -0.5),
      neutral: (a) => tf.add(tf.mul(a, 1), 0),
      add: (a, b) => tf.add(a, b),
      sub: (a, b) => tf.sub(b, a),
      bias: (a, b) => tf.add(tf.mul(tf.matMul(a, a), 1), tf.mean(b, 0)),
      rowSum: (a, b) => tf.mul(a, tf.sum(b, 1, true)),
      broadcast: (a, b) => tf.sub(a, tf.broadcastTo(tf.mean(b, 0, true), [n, n])),
      softmax: (a) => tf.softmax(a),
      reshaped: (a) => tf.reshape(tf.reshape(a, [n * n, 1]), [n, n]),
      sigmoid: (a) => tf.sigmoid(a),
      gather: (a) => tf.gather(a, tf.tensor1d(Array.from({ length: n }, (_unused, index) => (index * index) % n), "int32")),
      where: (a, b) => tf.where(tf.greater(tf.range(0, n, 1, "int32"), 1), a, tf.mul(b, 0.5)),
      splitAndStack: (a) => tf.reshape(tf.stack(tf.unstack(a, 1), 0), [n, n]),
      padAndSlice: (a) => tf.slice(tf.pad(a, [[1, 0], [0, 2]]), [1, 0], [n, n]),
    });
    const names = Object.keys(steps(1));
    const instruction = fc.record({ op: fc.constantFrom(...names), a: fc.nat(), b: fc.nat() });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.array(instruction, { minLength: 1, maxLength: 8 }), async (n, instructions) => {
        const build: Build = (values) => {
          const all = values.slice();
          for (const { op, a, b } of instructions) {
            const next = steps(n)[op]?.(all[a % all.length] as tf.Tensor, all[b % all.length] as tf.Tensor);
            // Bounded, so that products of products stay comparable.
            all.push(tf.tanh(next as tf.Tensor));
          }
          return all.at(-1) as tf.Tensor;
        };
        const fn: TensorFunction = ({ x, y }) => {
          const inputs = [x as tf.Tensor, y as tf.Tensor];
          const [dx, dy] = tf.grads((a: tf.Tensor, b: tf.Tensor) => tf.sum(tf.add(build([a, b]), tf.mul(tf.add(a, b), 0.01))))(inputs) as [tf.Tensor, tf.Tensor];
          return { value: build(inputs), dx, dy };
        };
        await expectAgreement(fn, { x: matrix(n, n, 2), y: matrix(n, n, 3) });
      }),
      { numRuns: 60, seed: 1 },
    );
  });
});
