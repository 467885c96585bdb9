/** tfjs's side of `pnpm bench train`: plain `tf.*`, tfjs's own gradients and Adam, backend wasm. `DIRECTORY --steps N --threads N` */
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs-core";
// Registers the gradients of operations, which tfjs-core leaves out in Node.
import "@tensorflow/tfjs-layers";
import { loadWorkload, peakBytes, report, trainArguments } from "./protocol.js";
import { tfjsLoss } from "./tfjs-models.js";

setWasmPaths(dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-backend-wasm")) + sep);
await tf.setBackend("wasm");

const { directory, steps } = trainArguments();
const { shape, optimizer: setup, parameters, weights, batch } = loadWorkload(directory);
const variables: Record<string, tf.Variable> = {};
for (const [name, values, sizes] of weights()) variables[name] = tf.variable(tf.tensor(values, [...sizes]), true, name);
const optimizer = tf.train.adam(setup.learningRate, setup.beta1, setup.beta2, setup.epsilon);

/** One step; the loss before its update. */
function train(step: number): number {
  return tf.tidy(() => {
    const { tokens, targets } = batch(step);
    const rows = (values: Int32Array): tf.Tensor2D => tf.tensor2d(values, [shape.batch, shape.length], "int32");
    const { value, grads } = tf.variableGrads(() => tfjsLoss(variables, shape, rows(tokens), rows(targets)), Object.values(variables));
    const norm = tf.sqrt(tf.addN(Object.values(grads).map((gradient) => tf.sum(tf.square(gradient)))));
    const clip = tf.minimum(1, tf.div(setup.clipNorm, tf.add(norm, 1e-6)));
    // Adam with decoupled weight decay: decayed first, as AdamW is defined.
    for (const { name, decayed } of parameters) {
      const variable = variables[name];
      if (decayed) variable?.assign(tf.mul(variable, 1 - setup.learningRate * setup.weightDecay));
    }
    optimizer.applyGradients(Object.fromEntries(Object.entries(grads).map(([name, gradient]) => [name, tf.mul(gradient, clip)])));
    return value.dataSync()[0] ?? Number.NaN;
  });
}

const losses: number[] = [];
const stepMilliseconds: number[] = [];
for (let step = 0; step < steps; step++) {
  const start = performance.now();
  losses.push(train(step));
  stepMilliseconds.push(performance.now() - start);
}
report({ version: `tfjs ${tf.version_core}, backend ${tf.getBackend()}`, threads: 1, losses, stepMilliseconds, peakBytes: peakBytes() });
