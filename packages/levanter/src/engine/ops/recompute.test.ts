import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { normal } from "../../rng/distributions.js";
import { RandomKey } from "../../rng/random-key.js";
import { OnnxEngine } from "../compiled-engine.js";
import { EagerEngine } from "../eager-engine.js";
import { elementCount } from "../shape.js";
import type { Engine, Specs, TensorData, TensorFunction } from "../types.js";
import { gelu } from "./gelu.js";
import { layerNorm } from "./layer-norm.js";
import { linear } from "./linear.js";
import { recompute } from "./recompute.js";

const [N, D, LAYERS] = [12, 8, 3];
const vector = { shape: [D], dtype: "float32" } as const;
const specs: Specs = Object.fromEntries([
  ["x", { shape: [N, D], dtype: "float32" }] as const,
  ...Array.from({ length: LAYERS }, (_, l) => [
    [`gamma${l}`, vector] as const, [`beta${l}`, vector] as const, [`w${l}`, { shape: [D, 4 * D], dtype: "float32" }] as const,
    [`b${l}`, { shape: [4 * D], dtype: "float32" }] as const, [`v${l}`, { shape: [4 * D, D], dtype: "float32" }] as const,
  ]).flat(),
]);

function block(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, w: tf.Tensor, b: tf.Tensor, v: tf.Tensor): tf.Tensor {
  return tf.add(x, linear(gelu(linear(layerNorm(x, gamma, beta, 1e-5), w, b)), v));
}

/** The sum of squares of some blocks' output, and its gradients. */
function lossAndGradients(wrap: (fn: typeof block) => typeof block): TensorFunction {
  return (inputs) => {
    const names = Object.keys(inputs);
    const loss = (...values: tf.Tensor[]): tf.Scalar => {
      const of = (name: string): tf.Tensor => values[names.indexOf(name)] as tf.Tensor;
      let x = of("x");
      for (let l = 0; l < LAYERS; l++) x = wrap(block)(x, of(`gamma${l}`), of(`beta${l}`), of(`w${l}`), of(`b${l}`), of(`v${l}`));
      return tf.sum(tf.square(x));
    };
    const { value, grads } = tf.valueAndGrads(loss)(Object.values(inputs));
    return { value, ...Object.fromEntries(grads.map((grad, index) => [`grad/${names[index]}`, grad])) };
  };
}

async function results(engine: Engine, fn: TensorFunction): Promise<Record<string, TensorData>> {
  const program = await engine.compile("blocks", fn, specs);
  const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
  for (const [name, buffer] of Object.entries(inputs.buffers)) buffer.write(normal(RandomKey.fromSeed(1).fold(name), elementCount(buffer.spec.shape)));
  await program.run(inputs.buffers, outputs.buffers);
  return Object.fromEntries(await Promise.all(Object.entries(outputs.buffers).map(async ([name, buffer]) => [name, await buffer.read()] as const)));
}

describe.each([
  { name: "onnx", create: (): Promise<Engine> => OnnxEngine.create({ threads: 1 }) },
  { name: "cpu", create: (): Promise<Engine> => EagerEngine.create("cpu") },
  { name: "wasm", create: (): Promise<Engine> => EagerEngine.create("wasm") },
])("recompute on $name", ({ create }) => {
  let engine: Engine;
  beforeAll(async () => { engine = await create(); });
  afterAll(() => engine.dispose());

  it("gives the same value and gradients, bit for bit", async () => {
    const plain = await results(engine, lossAndGradients((fn) => fn));
    expect(plain["grad/w0"]?.some((value) => value !== 0)).toBe(true);
    expect(await results(engine, lossAndGradients((fn) => recompute(fn)))).toEqual(plain);
    expect(await results(engine, lossAndGradients((fn) => recompute(recompute(fn))))).toEqual(plain);
  });

  it("gives zeros to arguments that do not matter, and the value alone where no gradient is taken", async () => {
    const program = await engine.compile("unused", ({ a, b }) => {
      const first = recompute((x: tf.Tensor, unused: tf.Tensor) => tf.exp(tf.reshape(x, unused.shape)));
      const [da, db] = tf.grads((x: tf.Tensor, y: tf.Tensor) => first(x, y))([a as tf.Tensor, b as tf.Tensor]) as [tf.Tensor, tf.Tensor];
      return { y: first(a as tf.Tensor, b as tf.Tensor), da, db };
    }, { a: vector, b: vector });
    const [inputs, outputs] = [engine.allocate(program.inputs), engine.allocate(program.outputs)];
    await program.run(inputs.buffers, outputs.buffers);
    for (const [name, expected] of [["y", 1], ["da", 1], ["db", 0]] as const) expect(await outputs.buffers[name]?.read()).toEqual(new Float32Array(D).fill(expected));
  });
});
