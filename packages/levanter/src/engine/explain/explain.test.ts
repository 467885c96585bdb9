import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gpt2 } from "../../models/gpt2.js";
import { lossAndGradients } from "../../models/language-model.js";
import { OnnxEngine } from "../compiled-engine.js";
import { EagerEngine } from "../eager-engine.js";
import { elementCount } from "../shape.js";
import type { Engine, Program, Specs, TensorFunction } from "../types.js";
import type { ProgramExplanation } from "./explanation.js";
import { formatExplanation } from "./format.js";

function float(...shape: number[]): Specs[string] {
  return { shape, dtype: "float32" };
}

let engine: Engine;
beforeAll(async () => { engine = await OnnxEngine.create({ threads: 1 }); });
afterAll(() => engine.dispose());

async function explained(fn: TensorFunction, specs: Specs, on: Engine = engine): Promise<ProgramExplanation> {
  const program = await on.compile("explained", fn, specs);
  const explanation = await program.explain();
  program.dispose();
  return explanation;
}

describe("explain", () => {
  it("counts a product as two operations a term, and its bytes once each", async () => {
    const { nodes, totals } = await explained(({ a, b }) => ({ y: tf.matMul(a as tf.Tensor, b as tf.Tensor, false, true) }), { a: float(2, 3, 5), b: float(2, 7, 5) });
    expect(nodes).toEqual([{ op: "matmul", inputs: [[2, 3, 5], [2, 7, 5]], shape: [2, 3, 7], dtype: "float32", flops: 2 * 2 * 3 * 5 * 7, bytes: 4 * (30 + 70 + 42), milliseconds: undefined }]);
    expect(totals).toEqual({ flops: 420, bytes: 568, milliseconds: undefined, runMilliseconds: undefined, heldBytes: 0 });
  });

  it.each<[string, TensorFunction, Specs, number, number]>([
    ["a sum reads all and writes one", ({ x }) => ({ y: tf.sum(x as tf.Tensor) }), { x: float(4, 6) }, 24, 4 * 25],
    ["a small operand is read as it is", ({ x, b }) => ({ y: tf.add(x as tf.Tensor, b as tf.Tensor) }), { x: float(4, 6), b: float(6) }, 24, 4 * (24 + 6 + 24)],
    ["a lookup reads the rows that it takes", ({ x, i }) => ({ y: tf.gather(x as tf.Tensor, i as tf.Tensor1D) }), { x: float(100, 6), i: { shape: [3], dtype: "int32" } }, 0, 4 * (18 + 18 + 3)],
    ["a reshape costs nothing", ({ x }) => ({ y: tf.reshape(x as tf.Tensor, [24]) }), { x: float(4, 6) }, 0, 0],
    ["a bool is a byte", ({ x }) => ({ y: tf.greater(x as tf.Tensor, x as tf.Tensor) }), { x: float(4, 6) }, 24, 4 * 24 * 2 + 24],
    ["a product with bias adds it", ({ x, w, b }) => ({ y: tf.add(tf.matMul(x as tf.Tensor, w as tf.Tensor), b as tf.Tensor) }), { x: float(2, 3), w: float(3, 5), b: float(5) }, 2 * 2 * 3 * 5 + 10, 4 * (6 + 15 + 5 + 10)],
  ])("%s", async (_what, fn, specs, flops, bytes) => {
    const { totals } = await explained(fn, specs);
    expect({ flops: totals.flops, bytes: totals.bytes }).toEqual({ flops, bytes });
  });

  it("counts the products of a model's step as its shape says: three times the forward pass", async () => {
    const [B, T, D, L, V] = [2, 16, 32, 3, 64];
    const { operations } = await explainedModel({ B, T, D, L, V }).then((program) => program.explain());
    const flops = operations.filter(({ op }) => op === "matmul" || op === "gemm").reduce((sum, operation) => sum + operation.flops, 0);
    const biases = B * T * L * (3 * D + D + 4 * D + D);
    // Forward: 24 N D² in the linear maps of a block, 4 B T² D in its attention (scores and outputs, all positions), 2 N D V in the head.
    expect(flops).toBe(3 * (L * (24 * B * T * D * D + 4 * B * T * T * D) + 2 * B * T * D * V) + biases);
  });

  it("counts what is held between operations, in-place ones in place", async () => {
    const x = (n: number): Specs => ({ x: float(n) });
    const chain: TensorFunction = ({ x: input }) => ({ y: tf.sum(tf.sin(tf.exp(tf.square(input as tf.Tensor)))) });
    expect((await explained(chain, x(100))).totals.heldBytes).toBe(400);
    const both: TensorFunction = ({ x: input }) => {
      const e = tf.exp(input as tf.Tensor);
      return { y: tf.sum(tf.mul(tf.sin(e), tf.cos(e))) };
    };
    expect((await explained(both, x(100))).totals.heldBytes).toBe(800);
  });

  it("gives the same graph on an eager engine, without times", async () => {
    const eager = await EagerEngine.create("cpu");
    const fn: TensorFunction = ({ x }) => ({ y: tf.softmax(tf.add(x as tf.Tensor, 1)) });
    const { engine: name, ...rest } = await explained(fn, { x: float(3, 4) }, eager);
    expect(name).toBe("cpu");
    expect(rest).toEqual(await explained(fn, { x: float(3, 4) }).then(({ engine: _engine, ...other }) => other));
    const program = await eager.compile("timed", fn, { x: float(3, 4) });
    expect((await program.explain({ profile: true })).totals.milliseconds).toBeUndefined();
    await eager.dispose();
  });
});

