import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectClose } from "../../test/reference/closeness.js";
import { ENGINES } from "../../test/reference/engines.js";
import { evaluate } from "../../test/reference/evaluate.js";
import { isElementwise } from "./elementwise.js";
import { isOp } from "./graph.js";
import { defineOperator } from "./operator.js";
import { operatorOf } from "./operator-registry.js";
import { trace } from "./trace.js";
import type { Engine, TensorFunction } from "./types.js";

const shape = [2, 3];
const data = Float32Array.of(-80, -1, 0, 0.5, 30, 200);
const upstream = Float32Array.of(1, 2, 3, 4, 5, 6);
const vector = { x: { shape, dtype: "float32" } } as const;

/** Soft capping of scores, c·tanh(x/c), as Gemma 2 has it (arXiv:2408.00118, section 2). */
const softcap = defineOperator({
  name: "test.softcap",
  inputs: ["x"],
  attributes: { cap: 50 },
  elementwise: true,
  composed: ({ x }, { cap }) => tf.mul(tf.tanh(tf.div(x, cap)), cap),
  lower: ({ onnx, inputs, attributes }) => {
    const cap = onnx.scalar(attributes.cap);
    return onnx.node("Mul", [onnx.node("Tanh", [onnx.node("Div", [inputs.x, cap])]), cap]);
  },
  gradient: ({ dy, outputs: [y], attributes }) => ({ x: tf.mul(dy, tf.sub(1, tf.square(tf.div(y as tf.Tensor, attributes.cap)))) }),
});

/** x·weight[index]·2, whose index has no gradient and whose scale is to have none; its gradient is that of the composition. */
const weighted = defineOperator({
  name: "test.weighted",
  inputs: ["x", "weight", "index", "scale"],
  shape: ({ x }) => x,
  composed: ({ x, weight, index, scale }) => tf.mul(tf.mul(x, tf.gather(weight, index)), scale),
  lower: ({ onnx, inputs }) => onnx.node("Mul", [onnx.node("Mul", [inputs.x, onnx.node("Gather", [inputs.weight, inputs.index])]), inputs.scale]),
  differentiable: ["x", "weight"],
});

const gradientsOf =
  (fn: (x: tf.Tensor) => tf.Tensor): TensorFunction =>
  ({ x, dy }) => ({ y: fn(x as tf.Tensor), dx: tf.grad(fn)(x as tf.Tensor, dy) });

function codeOf(fn: () => unknown): string {
  try {
    fn();
    return "no error";
  } catch (error) {
    return `${(error as { code?: string }).code}: ${(error as Error).message}`;
  }
}

async function codeOfRun(engine: Engine, fn: TensorFunction): Promise<string> {
  try {
    await evaluate(engine, fn, { x: { shape, data } });
    return "no error";
  } catch (error) {
    return `${(error as { code?: string }).code}: ${(error as Error).message}`;
  }
}

