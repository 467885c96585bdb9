// A training run in a process of its own that tells what it holds: node --expose-gc --conditions=@marin/source --import tsx memory-child.ts <run> <tokens> <validation>
// Prints a JSON line a step: { step, handles, tensors, rss }; rss in bytes, after a collection.
import * as tf from "@tensorflow/tfjs-core";
import { liveHandles } from "../src/engine/runtime/ort-handles.js";
import { gpt2, TokenStore, Trainer } from "../src/index.js";

const [directory = "", path = "", validation = ""] = process.argv.slice(2);
const trainer = new Trainer({ steps: 300, batchSize: 4, microbatchSize: 2, sequenceLength: 32, warmup: 4, emaBeta: 0.9, evaluateEvery: 5, checkpointEvery: 10, trackers: ["tensorboard"], engine: "onnx", threads: 1 });
await trainer.train({
  model: gpt2({ vocabSize: 512, sequenceLength: 32, hiddenSize: 32, layers: 2, heads: 2 }),
  tokens: await TokenStore.open(path),
  validation: await TokenStore.open(validation),
  directory,
  onStep: ({ step }) => {
    globalThis.gc?.();
    console.log(JSON.stringify({ step, handles: liveHandles(), tensors: tf.memory().numTensors, rss: process.memoryUsage.rss() }));
  },
});
