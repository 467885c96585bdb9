import * as tf from "@tensorflow/tfjs-core";
import { z } from "zod";
import { parseConfig } from "../parse-config.js";
import { causalAttention } from "../engine/ops/attention.js";
import { embedding } from "../engine/ops/embedding.js";
import { gelu } from "../engine/ops/gelu.js";
import { layerNorm } from "../engine/ops/layer-norm.js";
import { linear } from "../engine/ops/linear.js";
import { elementCount } from "../engine/shape.js";
import type { Specs, TensorSpec } from "../engine/types.js";
import { truncatedNormal } from "../rng/distributions.js";
import type { RandomKey } from "../rng/random-key.js";
import { throughBlocks } from "./blocks.js";
import type { LanguageModel } from "./language-model.js";
import { scaled, type Parameters } from "./parameters.js";
import { modelFunctions, recordedConfig, trainingFields, type Drop } from "./training-options.js";

/** The fields of a GPT-2's configuration. */
export const gpt2Shape = {
  vocabSize: z.int().positive().describe("V, tokens in the vocabulary"),
  sequenceLength: z.int().positive().default(1024).describe("longest T, in tokens"),
  hiddenSize: z.int().positive().default(768).describe("D, width of the residual stream; a multiple of heads"),
  layers: z.int().positive().default(12).describe("L, number of blocks"),
  heads: z.int().positive().default(12).describe("H, attention heads"),
  layerNormEpsilon: z.number().positive().default(1e-5).describe("added to the variance in layer norms"),
  ...trainingFields,
};

/** The rule between a GPT-2's fields, as arguments of a schema's `refine`. */
export const gpt2Widths = [
  (config: { readonly hiddenSize: number; readonly heads: number }): boolean => config.hiddenSize % config.heads === 0,
  { error: "hiddenSize must be a multiple of heads", path: ["hiddenSize"] },
] as const satisfies readonly [unknown, { error: string; path: string[] }];

/** Shape of a GPT-2 (Radford et al. 2019): pre-norm blocks, learned positions, tanh GELU, head tied to the token embedding. */
const gpt2ConfigSchema = z.strictObject(gpt2Shape).refine(...gpt2Widths);

/** What {@link gpt2} takes; defaults are those of GPT-2 124M. */
export type Gpt2Config = z.input<typeof gpt2ConfigSchema>;

type ResolvedConfig = z.output<typeof gpt2ConfigSchema>;

/**
 * A GPT-2-shaped language model with Hugging Face's parameter names; products' weights are [in, out] as in its `Conv1D`.
 * Shapes: B batch, T time, N = B·T, D model, H heads, K = D/H head size, V vocabulary.
 *
 * @throws MarinError `LEVANTER_CONFIG` naming the fields that are unknown or out of range
 */
export function gpt2(config: Gpt2Config): LanguageModel {
  const resolved = parseConfig("the model's configuration", gpt2ConfigSchema, config);
  const parameters = parameterSpecs(resolved);
  return {
    type: "gpt2",
    config: recordedConfig(resolved),
    vocabSize: resolved.vocabSize,
    maxSequenceLength: resolved.sequenceLength,
    transformer: {
      layers: resolved.layers, hiddenSize: resolved.hiddenSize, intermediateSize: 4 * resolved.hiddenSize, heads: resolved.heads, keyValueHeads: resolved.heads,
      headSize: resolved.hiddenSize / resolved.heads, gated: false, vocabSize: resolved.vocabSize,
    },
    parameters,
    isDecayed: (name) => /\.(c_attn|c_proj|c_fc)\.weight$/.test(name),
    initialize: (key) => initialize(parameters, key),
    ...modelFunctions({
      options: resolved,
      hiddenSize: resolved.hiddenSize,
      head: "wte.weight",
      sites: ["embedding", ...blockNames(resolved).flatMap((name) => [`${name}.attn`, `${name}.mlp`])],
      hidden: (parameter, tokens, drop) => finalHidden(resolved, parameters, parameter, tokens, drop),
    }),
  };
}

function blockNames({ layers }: ResolvedConfig): string[] {
  return Array.from({ length: layers }, (_unused, layer) => `h.${layer}`);
}

