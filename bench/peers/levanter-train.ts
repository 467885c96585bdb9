/**
 * Levanter's side of `pnpm bench train`, on any of its engines: `DIRECTORY --steps N --threads N --engine onnx|wasm --device cpu`.
 * `onnx` is the compiled engine. `wasm` runs the same operations eagerly on tfjs, in the form that suits it: every product of transposed
 * operands transposes first, and the embedding's gradient is a product with the one-hot matrix.
 */
import { selectEngine, TrainingState, type EngineDevice, type EngineName } from "@marin/levanter";
import { modelOf } from "../models.js";
import { loadWorkload, peakBytes, report, trainArguments } from "./protocol.js";
import { timed } from "./timed-engine.js";

const { directory, steps, threads, engine: engineName, device } = trainArguments();
const { shape, optimizer, weights, batch } = loadWorkload(directory);
const own = await selectEngine({ engine: engineName as EngineName, device: device as EngineDevice, threads });
const { engine, compileMilliseconds, take } = timed(own);
const state = await TrainingState.create(engine, modelOf(shape), { batchSize: shape.batch, microbatchSize: shape.batch, sequenceLength: shape.length });
for (const [name, values] of weights({ reuse: true })) state.parameters[name]?.write(values);

const ones = new Float32Array(shape.batch * shape.length).fill(1);
const losses: number[] = [];
const stepMilliseconds: number[] = [];
const outsideMilliseconds: number[] = [];
const programMilliseconds: Record<string, number[]> = {};
for (let step = 0; step < steps; step++) {
  take();
  const start = performance.now();
  const { loss, gradientNorm } = await state.computeGradients({ ...batch(step), weights: ones, weightSum: ones.length });
  const clip = Math.min(1, optimizer.clipNorm / (gradientNorm + 1e-6));
  await state.update({ ...optimizer, update: step + 1, gradientScale: clip / ones.length });
  losses.push(loss);
  const duration = performance.now() - start;
  const { inside, programs } = take();
  stepMilliseconds.push(duration);
  outsideMilliseconds.push(duration - inside);
  for (const [name, milliseconds] of Object.entries(programs)) (programMilliseconds[name] ??= []).push(milliseconds);
}
const compiled = engineName === "onnx" ? { compileMilliseconds: compileMilliseconds(), outsideMilliseconds, programMilliseconds } : {};
report({ version: own.description, threads: engineName === "onnx" ? threads : 1, losses, stepMilliseconds, ...compiled, peakBytes: peakBytes() });
await engine.dispose();
