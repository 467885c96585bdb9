/**
 * Levanter's side of `pnpm bench train`, on any of its engines: `DIRECTORY --steps N --threads N --engine onnx|wasm`.
 * `onnx` is the compiled engine. `wasm` runs the same operations eagerly on tfjs, in the form that suits it: every product of transposed
 * operands transposes first, and the embedding's gradient is a product with the one-hot matrix.
 */
import { gpt2, selectEngine, TrainingState, type EngineName } from "@marin/levanter";
import { loadWorkload, peakBytes, report, trainArguments } from "./protocol.js";

const { directory, steps, threads, engine: engineName } = trainArguments();
const { shape, optimizer, weights, batch } = loadWorkload(directory);
const engine = await selectEngine({ engine: engineName as EngineName, threads });
const model = gpt2({ vocabSize: shape.vocabulary, hiddenSize: shape.width, layers: shape.layers, heads: shape.heads, sequenceLength: shape.length });
const state = await TrainingState.create(engine, model, { batchSize: shape.batch, microbatchSize: shape.batch, sequenceLength: shape.length });
state.setParameters(weights);

const ones = new Float32Array(shape.batch * shape.length).fill(1);
const losses: number[] = [];
const stepMilliseconds: number[] = [];
for (let step = 0; step < steps; step++) {
  const start = performance.now();
  const { loss, gradientNorm } = await state.computeGradients({ ...batch(step), weights: ones, weightSum: ones.length });
  const clip = Math.min(1, optimizer.clipNorm / (gradientNorm + 1e-6));
  await state.update({ ...optimizer, update: step + 1, gradientScale: clip / ones.length });
  losses.push(loss);
  stepMilliseconds.push(performance.now() - start);
}
report({ version: engine.description, threads: engineName === "onnx" ? threads : 1, losses, stepMilliseconds, peakBytes: peakBytes() });
await engine.dispose();