function parameterSpecs(config: ResolvedConfig): Specs {
  const { vocabSize, sequenceLength, hiddenSize: d } = config;
  const specs: Record<string, TensorSpec> = {};
  const add = (name: string, ...shape: number[]): void => {
    specs[name] = { shape, dtype: "float32" };
  };
  const affine = (name: string, rows: number, columns: number): void => {
    add(`${name}.weight`, rows, columns);
    add(`${name}.bias`, columns);
  };
  const norm = (name: string): void => {
    add(`${name}.weight`, d);
    add(`${name}.bias`, d);
  };
  add("wte.weight", vocabSize, d);
  add("wpe.weight", sequenceLength, d);
  for (const block of blockNames(config)) {
    norm(`${block}.ln_1`);
    affine(`${block}.attn.c_attn`, d, 3 * d);
    affine(`${block}.attn.c_proj`, d, d);
    norm(`${block}.ln_2`);
    affine(`${block}.mlp.c_fc`, d, 4 * d);
    affine(`${block}.mlp.c_proj`, 4 * d, d);
  }
  norm("ln_f");
  return specs;
}

/** GPT-2's initial values: normal with σ 0.02 (positions 0.01), truncated at 3σ; projections back into the residual stream divided by √(2L); norms 1, biases 0. */
function initialize(parameters: Specs, key: RandomKey): Record<string, Float32Array> {
  const layers = Object.keys(parameters).filter((name) => name.endsWith(".ln_1.weight")).length;
  const values: Record<string, Float32Array> = {};
  for (const [name, { shape }] of Object.entries(parameters)) {
    const size = elementCount(shape);
    if (/ln_\w+\.weight$/.test(name)) values[name] = new Float32Array(size).fill(1);
    else if (name.endsWith(".bias")) values[name] = new Float32Array(size);
    else values[name] = scaled(truncatedNormal(key.fold(name), size), standardDeviation(name, layers));
  }
  return values;
}

function standardDeviation(name: string, layers: number): number {
  if (name === "wpe.weight") return 0.01;
  return name.endsWith("c_proj.weight") ? 0.02 / Math.sqrt(2 * layers) : 0.02;
}

/** tokens int32 [B,T] to the normalized output of the last block, float32 [N,D]. */
function finalHidden(config: ResolvedConfig, parameters: Specs, parameter: Parameters, tokens: tf.Tensor, drop: Drop): tf.Tensor {
  const [batch, length] = tokens.shape as [number, number];
  const d = config.hiddenSize;
  const tokenRows = tf.reshape(embedding(parameter("wte.weight"), tf.reshape(tokens, [-1])), [batch, length, d]);
  const positions = tf.slice(parameter("wpe.weight"), [0, 0], [length, d]);
  const embedded = drop(tf.reshape(tf.add(tokenRows, positions), [batch * length, d]), "embedding");
  const last = throughBlocks(embedded, parameter, {
    names: blockNames(config), parameters, recompute: config.recompute, apply: (stream, name, own) => block(config, own, name, stream, batch, length, drop),
  });
  return layerNorm(last, parameter("ln_f.weight"), parameter("ln_f.bias"), config.layerNormEpsilon);
}

/** One pre-norm block: attention and feed-forward, each added to the residual stream float32 [N,D]. */
function block(config: ResolvedConfig, parameter: Parameters, name: string, stream: tf.Tensor, batch: number, length: number, drop: Drop): tf.Tensor {
  const norm = (x: tf.Tensor, part: string): tf.Tensor =>
    layerNorm(x, parameter(`${name}.${part}.weight`), parameter(`${name}.${part}.bias`), config.layerNormEpsilon);
  const affine = (x: tf.Tensor, part: string): tf.Tensor => linear(x, parameter(`${name}.${part}.weight`), parameter(`${name}.${part}.bias`));
  const attended = attention(config, affine(norm(stream, "ln_1"), "attn.c_attn"), batch, length);
  const middle = tf.add(stream, drop(affine(attended, "attn.c_proj"), `${name}.attn`));
  return tf.add(middle, drop(affine(gelu(affine(norm(middle, "ln_2"), "mlp.c_fc")), "mlp.c_proj"), `${name}.mlp`));
}

/** Joint projections float32 [N,3D] to the heads' outputs float32 [N,D]. */
function attention({ hiddenSize, heads }: ResolvedConfig, joint: tf.Tensor, batch: number, length: number): tf.Tensor {
  const byHead = (part: tf.Tensor): tf.Tensor => tf.transpose(tf.reshape(part, [batch, length, heads, hiddenSize / heads]), [0, 2, 1, 3]);
  const [q, k, v] = tf.split(joint, 3, 1).map(byHead) as [tf.Tensor, tf.Tensor, tf.Tensor];
  return tf.reshape(tf.transpose(causalAttention(q, k, v), [0, 2, 1, 3]), [batch * length, hiddenSize]);
}
