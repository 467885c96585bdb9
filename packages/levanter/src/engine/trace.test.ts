import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { isMarinError } from "@marin/iris";
import { beforeEach, describe, expect, it } from "vitest";
import type { Graph } from "./graph.js";
import { gelu } from "./ops/gelu.js";
import { trace } from "./trace.js";
import type { Specs, TensorFunction } from "./types.js";

const vector: Specs = { x: { shape: [4], dtype: "float32" } };

function codeOf(fn: TensorFunction, inputs: Specs = vector): string {
  try {
    trace("test", fn, inputs);
    return "no error";
  } catch (error) {
    return isMarinError(error) ? `${error.code}: ${error.message}` : String(error);
  }
}

function ops(graph: Graph): string[] {
  return graph.nodes.map((node) => node.op);
}

beforeEach(() => {
  void tf.setBackend("cpu");
});

describe("trace", () => {
  it("records operations, shapes and names in order", () => {
    const graph = trace("affine", ({ x }) => ({ y: tf.add(tf.mul(x as tf.Tensor, 3), 1), first: tf.slice(x as tf.Tensor1D, 1, 2) }), vector);
    expect(ops(graph).filter((op) => op !== "fill")).toEqual(["mul", "add", "slice"]);
    expect([...graph.inputs.keys()]).toEqual(["x"]);
    expect([...graph.outputs].map(([name, value]) => [name, value.shape, value.dtype])).toEqual([["y", [4], "float32"], ["first", [2], "float32"]]);
  });

  it("records tfjs's own gradients", () => {
    const graph = trace("gradient", ({ x }) => ({ dx: tf.grad((v: tf.Tensor) => tf.sum(tf.square(v)))(x as tf.Tensor) }), vector);
    expect(graph.outputs.get("dx")?.shape).toEqual([4]);
    expect(ops(graph)).toContain("mul");
  });

  it("makes equal computations and equal constants one", () => {
    const fn: TensorFunction = ({ x }) => {
      const scale = (): tf.Tensor => tf.mul(x as tf.Tensor, tf.tensor1d([1, 2, 3, 4]));
      return { y: tf.add(scale(), scale()) };
    };
    expect(ops(trace("twice", fn, vector))).toEqual(["constant", "mul", "add"]);
  });

  it("keeps 0 and −0 apart", () => {
    const graph = trace("zeros", ({ x }) => ({ a: tf.add(x as tf.Tensor, tf.scalar(0)), b: tf.add(x as tf.Tensor, tf.scalar(-0)) }), vector);
    expect(ops(graph).filter((op) => op === "fill")).toHaveLength(2);
  });

  it("refuses to read a value, naming the caller's line", () => {
    expect(codeOf(({ x }) => ({ y: tf.mul(x as tf.Tensor, (x as tf.Tensor).dataSync()[0] as number) }))).toMatch(/^LEVANTER_TRACE_READ: .*trace\.test\.ts:\d+/);
  });

  it("refuses operations without a lowering, naming operation and line", () => {
    expect(codeOf(({ x }) => ({ y: tf.diag(x as tf.Tensor) }))).toMatch(/^LEVANTER_NO_LOWERING: operation Diag in "test" .*trace\.test\.ts:\d+/);
  });

  it("names the line of the model, not that of levanter's operation or of the recorder", () => {
    const integers: Specs = { x: { shape: [4], dtype: "int32" } };
    expect(codeOf(({ x }) => ({ y: gelu(x as tf.Tensor) }), integers)).toMatch(/^LEVANTER_NO_LOWERING: operation geluTanh on int32 .*trace\.test\.ts:\d+/);
    expect(codeOf(({ x }) => ({ y: tf.softplus(x as tf.Tensor) }), integers)).toMatch(/trace\.test\.ts:\d+/);
  });

  it("refuses tensors made outside", () => {
    const outside = tf.tensor1d([1, 2, 3, 4]);
    expect(codeOf(({ x }) => ({ y: tf.add(x as tf.Tensor, outside) }))).toMatch(/^LEVANTER_CAPTURED_TENSOR: .*\[4\].*in operation add, at .*trace\.test\.ts:\d+.*pass it as an input/);
    expect([...outside.dataSync()]).toEqual([1, 2, 3, 4]);
  });

  it("refuses large constants but not large uniform ones", () => {
    const values = Float32Array.from({ length: (1 << 18) + 1 }, (_unused, index) => index);
    expect(codeOf(() => ({ y: tf.tensor1d(values) }))).toMatch(/^LEVANTER_LARGE_CONSTANT: .*1048580 bytes.*trace\.test\.ts:\d+/);
    expect(ops(trace("zeros", () => ({ y: tf.zeros([2048, 2048]) }), {}))).toEqual(["fill"]);
  });

  it("refuses functions that return anything but tensors by name", () => {
    const y = (x: tf.Tensor | undefined): tf.Tensor => tf.square(x as tf.Tensor);
    const wrong: ((x: tf.Tensor | undefined) => unknown)[] = [() => undefined, () => null, () => ({}), () => 1, (x) => y(x), (x) => Promise.resolve({ y: y(x) }), (x) => ({ y: y(x), loss: 0.5 }), (x) => ({ y: [y(x)] })];
    const codes = wrong.map((fn) => codeOf(((inputs: Parameters<TensorFunction>[0]) => fn(inputs["x"])) as unknown as TensorFunction));
    for (const code of codes) expect(code).toMatch(/^LEVANTER_NO_OUTPUTS: the function of "test" returns .*; it must return tensors by name, such as \{ y \}, at once$/);
    expect([codes[0], codes[4], codes[5], codes[6]]).toEqual(["nothing", "a tensor without a name", "a promise", 'as "loss" what is no tensor'].map((what) => expect.stringContaining(`returns ${what};`) as string));
  });

  it("refuses other dtypes", () => {
    expect(codeOf(() => ({ y: tf.tensor1d(["a", "b"]) }))).toMatch(/^LEVANTER_DTYPE: .*string at .*trace\.test\.ts:\d+/);
  });

  it("restores the backend that was current, also after an error", () => {
    trace("fine", ({ x }) => ({ y: tf.neg(x as tf.Tensor) }), vector);
    expect(tf.getBackend()).toBe("cpu");
    expect(codeOf(() => { throw new Error("from the function"); })).toMatch(/from the function/);
    expect(tf.getBackend()).toBe("cpu");
    expect([...tf.tensor1d([1, 2]).dataSync()]).toEqual([1, 2]);
  });

  it("leaves no tensors behind", () => {
    const before = tf.memory().numTensors;
    trace("grad", ({ x }) => ({ dx: tf.grad((v: tf.Tensor) => tf.sum(tf.exp(v)))(x as tf.Tensor) }), vector);
    expect(codeOf(({ x }) => ({ y: tf.diag(tf.neg(x as tf.Tensor)) }))).toContain("Diag");
    expect(tf.memory().numTensors).toBe(before);
  });
});
