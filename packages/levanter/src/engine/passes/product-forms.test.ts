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

function ops(shapes: Specs): string[] {
  return compileToOnnx("product", gradient, shapes).graph.nodes.map((node) => node.op);
}

async function bits(shapes: Specs, threads: number): Promise<string> {
  const engine = await OnnxEngine.create({ threads });
  try {
    const program = await engine.compile("product", gradient, shapes);
    const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
    for (const [name, buffer] of Object.entries(inputs.buffers)) buffer.write(normal(RandomKey.fromSeed(3).fold(name), elementCount(buffer.spec.shape)));
    await program.run(inputs.buffers, outputs.buffers);
    const result = (await outputs.buffers["y"]?.read()) as Float32Array;
    return createHash("sha256").update(new Uint8Array(result.buffer)).digest("hex");
  } finally {
    await engine.dispose();
  }
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

it("leaves small products, scaled ones and batches as they are", () => {
  expect(ops(specs(8, 64, 512))).toEqual(["matmul"]);
  expect(ops(specs(8, 4095, 16))).toEqual(["matmul"]);
  const batches: Specs = { a: { shape: [2, 8, 4], dtype: "float32" }, b: { shape: [2, 8, 800], dtype: "float32" } };
  expect(compileToOnnx("batches", gradient, batches).graph.nodes.map((node) => node.op)).toEqual(["matmul"]);
});
