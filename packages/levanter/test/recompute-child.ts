/**
 * Runs one step of a deep, narrow network twice and prints by how many bytes it raised the peak of the process's memory: `plain|recompute`.
 * The peak is that of a run; what came before (modules, compilation, buffers) is subtracted.
 */
import { readFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs-core";
import { recompute } from "@marin/levanter";
import { OnnxEngine } from "../src/engine/compiled-engine.js";
import { gelu } from "../src/engine/ops/gelu.js";
import { linear } from "../src/engine/ops/linear.js";
import type { Specs } from "../src/engine/types.js";

const [LAYERS, N, D, WIDTH] = [16, 4096, 32, 256];

function block(x: tf.Tensor, w: tf.Tensor, v: tf.Tensor): tf.Tensor {
  return tf.add(x, linear(gelu(linear(x, w)), v));
}

function residentBytes(field: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
}

const layer = process.argv[2] === "recompute" ? recompute(block) : block;
const specs: Specs = Object.fromEntries([
  ["x", { shape: [N, D], dtype: "float32" }] as const,
  ...Array.from({ length: LAYERS }, (_, l) => [[`w${l}`, { shape: [D, WIDTH], dtype: "float32" }] as const, [`v${l}`, { shape: [WIDTH, D], dtype: "float32" }] as const]).flat(),
]);
const engine = await OnnxEngine.create({ threads: 1 });
const program = await engine.compile("deep", (inputs) => {
  const names = Object.keys(inputs).filter((name) => name !== "x");
  const loss = (...weights: tf.Tensor[]): tf.Scalar => {
    let x = inputs["x"] as tf.Tensor;
    for (let l = 0; l < LAYERS; l++) x = layer(x, weights[2 * l] as tf.Tensor, weights[2 * l + 1] as tf.Tensor);
    return tf.sum(tf.square(x));
  };
  const gradients = tf.grads(loss)(names.map((name) => inputs[name] as tf.Tensor));
  return Object.fromEntries(gradients.map((gradient, index) => [names[index] as string, gradient]));
}, specs);
const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
const before = residentBytes("VmRSS");
const peak = residentBytes("VmHWM");
await program.run(inputs.buffers, outputs.buffers);
const { totals } = await program.explain();
// Where the peak is older than the run, the run took no more than what lay below it.
process.stdout.write(JSON.stringify({ grownBytes: Math.max(residentBytes("VmHWM"), peak) - before, heldBytes: totals.heldBytes, flops: totals.flops }));
await engine.dispose();
