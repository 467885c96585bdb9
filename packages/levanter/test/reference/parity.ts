import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Engine, EngineBuffer, TensorData } from "../../src/engine/types.js";
import { gradientName, lossAndGradients, type LanguageModel } from "../../src/models/language-model.js";
import { TrainingState } from "../../src/training-state.js";
import { expectClose, expectNormClose } from "./closeness.js";
import { ENGINES } from "./engines.js";
import { evaluate, type HostTensor } from "./evaluate.js";
import type { Fixture } from "./fixtures.js";
import { drawnParameters, randomBatch, train, trainingShape, type ParityIndex } from "./gpt2-runs.js";

/** A model and what PyTorch computed for it. */
export interface ParityCase {
  readonly name: string;
  readonly model: LanguageModel;
  readonly index: ParityIndex;
  readonly fixture: Fixture<unknown>;
  /** The values of a parameter that training determines. Default: all of them. */
  readonly determined?: (name: string, values: ArrayLike<number>) => ArrayLike<number>;
}

/** Tests a model on every engine: logits, loss and gradients, and 20 steps of AdamW. */
export function describeParity({ name, model, index, fixture, determined = (_name, values) => values }: ParityCase): void {
  describe.each(Object.entries(ENGINES))(`${name} on engine %s agrees with PyTorch`, (_name, createEngine) => {
    let engine: Engine;
    beforeAll(async () => {
      engine = await createEngine();
    });
    afterAll(() => engine.dispose());

    const initial = drawnParameters(model, index.weightSeed);
    const { tokens, targets, weights } = randomBatch(index, 0);
    const rows = [index.shape.batch, index.shape.length];
    const inputs: Record<string, HostTensor> = Object.fromEntries(Object.entries(model.parameters).map(([key, { shape }]) => [key, { shape, data: initial[key] as TensorData }]));
    inputs["tokens"] = { shape: rows, data: tokens };
    const lossInputs = { ...inputs, targets: { shape: rows, data: targets }, weights: { shape: rows, data: weights } };

    it("logit parity: in its logits", async () => {
      const { logits } = await evaluate(engine, model.logits, inputs);
      expectClose(logits ?? [], fixture.values(index.logits), 1e-4, 0, "logits");
    });

    it("gradient parity: in its loss and every gradient", async () => {
      const results = await evaluate(engine, lossAndGradients(model), lossInputs);
      const lossSum = (results["lossSum"] ?? [])[0] ?? Number.NaN;
      expect(Math.abs(lossSum - index.lossSum) / index.weightSum).toBeLessThan(1e-4);
      expect(index.gradients.map((gradient) => gradient.name)).toEqual(Object.keys(model.parameters));
      for (const stored of index.gradients) {
        const mean = Array.from(results[gradientName(stored.name)] ?? [], (value) => value / index.weightSum);
        expectNormClose(mean, fixture.values(stored), 1e-4, `gradient of ${stored.name}`);
      }
    });

    it("gradient parity: in its losses, gradient norms and weights over 20 steps of AdamW", async () => {
      const state = await TrainingState.create(engine, model, trainingShape(index));
      state.setParameters(initial);
      const history = await train(state, index, index.losses.length, (step) => randomBatch(index, step));
      expectClose(history.map(({ loss }) => loss), index.losses, 1e-4, 0, "losses");
      expectClose(history.map(({ gradientNorm }) => gradientNorm), index.gradientNorms, 1e-3, 0, "gradient norms");
      for (const stored of index.trained) {
        const found = await (state.parameters[stored.name] as EngineBuffer).read();
        expectClose(determined(stored.name, found), determined(stored.name, fixture.values(stored)), 1e-5, 0, stored.name);
      }
      state.release();
    });
  });
}