describe("explain with a profile", () => {
  it("says where the time of a run goes, by operation and kind, and leaves buffers as they are", async () => {
    const program = await explainedModel({ B: 4, T: 64, D: 128, L: 2, V: 512 });
    const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
    for (const [name, buffer] of Object.entries(inputs.buffers)) if (buffer.spec.dtype === "float32") buffer.write(new Float32Array(elementCount(buffer.spec.shape)).fill(name === "weights" ? 1 : 0.01));
    await program.run(inputs.buffers, outputs.buffers);
    const before = await outputs.buffers["grad/wte.weight"]?.read();
    const explanation = await program.explain({ profile: true });
    expect(await outputs.buffers["grad/wte.weight"]?.read()).toEqual(before);

    const { nodes, operations, totals, fused } = explanation;
    expect(nodes.filter(({ op }) => op === "matmul" || op === "gemm").every(({ milliseconds }) => (milliseconds ?? 0) > 0)).toBe(true);
    const ofNodes = nodes.reduce((sum, { milliseconds }) => sum + (milliseconds ?? 0), 0);
    const ofFused = fused.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
    expect(totals.milliseconds).toBeCloseTo(ofNodes + ofFused, 9);
    expect(operations.reduce((sum, { milliseconds }) => sum + (milliseconds ?? 0), 0)).toBeCloseTo(ofNodes, 9);
    // Nothing is counted twice, and nearly everything leads back to the graph.
    expect(totals.milliseconds).toBeLessThanOrEqual(totals.runMilliseconds ?? 0);
    expect(ofFused).toBeLessThan(0.1 * ofNodes);
    expect((await program.explain()).nodes.map(({ op, flops }) => [op, flops])).toEqual(nodes.map(({ op, flops }) => [op, flops]));
    for (const group of [inputs, outputs]) group.release();
    // Whose buffers are gone: zeros in their place.
    expect((await program.explain({ profile: true })).totals.milliseconds).toBeGreaterThan(0);
  });
});

describe("formatExplanation", () => {
  it("aligns its columns, the heaviest operations first", async () => {
    const explanation = await explained(({ a, b }) => ({ y: tf.exp(tf.matMul(a as tf.Tensor, b as tf.Tensor)) }), { a: float(100, 1000), b: float(1000, 50) });
    expect(formatExplanation(explanation)).toBe(
      [
        "explained (onnx): 2 operations, 0.010 GFLOP, 0.6 MiB read and written, 0.0 MiB held between",
        "",
        "operation  count  GFLOP  MiB",
        "matmul         1  0.010  0.6",
        "exp            1  0.000  0.0",
        "",
        "operation  shape                                     GFLOP  MiB",
        "matmul     [100,1000] [1000,50] -> float32 [100,50]  0.010  0.6",
        "exp        [100,50] -> float32 [100,50]              0.000  0.0",
        "",
      ].join("\n"),
    );
    const timed = { ...explanation, totals: { ...explanation.totals, milliseconds: 0.5, runMilliseconds: 0.75 }, fused: [{ name: "Both", operator: "FusedGemm", milliseconds: 0.5 }] };
    expect(formatExplanation(timed, { top: 1 })).toMatch(/^FusedGemm \(made by the runtime: Both\) +1 +0\.500 +100\.0 %$/m);
  });
});

function explainedModel({ B, T, D, L, V }: Readonly<Record<"B" | "T" | "D" | "L" | "V", number>>): Promise<Program> {
  const model = gpt2({ vocabSize: V, hiddenSize: D, layers: L, heads: 4, sequenceLength: T });
  const rows = { shape: [B, T] };
  return engine.compile("gradients", lossAndGradients(model), { ...model.parameters, tokens: { ...rows, dtype: "int32" }, targets: { ...rows, dtype: "int32" }, weights: { ...rows, dtype: "float32" } });
}
