import { expect, it } from "vitest";
import { readIndex } from "../../test/reference/fixtures.js";
import { initialParameters, modelOf, readText, textBatch, train, trainingShape, type TrainingIndex } from "../../test/reference/gpt2-runs.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { TrainingState } from "../training-state.js";

it("follows PyTorch's losses for 50 steps on English text from equal weights and batches", async () => {
  const index = readIndex<TrainingIndex>("loss-curve");
  const engine = await OnnxEngine.create({ threads: 1 });
  const state = await TrainingState.create(engine, modelOf(index), trainingShape(index));
  state.setParameters(initialParameters(index));
  const text = readText();
  const history = await train(state, index, index.losses.length, (step) => textBatch(index, text, step));
  expect(history).toHaveLength(50);
  const differences = history.map(({ loss }, step) => Math.abs(loss - (index.losses[step] as number)));
  expect(Math.max(...differences)).toBeLessThan(1e-3);
  await engine.dispose();
});
