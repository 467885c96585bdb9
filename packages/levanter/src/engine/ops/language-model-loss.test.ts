import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectNormClose } from "../../../test/reference/closeness.js";
import { ENGINES } from "../../../test/reference/engines.js";
import { evaluate } from "../../../test/reference/evaluate.js";
import { symmetric, hash32 } from "../../../test/reference/hashing.js";
import { optimize } from "../passes/optimize.js";
import { elementCount } from "../shape.js";
import { trace } from "../trace.js";
import type { Engine, TensorFunction } from "../types.js";
import { languageModelLoss, type LossOptions } from "./language-model-loss.js";

interface Case {
  readonly rows: number;
  readonly width: number;
  readonly vocabulary: number;
  readonly hidden: Float32Array;
  readonly table: Float32Array;
  readonly targets: Int32Array;
  readonly weights: Float32Array;
}

function caseOf(rows: number, width: number, vocabulary: number, scale: number): Case {
  return {
    rows, width, vocabulary,
    hidden: symmetric(1, rows * width, scale), table: symmetric(2, vocabulary * width, 1),
    targets: Int32Array.from(hash32(3, rows), (value) => value % vocabulary),
    weights: Float32Array.from(hash32(4, rows), (value) => (value % 4) / 2),
  };
}

/** The definition, in float64: loss, and its gradients by h and table. */
function oracle({ rows, width, vocabulary, hidden, table, targets, weights }: Case, { zLossWeight, logitSoftCap }: LossOptions): { loss: number; dHidden: Float64Array; dTable: Float64Array } {
  let loss = 0;
  const [dHidden, dTable] = [new Float64Array(hidden.length), new Float64Array(table.length)];
  for (let row = 0; row < rows; row++) {
    const logits = new Float64Array(vocabulary);
    for (let token = 0; token < vocabulary; token++) {
      let product = 0;
      for (let at = 0; at < width; at++) product += (hidden[row * width + at] as number) * (table[token * width + at] as number);
      logits[token] = logitSoftCap === 0 ? product : logitSoftCap * Math.tanh(product / logitSoftCap);
    }
    const largest = logits.reduce((a, b) => Math.max(a, b));
    const logSum = largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
    const [target, weight] = [targets[row] as number, weights[row] as number];
    loss += weight * (logSum - (logits[target] as number) + zLossWeight * logSum ** 2);
    for (let token = 0; token < vocabulary; token++) {
      const logit = logits[token] as number;
      const slope = logitSoftCap === 0 ? 1 : 1 - (logit / logitSoftCap) ** 2;
      const gradient = weight * slope * ((1 + 2 * zLossWeight * logSum) * Math.exp(logit - logSum) - (token === target ? 1 : 0));
      for (let at = 0; at < width; at++) {
        dHidden[row * width + at] = (dHidden[row * width + at] as number) + gradient * (table[token * width + at] as number);
        dTable[token * width + at] = (dTable[token * width + at] as number) + gradient * (hidden[row * width + at] as number);
      }
    }
  }
  return { loss, dHidden, dTable };
}

function lossOf(options: LossOptions): TensorFunction {
  return (inputs) => {
    const { hidden, table, targets, weights } = inputs as Record<"hidden" | "table" | "targets" | "weights", tf.Tensor>;
    const { value, grads } = tf.valueAndGrads((h: tf.Tensor, t: tf.Tensor) => languageModelLoss(h, t, targets, weights, options))([hidden, table]);
    return { loss: value, dHidden: grads[0] as tf.Tensor, dTable: grads[1] as tf.Tensor };
  };
}

async function expectOracle(engine: Engine, testCase: Case, options: LossOptions): Promise<void> {
  const { rows, width, vocabulary, hidden, table, targets, weights } = testCase;
  const found = await evaluate(engine, lossOf(options), {
    hidden: { shape: [rows, width], data: hidden }, table: { shape: [vocabulary, width], data: table },
    targets: { shape: [rows], data: targets }, weights: { shape: [rows], data: weights },
  });
  const expected = oracle(testCase, options);
  expectNormClose(found["loss"] ?? [], [expected.loss], 1e-5, "loss");
  expectNormClose(found["dHidden"] ?? [], expected.dHidden, 1e-5, "gradient of the hidden states");
  expectNormClose(found["dTable"] ?? [], expected.dTable, 1e-5, "gradient of the table");
}

describe.each(Object.entries(ENGINES))("the loss of a head on engine %s agrees with its definition", (_name, createEngine) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.dispose());

  it("for any block size, z-loss and cap", async () => {
    const options = fc.record({ zLossWeight: fc.constantFrom(0, 1e-4, 0.1), logitSoftCap: fc.constantFrom(0, 2, 30), lossBlockSize: fc.nat(25) });
    await fc.assert(fc.asyncProperty(options, fc.integer({ min: 1, max: 9 }), (chosen, rows) => expectOracle(engine, caseOf(rows, 5, 23, 3), chosen)), {
      numRuns: 40, seed: 1, examples: [1, 2, 3, 4, 5].map((lossBlockSize) => [{ zLossWeight: 1e-4, logitSoftCap: 30, lossBlockSize }, 7]),
    });
  });
});

it.each([4096, 5000])("agrees with its definition for GPT-2's vocabulary in blocks of %i", async (lossBlockSize) => {
  const engine = await (ENGINES["onnx"] as () => Promise<Engine>)();
  await expectOracle(engine, caseOf(24, 16, 50_257, 2), { zLossWeight: 1e-4, logitSoftCap: 30, lossBlockSize });
  await expectOracle(engine, caseOf(24, 16, 50_257, 2), { zLossWeight: 0, logitSoftCap: 0, lossBlockSize });
  await engine.dispose();
});

it("never holds more logits than a block's", () => {
  const [rows, vocabulary, lossBlockSize] = [512, 50_257, 4096];
  const graph = optimize(trace("loss", lossOf({ zLossWeight: 1e-4, logitSoftCap: 30, lossBlockSize }), {
    hidden: { shape: [rows, 4], dtype: "float32" }, table: { shape: [vocabulary, 4], dtype: "float32" }, targets: { shape: [rows], dtype: "int32" }, weights: { shape: [rows], dtype: "float32" },
  }));
  const sizes = graph.nodes.flatMap(({ outputs }) => outputs.map(({ shape }) => elementCount(shape)));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(rows * lossBlockSize);
});
