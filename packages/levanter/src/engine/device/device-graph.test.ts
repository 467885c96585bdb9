import * as tf from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { operationName } from "../graph.js";
import { optimize } from "../passes/optimize.js";
import { trace } from "../trace.js";
import { forDevice } from "./device-graph.js";

function operations(fn: (x: tf.Tensor) => tf.Tensor, shape: readonly number[], device: "webgpu" | "cuda" = "webgpu"): string[] {
  const graph = forDevice(optimize(trace("test", ({ x }) => ({ y: fn(x as tf.Tensor) }), { x: { shape, dtype: "float32" } })), device, "float32");
  return graph.nodes.map(operationName);
}

describe("a graph for webgpu", () => {
  it.each<[string, (x: tf.Tensor) => tf.Tensor, number[], string[]]>([
    ["a product with a transposed operand is one with a zero bias", (x) => tf.matMul(x, x, true), [3, 4], ["fill", "gemm"]],
    ["in batches it transposes first", (x) => tf.matMul(x, x, false, true), [2, 3, 4], ["transpose", "matmul"]],
    ["a plain product stays", (x) => tf.matMul(x, x), [3, 3], ["matmul"]],
    ["a long vector is summed in two stages", (x) => tf.sum(x), [65_536 * 3], ["reshape", "sum", "sum"]],
    ["a short one at once", (x) => tf.sum(x), [65_536], ["sum"]],
    ["one of odd length at once", (x) => tf.sum(x), [65_537], ["sum"]],
    ["NaN is what differs from itself", (x) => tf.isNaN(x), [3], ["notEqual"]],
  ])("%s", (_name, fn, shape, expected) => {
    expect(operations(fn, shape)).toEqual(expected);
  });
});

it("a graph for cuda stays as it is", () => {
  expect(operations((x) => tf.isNaN(tf.matMul(x, x, true)), [3, 4], "cuda")).toEqual(["matmul", "isNan"]);
});
