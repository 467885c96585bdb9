import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as tf from "@tensorflow/tfjs-core";
import { expect, test } from "vitest";
import { contents, describeEngine, fill, float } from "../../test/conformance/engine-contract.js";
import { OnnxEngine } from "./compiled-engine.js";
import { EagerEngine } from "./eager-engine.js";
import { liveHandles } from "./runtime/ort-handles.js";
import type { BufferGroup, Engine, Specs, TensorFunction } from "./types.js";

const engines: readonly [string, () => Promise<Engine>][] = [
  ["onnx, 1 thread", () => OnnxEngine.create({ threads: 1 })],
  ["onnx, 2 threads", () => OnnxEngine.create({ threads: 2 })],
  ["cpu", () => EagerEngine.create("cpu")],
  ["wasm", () => EagerEngine.create("wasm")],
];
for (const [title, create] of engines) describeEngine(title, create);

test("the compiled engine gives equal bits at one and at two threads", async () => {
  const n = 200_000;
  const results: string[] = [];
  for (const threads of [1, 2]) {
    const engine = await OnnxEngine.create({ threads });
    const update = await engine.compileElementwise("update", ({ p, g, rate }) => ({ p: tf.sub(p as tf.Tensor, tf.div(tf.mul(g as tf.Tensor, rate as tf.Tensor), tf.add(tf.sqrt(tf.abs(g as tf.Tensor)), 1e-3))) }), ["p", "g"], ["rate"]);
    const norm = await engine.compileReduce("norm", ({ g }) => ({ value: tf.sum(tf.square(g as tf.Tensor)) }), ["g"]);
    const [p, g] = [engine.allocate({ t: float(n) }), engine.allocate({ t: float(n) })];
    fill(p, (_, i) => Math.sin(i));
    fill(g, (_, i) => Math.cos(3 * i));
    for (let step = 0; step < 3; step++) await update.run({ p, g }, { rate: 0.1 });
    results.push(`${await norm.run({ g })} ${Buffer.from(Float32Array.from((await contents(p)).flat()).buffer).toString("base64")}`);
    await engine.dispose();
  }
  expect(results[0] === results[1]).toBe(true);
});

test("a mixing operation is no element-wise program", async () => {
  const engine = await OnnxEngine.create({ threads: 1 });
  await expect(engine.compileElementwise("mix", ({ p }) => ({ p: tf.softmax(p as tf.Tensor1D) }), ["p"], [])).rejects.toMatchObject({ code: "LEVANTER_NOT_ELEMENTWISE" });
  await expect(engine.compileElementwise("cast", ({ p }) => ({ p: tf.cast(p as tf.Tensor, "int32") }), ["p"], [])).rejects.toMatchObject({
    code: "LEVANTER_NOT_ELEMENTWISE", message: expect.stringContaining('returns "p", int32 [65536]') as string,
  });
  await engine.dispose();
});

test("a number of threads below one is refused", async () => {
  await expect(OnnxEngine.create({ threads: 0 })).rejects.toMatchObject({ code: "LEVANTER_CONFIG" });
});

test("a reduction returns its sum and nothing made of it", async () => {
  const engine = await OnnxEngine.create({ threads: 1 });
  const refused: readonly [string, TensorFunction][] = [
    ["applies sqrt to its sum", ({ x }) => ({ value: tf.sqrt(tf.sum(tf.square(x as tf.Tensor))) })],
    ["applies add to its sum", ({ x }) => ({ value: tf.add(tf.sum(x as tf.Tensor), 1) })],
    ["is no sum", () => ({ value: tf.scalar(2) })],
  ];
  for (const [message, fn] of refused) {
    await expect(engine.compileReduce("norm", fn, ["x"])).rejects.toMatchObject({ code: "LEVANTER_NOT_ELEMENTWISE", message: expect.stringContaining(message) as string });
  }
  await engine.dispose();
});

test("a group released while a program runs over it ends the run, and leaves nothing native behind", async () => {
  const engine = await OnnxEngine.create({ threads: 1 });
  const update = await engine.compileElementwise("root", ({ p }) => ({ p: tf.sqrt(tf.exp(p as tf.Tensor)) }), ["p"], []);
  const sum = await engine.compileReduce("sum", ({ p }) => ({ value: tf.sum(tf.exp(p as tf.Tensor)) }), ["p"]);
  const before = liveHandles();
  for (const run of [(p: BufferGroup) => update.run({ p }, {}), (p: BufferGroup) => sum.run({ p })]) {
    const group = engine.allocate({ t: float(60 * 65_536) });
    const running = run(group);
    await setImmediate();
    group.release();
    await expect(running).rejects.toMatchObject({ code: "LEVANTER_RELEASED" });
    expect(liveHandles()).toEqual(before);
  }
  await engine.dispose();
});

test("an engine does not keep the memory of programs that were disposed", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const engine = await OnnxEngine.create({ threads: 1 });
  const heldBytes = async (): Promise<number> => {
    for (let round = 0; round < 3; round++) {
      await setImmediate();
      collect();
    }
    return process.memoryUsage().arrayBuffers;
  };
  const before = await heldBytes();
  // Each holds 256 KiB of scratch memory.
  for (let i = 0; i < 40; i++) (await engine.compileElementwise("double", ({ p }) => ({ p: tf.add(p as tf.Tensor, p as tf.Tensor) }), ["p"], [])).dispose();
  expect((await heldBytes()) - before).toBeLessThan(2 << 20);
  await engine.dispose();
});

test("the runtime's own errors name the program", async () => {
  const engine = await OnnxEngine.create({ threads: 1 });
  const specs: Specs = { table: float(3), index: { shape: [1], dtype: "int32" } };
  const program = await engine.compile("lookup", ({ table, index }) => ({ y: tf.gather(table as tf.Tensor, index as tf.Tensor1D) }), specs);
  const [inputs, outputs] = [engine.allocate(specs), engine.allocate(program.outputs)];
  inputs.buffers["index"]?.write(Int32Array.of(7));
  await expect(program.run(inputs.buffers, outputs.buffers)).rejects.toMatchObject({ code: "LEVANTER_RUNTIME", message: expect.stringMatching(/^program "lookup": .*7/) as string });
  await engine.dispose();
});
