import * as tf from "@tensorflow/tfjs-core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { compileToOnnx } from "./compile.js";
import { linearCrossEntropy } from "./ops/cross-entropy.js";
import { scatterAddRows } from "./ops/embedding.js";
import { gelu } from "./ops/gelu.js";
import { layerNorm } from "./ops/layer-norm.js";
import type { Specs, TensorFunction } from "./types.js";

afterEach(() => { vi.unstubAllEnvs(); });

const specs: Specs = {
  x: { shape: [6, 4], dtype: "float32" }, w: { shape: [4, 4], dtype: "float32" }, b: { shape: [4], dtype: "float32" },
  i: { shape: [6], dtype: "int32" }, a: { shape: [2, 5000], dtype: "float32" }, c: { shape: [2, 800], dtype: "float32" }, d: { shape: [2, 100], dtype: "float32" },
  e: { shape: [700, 1024], dtype: "float32" }, f: { shape: [2, 5, 40], dtype: "float32" }, g: { shape: [2, 5, 3], dtype: "float32" },
};

/** Everything that can be left out, once. */
const all: TensorFunction = (inputs) => {
  const of = (name: string): tf.Tensor => inputs[name] as tf.Tensor;
  const [x, w, b, i] = [of("x"), of("w"), of("b"), of("i")];
  const h = gelu(layerNorm(tf.add(tf.matMul(x, w), b), b, b, 1e-5));
  return {
    loss: linearCrossEntropy(h, w, i, tf.sum(tf.mul(tf.matMul(x, tf.exp(w)), 3), 1)),
    table: tf.add(tf.matMul(w, w), scatterAddRows(4, i, x)),
    tall: tf.matMul(of("a"), of("d"), true), wide: tf.matMul(of("c"), of("c"), true),
    colliding: tf.matMul(of("e"), of("e"), false, true), slim: tf.matMul(of("f"), of("g"), true),
  };
};

function operations(): string[] {
  return compileToOnnx("all", all, specs).graph.nodes.map((node) => (node.op === "matmul" && "alpha" in node.attributes && node.attributes.alpha !== 1 ? "scaled" : node.op));
}

describe("MARIN_ENGINE_WITHOUT", () => {
  it.each([
    ["GatherPerRow", "gatherPerRow"], ["GeluTanh", "geluTanh"], ["LayerNorm", "layerNorm"], ["LogSoftmax", "logSoftmax"], ["biasedProduct", "gemm"], ["scaledProduct", "scaled"],
  ])("%s: no operation %s", (name, op) => {
    expect(operations()).toContain(op);
    vi.stubEnv("MARIN_ENGINE_WITHOUT", name);
    expect(operations()).not.toContain(op);
  });

  it.each([["scatterOntoSum", 2], ["tallProduct", -4], ["wideProduct", -3], ["slimProducts", -1], ["lengthenedSum", -2]])("%s: %i operations more", (name, more) => {
    const usual = operations().length;
    vi.stubEnv("MARIN_ENGINE_WITHOUT", name);
    expect(operations().length - usual).toBe(more);
  });

  it("refuses what there is not, and says what there is", () => {
    vi.stubEnv("MARIN_ENGINE_WITHOUT", "LayerNorm, fastMath");
    expect(operations).toThrow('MARIN_ENGINE_WITHOUT names "fastMath"; what can be left out is GatherPerRow, GeluTanh,');
  });
});