describe.each(Object.entries(ENGINES))("a defined operator on engine %s", (engineName, create) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await create();
  });
  afterAll(() => engine.dispose());

  it("has the value and the gradient that it was given, with its default attribute and another", async () => {
    for (const cap of [undefined, 3]) {
      const c = cap ?? 50;
      const found = await evaluate(engine, gradientsOf((x) => (cap === undefined ? softcap(x) : softcap(x, { cap }))), { x: { shape, data }, dy: { shape, data: upstream } });
      expectClose(found["y"] ?? [], Array.from(data, (x) => c * Math.tanh(x / c)), 1e-6, 1e-6, "value");
      expectClose(found["dx"] ?? [], Array.from(data, (x, index) => (upstream[index] as number) / Math.cosh(x / c) ** 2), 1e-5, 1e-5, "gradient");
    }
  });

  it("has the composition's gradient where none is given, and none for inputs that are not differentiable", async () => {
    const inputs = {
      x: { shape: [3], data: Float32Array.of(1, 2, 3) }, weight: { shape: [2], data: Float32Array.of(5, 7) },
      index: { shape: [3], data: Int32Array.of(1, 0, 1) }, scale: { shape: [], data: Float32Array.of(2) },
    };
    const found = await evaluate(engine, ({ x, weight, index, scale }) => {
      const sum = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor): tf.Tensor => tf.sum(weighted(a, b, index as tf.Tensor, c));
      const [dx, dWeight, dScale] = tf.grads(sum)([x, weight, scale] as tf.Tensor[]) as [tf.Tensor, tf.Tensor, tf.Tensor];
      return { y: weighted(x as tf.Tensor, weight as tf.Tensor, index as tf.Tensor, scale as tf.Tensor), dx, dWeight, dScale };
    }, inputs);
    expect(Object.fromEntries(Object.entries(found).map(([name, values]) => [name, [...values]]))).toEqual({
      y: [14, 20, 42], dx: [14, 10, 14], dWeight: [4, 8], dScale: [0],
    });
  });

  it("stands in element-wise programs", async () => {
    const group = engine.allocate({ w: { shape: [6], dtype: "float32" } });
    group.buffers["w"]?.write(data);
    const program = await engine.compileElementwise("cap", ({ w, cap }) => ({ w: tf.add(softcap(w as tf.Tensor), cap as tf.Tensor) }), ["w"], ["cap"]);
    await program.run({ w: group }, { cap: 1 });
    expectClose((await group.buffers["w"]?.read()) ?? [], Array.from(data, (x) => 50 * Math.tanh(x / 50) + 1), 1e-5, 1e-6, "updated");
    program.dispose();
    group.release();
  });

  it("gives more than its value to its gradient", async () => {
    // The maximum of each row, whose gradient goes to the place that was kept.
    const rowMax = defineOperator({
      name: `test.rowMax.${engineName}`,
      inputs: ["x"],
      shape: ({ x }) => [{ shape: x.shape.slice(0, -1), dtype: "float32" }, { shape: x.shape.slice(0, -1), dtype: "int32" }],
      composed: ({ x }) => [tf.max(x, -1), tf.argMax(x, -1)],
      lower: ({ onnx, inputs }) => {
        const place = onnx.node("ArgMax", [inputs.x], { axis: { int: -1 }, keepdims: { int: 0 } });
        return [onnx.node("ReduceMax", [inputs.x, onnx.int64([-1])], { keepdims: { int: 0 } }), onnx.node("Cast", [place], { to: { int: 6 } })];
      },
      gradient: ({ dy, inputs: { x }, outputs: [, place] }) => ({ x: tf.mul(tf.oneHot(place as tf.Tensor1D, x.shape[1] as number, 1, 0, "float32"), tf.expandDims(dy, -1)) }),
    });
    const found = await evaluate(engine, ({ x, dy }) => ({ y: rowMax(x as tf.Tensor), dx: tf.grad((v: tf.Tensor) => rowMax(v))(x as tf.Tensor, dy) }), {
      x: { shape, data }, dy: { shape: [2], data: Float32Array.of(3, 4) },
    });
    expect([...(found["y"] ?? [])]).toEqual([0, 200]);
    expect([...(found["dx"] ?? [])]).toEqual([0, 0, 3, 0, 0, 4]);
  });
});

