import * as tf from "@tensorflow/tfjs-core";
import { linearCrossEntropy } from "../src/engine/ops/cross-entropy.js";
import { embedding } from "../src/engine/ops/embedding.js";
import type { LanguageModel } from "../src/models/language-model.js";
import { normal } from "../src/rng/distributions.js";

/** The smallest language model: each token is predicted from the one before it, through a table of width D and a head. V vocabulary. */
export function bigram(vocabSize: number, width: number): LanguageModel {
  const get = (inputs: Readonly<Record<string, tf.Tensor>>, name: string): tf.Tensor => inputs[name] as tf.Tensor;
  const hidden = (inputs: Readonly<Record<string, tf.Tensor>>): tf.Tensor =>
    tf.add(embedding(get(inputs, "table"), tf.reshape(get(inputs, "tokens"), [-1])), get(inputs, "bias"));
  return {
    type: "bigram",
    config: { vocabSize, width },
    vocabSize,
    maxSequenceLength: 64,
    parameters: {
      table: { shape: [vocabSize, width], dtype: "float32" },
      bias: { shape: [width], dtype: "float32" },
      head: { shape: [vocabSize, width], dtype: "float32" },
    },
    isDecayed: (name) => name === "head",
    initialize: (key) => ({
      table: normal(key.fold("table"), vocabSize * width).map((x) => 0.5 * x),
      bias: new Float32Array(width),
      head: normal(key.fold("head"), vocabSize * width).map((x) => 0.5 * x),
    }),
    loss: (inputs) => ({
      lossSum: linearCrossEntropy(hidden(inputs), get(inputs, "head"), tf.reshape(get(inputs, "targets"), [-1]), tf.reshape(get(inputs, "weights"), [-1])),
    }),
    logits: (inputs) => ({
      logits: tf.reshape(tf.matMul(hidden(inputs), get(inputs, "head"), false, true), [...get(inputs, "tokens").shape, vocabSize]),
    }),
  };
}
