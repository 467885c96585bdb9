import * as tf from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { isOp, type Graph, type Node, type OpName } from "../graph.js";
import { trace } from "../trace.js";
import type { Specs } from "../types.js";
import { scatterAddRows } from "../ops/embedding.js";
import { linear } from "../ops/linear.js";
import { optimize } from "./optimize.js";

type Tensors = Readonly<Record<string, tf.Tensor>>;

function optimized(fn: (inputs: Tensors) => tf.Tensor, shapes: Readonly<Record<string, readonly number[]>>): Graph {
  const specs: Specs = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape, dtype: name.startsWith("i") ? "int32" : "float32" }]));
  return optimize(trace("test", (inputs) => ({ y: fn(inputs) }), specs));
}

function ops(graph: Graph): OpName[] {
  return graph.nodes.map((node) => node.op);
}

function only<K extends OpName>(graph: Graph, op: K): Node<K> {
  const found = graph.nodes.filter((node) => isOp(node, op));
  expect(ops(graph)).toContain(op);
  expect(found).toHaveLength(1);
  return found[0] as Node<K>;
}

describe("optimize", () => {
  it("folds transposes into products, on both sides and twice", () => {
    const graph = optimized(({ a, b }) => tf.matMul(tf.transpose(a as tf.Tensor), tf.transpose(tf.transpose(tf.transpose(b as tf.Tensor)))), { a: [3, 2], b: [4, 3] });
    expect(only(graph, "matmul").attributes).toEqual({ transposeA: true, transposeB: true, alpha: 1 });
    expect(ops(graph)).toEqual(["matmul"]);
  });

  it("shares the transposition below a product's transposed operand", () => {
    const graph = optimized(({ x, y }) => {
      const heads = tf.transpose(x as tf.Tensor, [0, 2, 1, 3]);
      return tf.matMul(tf.matMul(y as tf.Tensor, tf.transpose(heads, [0, 1, 3, 2])), heads);
    }, { x: [2, 5, 3, 4], y: [2, 3, 6, 4] });
    expect(ops(graph)).toEqual(["transpose", "matmul", "matmul"]);
  });

  it("does not fold a transpose of batch axes", () => {
    const graph = optimized(({ a, b }) => tf.matMul(tf.transpose(a as tf.Tensor, [1, 0, 2]), b as tf.Tensor), { a: [2, 3, 4], b: [3, 4, 5] });
    expect(ops(graph)).toEqual(["transpose", "matmul"]);
  });

  it("turns a scale into the product's alpha, but not when the product is used elsewhere", () => {
    const scaled = optimized(({ a, b }) => tf.div(tf.mul(tf.matMul(a as tf.Tensor, b as tf.Tensor), 3), 8), { a: [2, 3], b: [3, 2] });
    expect(ops(scaled)).toEqual(["matmul"]);
    expect(only(scaled, "matmul").attributes.alpha).toBe(0.375);
    const shared = optimized(({ a, b }) => {
      const product = tf.matMul(a as tf.Tensor, b as tf.Tensor);
      return tf.add(product, tf.mul(tf.exp(product), product));
    }, { a: [2, 3], b: [3, 2] });
    expect(only(shared, "matmul").attributes.alpha).toBe(1);
  });

  it("keeps factors apart that no one number can stand for", () => {
    const tiny = optimized(({ a, b }) => tf.mul(tf.mul(tf.matMul(a as tf.Tensor, b as tf.Tensor), 1e-30), 1e-30), { a: [2, 3], b: [3, 2] });
    expect(ops(tiny).sort()).toEqual(["fill", "matmul", "mul"]);
    const huge = optimized(({ a, b }) => tf.div(tf.mul(tf.matMul(a as tf.Tensor, b as tf.Tensor), 1e30), 1e-30), { a: [2, 3], b: [3, 2] });
    expect(ops(huge).sort()).toEqual(["div", "fill", "matmul"]);
    const nought = optimized(({ a, b }) => tf.mul(tf.matMul(a as tf.Tensor, b as tf.Tensor), 0), { a: [2, 3], b: [3, 2] });
    expect(only(nought, "matmul").attributes.alpha).toBe(1);
  });

  it("adds a bias in the product", () => {
    const graph = optimized(({ x, w, b }) => linear(x as tf.Tensor, w as tf.Tensor, b), { x: [2, 3], w: [3, 4], b: [4] });
    expect(ops(graph)).toEqual(["gemm"]);
    const column = optimized(({ x, w, b }) => tf.add(tf.matMul(x as tf.Tensor, w as tf.Tensor), b as tf.Tensor), { x: [2, 3], w: [3, 4], b: [2, 1] });
    expect(ops(column)).toEqual(["matmul", "add"]);
  });

  it("scatters onto the other term of a sum", () => {
    const graph = optimized(({ ids, u, t }) => tf.add(t as tf.Tensor, scatterAddRows(5, ids as tf.Tensor, u as tf.Tensor)), { ids: [3], u: [3, 2], t: [5, 2] });
    expect(ops(graph)).toEqual(["scatterAddRows"]);
    const tied = optimized(({ ids, u, h, t }) => {
      const head = tf.add(tf.matMul(h as tf.Tensor, t as tf.Tensor), scatterAddRows(5, ids as tf.Tensor, u as tf.Tensor));
      return tf.add(head, scatterAddRows(5, ids as tf.Tensor, tf.neg(u as tf.Tensor)));
    }, { ids: [3], u: [3, 2], h: [5, 4], t: [4, 2] });
    expect(ops(tied)).toEqual(["matmul", "scatterAddRows", "neg", "scatterAddRows"]);
  });

  it("drops neutral operands, double casts, reshapes of reshapes and dead code", () => {
    const graph = optimized(({ x }) => {
      const v = x as tf.Tensor;
      tf.exp(v);
      return tf.reshape(tf.reshape(tf.add(tf.mul(tf.sub(v, tf.zerosLike(v)), tf.ones([2, 3])), 0), [6]), [3, 2]);
    }, { x: [2, 3] });
    expect(ops(graph)).toEqual(["reshape"]);
  });

  it("uses small operands in place of broadcast ones only where the shape stays", () => {
    const graph = optimized(({ x, b }) => tf.mul(x as tf.Tensor, tf.broadcastTo(b as tf.Tensor, [4, 3])), { x: [4, 3], b: [1, 3] });
    expect(ops(graph)).toEqual(["mul"]);
    const both = optimized(({ a, b }) => tf.add(tf.broadcastTo(a as tf.Tensor, [4, 3]), tf.broadcastTo(b as tf.Tensor, [4, 3])), { a: [1, 3], b: [1, 3] });
    expect(both.outputs.get("y")?.shape).toEqual([4, 3]);
    expect(ops(both).filter((op) => op === "broadcast")).toHaveLength(1);
  });

  it("turns a transpose that moves only axes of length one into a reshape", () => {
    expect(ops(optimized(({ x }) => tf.transpose(x as tf.Tensor, [1, 0, 2]), { x: [1, 3, 4] }))).toEqual(["reshape"]);
    expect(ops(optimized(({ x }) => tf.transpose(x as tf.Tensor, [0, 2, 1]), { x: [1, 3, 4] }))).toEqual(["transpose"]);
  });

  it("keeps a graph that returns its inputs", () => {
    const graph = optimize(trace("same", ({ x, z }) => ({ y: x as tf.Tensor, z: z as tf.Tensor }), { x: { shape: [2], dtype: "float32" }, z: { shape: [], dtype: "int32" } }));
    expect(graph.nodes).toHaveLength(0);
    expect(graph.outputs.get("y")).toBe(graph.inputs.get("x"));
  });
});