describe("what a definition may get wrong is a typed error", () => {
  it("its name", () => {
    const again = (name: string, inputs: readonly string[] = ["x"]) => () => defineOperator({ name, inputs, composed: ({ x }) => x as tf.Tensor });
    expect(codeOf(again("test.softcap"))).toMatch(/^LEVANTER_OPERATOR_NAME: an operator "test.softcap" is defined already/);
    expect(codeOf(again("soft cap"))).toMatch(/^LEVANTER_OPERATOR_NAME: "soft cap" is no name/);
    expect(codeOf(again("test.twice", ["x", "x"]))).toMatch(/^LEVANTER_OPERATOR_NAME: .*\(x, x\)/);
  });

  it("its call", () => {
    const loose = softcap as unknown as (...call: unknown[]) => tf.Tensor;
    const called = (...call: unknown[]) => codeOf(() => trace("call", ({ x }) => ({ y: loose(...call.map((item) => (item === "x" ? x : item))) }), vector));
    expect(called()).toMatch(/^LEVANTER_OPERATOR_INPUT: operator "test.softcap" takes 1 tensors \(x\) and attributes \{ cap \}; it was called with 0 arguments/);
    expect(called(1)).toMatch(/^LEVANTER_OPERATOR_INPUT: .*no tensor as "x"/);
    expect(called("x", "x")).toMatch(/^LEVANTER_OPERATOR_INPUT: .*2 arguments/);
    expect(called("x", { max: 1 })).toMatch(/^LEVANTER_OPERATOR_INPUT: .*an attribute "max"/);
  });

  const compiled = ENGINES["onnx"] as () => Promise<Engine>;

  it("its lowering: one that throws, gives too many outputs, another shape or type than it says, or nodes that ONNX does not have", async () => {
    const engine = await compiled();
    const lowering = (name: string, lower: NonNullable<Parameters<typeof defineOperator<["x"]>>[0]["lower"]>) => defineOperator<["x"]>({ name, inputs: ["x"], composed: ({ x }) => x, lower });
    const throwing = lowering("test.throwing", () => { throw new Error("not today"); });
    const two = lowering("test.two", ({ inputs }) => [inputs.x, inputs.x]);
    const narrow = lowering("test.narrow", ({ onnx, inputs }) => onnx.node("ReduceSum", [inputs.x, onnx.int64([0])], { keepdims: { int: 0 } }));
    const integer = lowering("test.integer", ({ onnx, inputs }) => onnx.node("Cast", [inputs.x], { to: { int: 6 } }));
    const foreign = lowering("test.foreign", ({ onnx, inputs }) => onnx.node("Relish", [inputs.x]));
    expect(await codeOfRun(engine, ({ x }) => ({ y: throwing(x as tf.Tensor) }))).toMatch(/^LEVANTER_OPERATOR_LOWERING: the lowering of operator "test.throwing" failed: not today/);
    expect(await codeOfRun(engine, ({ x }) => ({ y: two(x as tf.Tensor) }))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: operator "test.two": "lower" returns 2 names where "shape" says 1/);
    // As an output of the program, and within it.
    for (const after of [(y: tf.Tensor): tf.Tensor => y, (y: tf.Tensor): tf.Tensor => tf.square(y)]) {
      expect(await codeOfRun(engine, ({ x }) => ({ y: after(narrow(x as tf.Tensor)) }))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: operator "test.narrow".*declared=2/s);
      expect(await codeOfRun(engine, ({ x }) => ({ y: after(integer(x as tf.Tensor)) }))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: operator "test.integer".*int32/s);
    }
    const unmade = lowering("test.unmade", () => "nothing");
    const unread = lowering("test.unread", ({ onnx, inputs }) => onnx.node("Mul", [inputs.x, "nothing"]));
    for (const made of [unmade, unread]) expect(await codeOfRun(engine, ({ x }) => ({ y: made(x as tf.Tensor) }))).toMatch(/^LEVANTER_OPERATOR_LOWERING: .*"test.un.*" gives "nothing" as an .*neither one of its inputs nor made by it/);
    expect(await codeOfRun(engine, ({ x }) => ({ y: foreign(x as tf.Tensor) }))).toMatch(/^LEVANTER_OPERATOR_LOWERING: .*test.foreign.*Relish/s);
    await engine.dispose();
  });

  it("its composition and its gradient", async () => {
    const engine = await (ENGINES["cpu"] as () => Promise<Engine>)();
    const narrow = defineOperator({ name: "test.narrowComposition", inputs: ["x"], shape: ({ x }) => x, composed: ({ x }) => tf.sum(x, 0) });
    expect(await codeOfRun(engine, ({ x }) => ({ y: narrow(x as tf.Tensor) }))).toMatch(
      /^LEVANTER_OPERATOR_OUTPUT: operator "test.narrowComposition": "composed" gives output 0 float32 \[3\], expected float32 \[2,3\]/,
    );
    const steep = defineOperator({ name: "test.steep", inputs: ["x"], composed: ({ x }) => tf.mul(x, 2), gradient: ({ dy }) => ({ x: tf.sum(dy) }) });
    expect(await codeOfRun(engine, gradientsOfOnes(steep))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: operator "test.steep": "gradient" gives for input "x" float32 \[\], expected float32 \[2,3\]/);
    const [none, late] = [undefined, Promise.resolve()].map((value, i) => defineOperator({ name: `test.noTensor${String(i)}`, inputs: ["x"], composed: () => value as unknown as tf.Tensor }));
    for (const made of [none, late]) expect(await codeOfRun(engine, ({ x }) => ({ y: (made as NonNullable<typeof none>)(x as tf.Tensor) }))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: .*"composed" gives output 0 what is no tensor, expected float32 \[2,3\]/);
    const missing = defineOperator({ name: "test.missing", inputs: ["x"], composed: ({ x }) => tf.mul(x, 2), gradient: () => ({}) as { x: tf.Tensor } });
    expect(await codeOfRun(engine, gradientsOfOnes(missing))).toMatch(/^LEVANTER_OPERATOR_OUTPUT: .*none for input "x"/);
    await engine.dispose();
  });
});

const gradientsOfOnes =
  (fn: (x: tf.Tensor) => tf.Tensor): TensorFunction =>
  ({ x }) => ({ dx: tf.grad(fn)(x as tf.Tensor) });

describe("a defined operator in the graph", () => {
  it("is one node, equal calls are one, and its work is counted", () => {
    const graph = trace("capped", ({ x }) => ({ y: tf.add(softcap(x as tf.Tensor), softcap(x as tf.Tensor, { cap: 50 })), z: softcap(x as tf.Tensor, { cap: 2 }) }), vector);
    const nodes = graph.nodes.filter((node) => isOp(node, "custom"));
    expect(nodes).toHaveLength(2);
    for (const node of nodes) {
      expect(isElementwise(node)).toBe(true);
      expect(operatorOf(node)?.flops(node.inputs, node.outputs, node.attributes.attributes)).toBe(6);
    }
  });

  it("is its composition where it has no lowering, with its own gradient", () => {
    const straightThrough = defineOperator({ name: "test.straightThrough", inputs: ["x"], composed: ({ x }) => tf.round(x), gradient: ({ dy }) => ({ x: dy }) });
    const graph = trace("rounded", ({ x }) => ({ y: straightThrough(x as tf.Tensor), dx: tf.grad((v: tf.Tensor) => straightThrough(v))(x as tf.Tensor) }), vector);
    expect(graph.nodes.map((node) => node.op)).toContain("round");
    expect(graph.nodes.some((node) => isOp(node, "custom"))).toBe(false);
    expect(graph.outputs.get("dx")?.producer?.op).toBe("fill");
  });
});
