/** Levanter's side of the calibration: the best of N products of two square matrices by the compiled engine. `--size N --repeats N --threads N` */
import { selectEngine } from "@marin/levanter";
import * as tf from "@tensorflow/tfjs-core";
import { calibrationArguments, report } from "./protocol.js";

const { size, repeats, threads } = calibrationArguments();
const engine = await selectEngine({ engine: "onnx", threads });
const square = { shape: [size, size], dtype: "float32" } as const;
const program = await engine.compile("product", ({ a, b }) => ({ c: tf.matMul(a as tf.Tensor, b as tf.Tensor) }), { a: square, b: square });
const inputs = engine.allocate({ a: square, b: square });
const outputs = engine.allocate({ c: square });
for (const buffer of Object.values(inputs.buffers)) buffer.write(Float32Array.from({ length: size * size }, (_, index) => ((index * 7919) % 1000) / 1000));
let best = Infinity;
for (let repeat = 0; repeat <= repeats; repeat++) {
  const start = performance.now();
  await program.run(inputs.buffers, outputs.buffers);
  best = Math.min(best, performance.now() - start);
}
report({ version: engine.description, gflops: (2 * size ** 3) / best / 1e6 });
await engine.dispose();
