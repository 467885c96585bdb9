import { afterAll, expect, it } from "vitest";
import { drawnParameters } from "../../../test/reference/gpt2-runs.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import { lossAndGradients, type LanguageModel } from "../../models/language-model.js";
import { llama } from "../../models/llama.js";
import { OnnxEngine } from "../compiled-engine.js";
import type { Engine, EngineBuffer, TensorData } from "../types.js";
import { DeviceEngine } from "./device-engine.js";

const environment = await useVulkan();
afterAll(() => environment.remove());

const [B, T, V] = [2, 16, 64];

/** Loss and gradients of a fixed batch, and what was left to the CPU. */
async function gradients(engine: Engine, model: LanguageModel): Promise<{ results: Record<string, TensorData>; left: readonly string[] | undefined }> {
  const rows = { shape: [B, T] };
  const program = await engine.compile("gradients", lossAndGradients(model), {
    ...model.parameters, tokens: { ...rows, dtype: "int32" }, targets: { ...rows, dtype: "int32" }, weights: { ...rows, dtype: "float32" },
  });
  const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
  const tokens = Int32Array.from({ length: B * T }, (_, i) => (i * 7) % V);
  const values: Record<string, TensorData> = { ...drawnParameters(model, 7), tokens, targets: tokens.map((token) => (token + 7) % V), weights: new Float32Array(B * T).fill(1) };
  for (const [name, data] of Object.entries(values)) (inputs.buffers[name] as EngineBuffer).write(data);
  await program.run(inputs.buffers, outputs.buffers);
  const results: Record<string, TensorData> = {};
  for (const [name, buffer] of Object.entries(outputs.buffers)) results[name] = await buffer.read();
  const left = engine.leftToCpu;
  await engine.dispose();
  return { results, left };
}

it("a Llama's loss and gradients are the CPU's, and all of it runs on webgpu: grouped queries, a loss in blocks, z-loss and a soft cap", async () => {
  const model = llama({ vocabSize: V, sequenceLength: T, hiddenSize: 32, layers: 1, heads: 4, keyValueHeads: 2, lossBlockSize: 32, zLossWeight: 1e-4, logitSoftCap: 30 });
  const expected = await gradients(await OnnxEngine.create({ threads: 1 }), model);
  const found = await gradients(await DeviceEngine.create({ device: "webgpu", threads: 1 }), model);
  expect(found.left).toEqual([]);
  for (const [name, values] of Object.entries(expected.results)) {
    const largest = Math.max(...Array.from(values, Math.abs));
    values.forEach((value, at) => { expect(Math.abs((found.results[name]?.[at] as number) - value), name).toBeLessThan(1e-4 * largest + 1e-6); });
  }
});
