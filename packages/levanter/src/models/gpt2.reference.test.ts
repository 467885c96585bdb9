import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectClose, expectNormClose } from "../../test/reference/closeness.js";
import { ENGINES } from "../../test/reference/engines.js";
import { Fixture } from "../../test/reference/fixtures.js";
import { initialParameters, modelOf, randomBatch, trainingShape, train, type Gpt2Index } from "../../test/reference/gpt2-runs.js";
import type { Engine, EngineBuffer, Specs, TensorData } from "../engine/types.js";
import { TrainingState } from "../training-state.js";
import { gradientName, lossAndGradients } from "./language-model.js";

const fixture = Fixture.open<Gpt2Index>("gpt2");
const { index } = fixture;
const model = modelOf(index);
const rows = { shape: [index.shape.batch, index.shape.length] };
const lossInputs: Specs = {
  ...model.parameters, tokens: { ...rows, dtype: "int32" }, targets: { ...rows, dtype: "int32" }, weights: { ...rows, dtype: "float32" },
};

/** The key third of a joint projection's bias: it adds the same to all scores of a row, so its gradient is 0 and what is computed is rounding. */
function withoutKeyBias(name: string, values: ArrayLike<number>): number[] {
  const all = Array.from(values);
  const width = index.shape.width;
  return name.endsWith("attn.c_attn.bias") ? [...all.slice(0, width), ...all.slice(2 * width)] : all;
}

describe.each(Object.entries(ENGINES))("GPT-2 on engine %s agrees with PyTorch", (_name, createEngine) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.dispose());

  async function run(name: string, fn: Parameters<Engine["compile"]>[1], inputSpecs: Specs): Promise<Record<string, TensorData>> {
    const program = await engine.compile(name, fn, inputSpecs);
    const inputs = engine.allocate(inputSpecs);
    const outputs = engine.allocate(program.outputs);
    const { tokens, targets, weights } = randomBatch(index, 0);
    const values: Record<string, TensorData> = { ...initialParameters(index), tokens, targets, weights };
    for (const [key, buffer] of Object.entries(inputs.buffers)) buffer.write(values[key] as TensorData);
    await program.run(inputs.buffers, outputs.buffers);
    const results: Record<string, TensorData> = {};
    for (const [key, buffer] of Object.entries(outputs.buffers)) results[key] = await buffer.read();
    program.dispose();
    inputs.release();
    outputs.release();
    return results;
  }

  it("in its logits", async () => {
    const { weights: _weights, targets: _targets, ...inputs } = lossInputs;
    const { logits } = await run("logits", model.logits, inputs);
    expectClose(logits ?? [], fixture.values(index.logits), 1e-4, 0, "logits");
  });

  it("in its loss and every gradient", async () => {
    const results = await run("gradients", lossAndGradients(model), lossInputs);
    const lossSum = (results["lossSum"] ?? [])[0] ?? Number.NaN;
    expect(Math.abs(lossSum - index.lossSum) / index.weightSum).toBeLessThan(1e-4);
    expect(index.gradients.map(({ name }) => name)).toEqual(Object.keys(model.parameters));
    for (const stored of index.gradients) {
      const mean = Array.from(results[gradientName(stored.name)] ?? [], (value) => value / index.weightSum);
      expectNormClose(mean, fixture.values(stored), 1e-4, `gradient of ${stored.name}`);
    }
  });

  it("in its losses, gradient norms and weights over 20 steps of AdamW", async () => {
    const state = await TrainingState.create(engine, model, trainingShape(index));
    state.setParameters(initialParameters(index));
    const history = await train(state, index, index.losses.length, (step) => randomBatch(index, step));
    expectClose(history.map(({ loss }) => loss), index.losses, 1e-4, 0, "losses");
    expectClose(history.map(({ gradientNorm }) => gradientNorm), index.gradientNorms, 1e-3, 0, "gradient norms");
    for (const stored of index.trained) {
      const weights = await (state.parameters[stored.name] as EngineBuffer).read();
      expectClose(withoutKeyBias(stored.name, weights), withoutKeyBias(stored.name, fixture.values(stored)), 1e-5, 0, stored.name);
    }
    state.release();
  });
});
