import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultDevice, numpy as np, valueAndGrad } from "@jax-js/jax";
import { selectEngine, TrainingState } from "@marin/levanter";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-layers";
import { beforeAll, describe, expect, it } from "vitest";
import { BENCH_MODELS, modelOf, type WorkloadShape } from "../models.js";
import { writeTrainWorkload } from "../train-workload.js";
import { jaxJsLoss, type JaxParameters } from "./jax-js-models.js";
import { loadWorkload, type LoadedWorkload } from "./protocol.js";
import { tfjsLoss } from "./tfjs-models.js";

const sizes = { vocabulary: 40, width: 24, inner: 48, layers: 2, heads: 6, positions: 8, batch: 2, length: 8 };
const shapes: readonly WorkloadShape[] = [
  { ...BENCH_MODELS.tutorial.shape, ...sizes, keyValueHeads: 6 },
  { ...BENCH_MODELS["llama-20m"].shape, ...sizes, keyValueHeads: 2 },
];

describe.each(shapes)("the $architecture of the benchmark's JavaScript peers", (shape) => {
  let workload: LoadedWorkload;
  let expected: { loss: number; gradientNorm: number };

  beforeAll(async () => {
    workload = await inDirectory(shape);
    const engine = await selectEngine({ engine: "onnx", threads: 1 });
    const state = await TrainingState.create(engine, modelOf(shape), { batchSize: shape.batch, microbatchSize: shape.batch, sequenceLength: shape.length });
    for (const [name, values] of workload.weights()) state.parameters[name]?.write(values);
    const weights = new Float32Array(shape.batch * shape.length).fill(1);
    expected = await state.computeGradients({ ...workload.batch(0), weights, weightSum: weights.length });
    await engine.dispose();
  });

  it("has levanter's loss and gradient in plain tf.*", async () => {
    const engine = await selectEngine({ engine: "cpu" });
    await tf.setBackend("cpu");
    const variables = Object.fromEntries([...workload.weights()].map(([name, values, size]) => [name, tf.variable(tf.tensor(values, [...size]))]));
    const { tokens, targets } = workload.batch(0);
    const rows = (values: Int32Array): tf.Tensor2D => tf.tensor2d(values, [shape.batch, shape.length], "int32");
    const { value, grads } = tf.variableGrads(() => tfjsLoss(variables, shape, rows(tokens), rows(targets)));
    const squares = Object.values(grads).map((gradient) => tf.sum(tf.square(gradient)).dataSync()[0] ?? Number.NaN);
    expectAlike(value.dataSync()[0] ?? Number.NaN, squares, expected);
    await engine.dispose();
  });

  it("has levanter's loss and gradient in jax-js", async () => {
    if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { userAgent: "Node.js" } });
    defaultDevice("wasm");
    const parameters: JaxParameters = {};
    for (const [name, values, size] of workload.weights()) parameters[name] = np.array(values as Float32Array<ArrayBuffer>).reshape([...size]);
    const { tokens, targets } = workload.batch(0);
    const rows = (values: Int32Array): np.Array => np.array(values as Int32Array<ArrayBuffer>).reshape([shape.batch, shape.length]);
    const lossOf = valueAndGrad((given: JaxParameters, inputs: np.Array, next: np.Array) => jaxJsLoss(given, inputs, next, shape));
    const [loss, gradients] = lossOf(parameters, rows(tokens), rows(targets)) as [np.Array, JaxParameters];
    const squares: number[] = [];
    for (const gradient of Object.values(gradients)) squares.push((await np.square(gradient).sum().data())[0] ?? Number.NaN);
    expectAlike((await loss.data())[0] ?? Number.NaN, squares, expected);
  });
});

function expectAlike(loss: number, squares: readonly number[], expected: { readonly loss: number; readonly gradientNorm: number }): void {
  expect(Math.abs(loss - expected.loss)).toBeLessThan(1e-4);
  expect(Math.sqrt(squares.reduce((sum, square) => sum + square)) / expected.gradientNorm).toBeCloseTo(1, 4);
}

async function inDirectory(shape: WorkloadShape): Promise<LoadedWorkload> {
  const directory = mkdtempSync(join(tmpdir(), "marin-bench-test-"));
  try {
    await writeTrainWorkload(directory, shape);
    const workload = loadWorkload(directory);
    const weights = [...workload.weights()];
    return { ...workload, *weights() { yield* weights; } };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
