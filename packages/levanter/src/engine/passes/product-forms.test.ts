import { createHash } from "node:crypto";
import * as tf from "@tensorflow/tfjs-core";
import { afterEach, expect, it, vi } from "vitest";
import { normal } from "../../rng/distributions.js";
import { RandomKey } from "../../rng/random-key.js";
import { compileToOnnx } from "../compile.js";
import { OnnxEngine } from "../compiled-engine.js";
import { elementCount } from "../shape.js";
import type { Specs, TensorFunction } from "../types.js";

afterEach(() => { vi.unstubAllEnvs(); });

/** aᵀb, as a weight's gradient is. */
const gradient: TensorFunction = ({ a, b }) => ({ y: tf.matMul(a as tf.Tensor, b as tf.Tensor, true, false) });

function specs(sum: number, rows: number, columns: number): Specs {
  return { a: { shape: [sum, rows], dtype: "float32" }, b: { shape: [sum, columns], dtype: "float32" } };
}

function ops(shapes: Specs, fn: TensorFunction = gradient): string[] {
  return compileToOnnx("product", fn, shapes).graph.nodes.map((node) => node.op);
}

async function result(fn: TensorFunction, shapes: Specs, threads: number): Promise<Float32Array> {
  const engine = await OnnxEngine.create({ threads });
  try {
    const program = await engine.compile("product", fn, shapes);
    const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
    for (const [name, buffer] of Object.entries(inputs.buffers)) buffer.write(normal(RandomKey.fromSeed(3).fold(name), elementCount(buffer.spec.shape)));
    await program.run(inputs.buffers, outputs.buffers);
    return (await outputs.buffers["y"]?.read()) as Float32Array;
  } finally {
    await engine.dispose();
  }
}

function digest(values: Float32Array): string {
  return createHash("sha256").update(new Uint8Array(values.buffer)).digest("hex");
}

async function bits(shapes: Specs, threads: number): Promise<string> {
  return digest(await result(gradient, shapes, threads));
}

it.each([
  { what: "a tall result lies on its side", shapes: specs(300, 4099, 33), form: ["reshape", "transpose", "reshape", "matmul", "transpose"] },
  { what: "the first operand of a wide result is turned around before", shapes: specs(300, 70, 771), form: ["reshape", "transpose", "reshape", "matmul"] },
])("$what, with the same bits at one and two threads", async ({ shapes, form }) => {
  expect(ops(shapes)).toEqual(form);
  const found = await bits(shapes, 1);
  expect(await bits(shapes, 2)).toBe(found);
  vi.stubEnv("MARIN_ENGINE_WITHOUT", "tallProduct, wideProduct");
  expect(ops(shapes)).toEqual(["matmul"]);
  expect(await bits(shapes, 1)).toBe(found);
});

const colliding: Specs = { a: { shape: [700, 1024], dtype: "float32" }, b: { shape: [1024, 600], dtype: "float32" }, c: { shape: [600], dtype: "float32" } };

it.each<{ what: string; fn: TensorFunction; shapes: Specs; form: readonly string[]; without: readonly string[] }>([
  { what: "a b", fn: ({ a, b }) => ({ y: tf.matMul(a as tf.Tensor, b as tf.Tensor) }), shapes: colliding, form: ["fill", "concat", "fill", "concat", "matmul"], without: ["matmul"] },
  {
    what: "a bᵀ", fn: ({ a, b }) => ({ y: tf.matMul(a as tf.Tensor, b as tf.Tensor, false, true) }),
    shapes: { a: { shape: [700, 2048], dtype: "float32" }, b: { shape: [600, 2048], dtype: "float32" } }, form: ["fill", "concat", "fill", "concat", "matmul"], without: ["matmul"],
  },
  {
    what: "a b + c", fn: ({ a, b, c }) => ({ y: tf.add(tf.matMul(a as tf.Tensor, b as tf.Tensor), c as tf.Tensor) }), shapes: colliding,
    form: ["fill", "concat", "fill", "concat", "gemm"], without: ["gemm"],
  },
  {
    what: "aᵀb, turned around before", fn: gradient, shapes: specs(1024, 600, 800),
    form: ["reshape", "transpose", "reshape", "fill", "concat", "fill", "concat", "matmul"], without: ["reshape", "transpose", "reshape", "matmul"],
  },
])("the sums of $what are lengthened where rows would collide, with the same bits at one and two threads", async ({ fn, shapes, form, without }) => {
  expect(ops(shapes, fn)).toEqual(form);
  const found = digest(await result(fn, shapes, 1));
  expect(digest(await result(fn, shapes, 2))).toBe(found);
  vi.stubEnv("MARIN_ENGINE_WITHOUT", "lengthenedSum");
  expect(ops(shapes, fn)).toEqual(without);
  expect(digest(await result(fn, shapes, 1))).toBe(found);
});

it("turns the smaller operand of a batch's products around, with the same bits at one and two threads", async () => {
  const heads: Specs = { a: { shape: [2, 3, 200, 130], dtype: "float32" }, b: { shape: [2, 3, 200, 64], dtype: "float32" } };
  expect(ops(heads)).toEqual(["matmul", "transpose"]);
  const found = await result(gradient, heads, 1);
  expect(digest(await result(gradient, heads, 2))).toBe(digest(found));
  vi.stubEnv("MARIN_ENGINE_WITHOUT", "slimProducts");
  expect(ops(heads)).toEqual(["matmul"]);
  const plain = await result(gradient, heads, 1);
  // Sums in pieces of other lengths: terms are of the order of 1, sums of 14.
  expect(Math.max(...found.map((value, place) => Math.abs(value - (plain[place] as number))))).toBeLessThan(1e-4);
});

it("leaves small products, and batches of square ones, as they are", () => {
  expect(ops(specs(8, 64, 512))).toEqual(["matmul"]);
  expect(ops(specs(8, 4095, 16))).toEqual(["matmul"]);
  expect(ops({ a: { shape: [64, 1024], dtype: "float32" }, b: { shape: [1024, 64], dtype: "float32" } }, ({ a, b }) => ({ y: tf.matMul(a as tf.Tensor, b as tf.Tensor) }))).toEqual(["matmul"]);
  const batches: Specs = { a: { shape: [2, 8, 4], dtype: "float32" }, b: { shape: [2, 8, 800], dtype: "float32" } };
  expect(compileToOnnx("batches", gradient, batches).graph.nodes.map((node) => node.op)).toEqual(["matmul"]);
});
