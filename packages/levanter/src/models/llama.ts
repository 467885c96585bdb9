import * as tf from "@tensorflow/tfjs-core";
import { z } from "zod";
import { embedding } from "../engine/ops/embedding.js";
import { groupedAttention } from "../engine/ops/grouped-attention.js";
import { projection } from "../engine/ops/projection.js";
import { rmsNorm } from "../engine/ops/rms-norm.js";
import { rotary, rotaryTables } from "../engine/ops/rotary.js";
import { swiglu } from "../engine/ops/swiglu.js";
import { elementCount } from "../engine/shape.js";
import type { Specs, TensorSpec } from "../engine/types.js";
import { parseConfig } from "../parse-config.js";
import { truncatedNormal } from "../rng/distributions.js";
import type { RandomKey } from "../rng/random-key.js";
import { throughBlocks } from "./blocks.js";
import type { LanguageModel } from "./language-model.js";
import { scaled, type Parameters } from "./parameters.js";
import { ropeFields, ropeFrequencies } from "./rope-frequencies.js";
import { modelFunctions, recordedConfig, trainingFields, type Drop } from "./training-options.js";

/** The fields of a Llama's configuration. */
export const llamaShape = {
  vocabSize: z.int().positive().describe("V, tokens in the vocabulary"),
  sequenceLength: z.int().positive().default(1024).describe("longest T, in tokens"),
  hiddenSize: z.int().positive().default(768).describe("D, width of the residual stream; an even multiple of heads"),
  intermediateSize: z.int().positive().default(2048).describe("I, width of the feed-forward network"),
  layers: z.int().positive().default(12).describe("L, number of blocks"),
  heads: z.int().positive().default(12).describe("H, heads of queries"),
  keyValueHeads: z.int().positive().optional().describe("G, heads of keys and values; divides heads. Default: heads"),
  tiedHead: z.boolean().default(false).describe("true: the head is the token embedding"),
  rmsNormEpsilon: z.number().positive().default(1e-5).describe("added to the mean square in norms"),
  ...ropeFields,
  ...trainingFields,
};

interface Widths {
  readonly hiddenSize: number;
  readonly heads: number;
  readonly keyValueHeads?: number | undefined;
  readonly ropeLowFrequencyFactor: number;
  readonly ropeHighFrequencyFactor: number;
}

/** The rules between a Llama's fields, each as arguments of a schema's `refine`. */
export const llamaRules = [
  [({ hiddenSize, heads }: Widths): boolean => hiddenSize % (2 * heads) === 0, { error: "hiddenSize must be an even multiple of heads", path: ["hiddenSize"] }],
  [({ heads, keyValueHeads = heads }: Widths): boolean => heads % keyValueHeads === 0, { error: "keyValueHeads must divide heads", path: ["keyValueHeads"] }],
  [
    ({ ropeLowFrequencyFactor, ropeHighFrequencyFactor }: Widths): boolean => ropeLowFrequencyFactor < ropeHighFrequencyFactor,
    { error: "ropeHighFrequencyFactor must be more than ropeLowFrequencyFactor", path: ["ropeHighFrequencyFactor"] },
  ],
] as const;

/** Shape of a Llama (Touvron et al., arXiv:2302.13971; Llama 3: arXiv:2407.21783): pre-norm blocks with RMS norms, rotary positions, grouped queries, SwiGLU, no biases. */
const llamaConfigSchema = llamaRules.reduce((schema, [holds, issue]) => schema.refine(holds, { ...issue, path: [...issue.path] }), z.strictObject(llamaShape));

/** What {@link llama} takes; defaults are those of a 12-block Llama of width 768. */
export type LlamaConfig = z.input<typeof llamaConfigSchema>;

type ResolvedConfig = z.output<typeof llamaConfigSchema> & { readonly keyValueHeads: number };

/**
 * A Llama-shaped language model with Hugging Face's parameter names and layouts (products' weights are [out, in]).
 * Shapes: B batch, T time, N = B·T, D model, H heads of queries, G heads of keys and values, K = D/H head size, I intermediate, V vocabulary.
 *
 * @throws MarinError `LEVANTER_CONFIG` naming the fields that are unknown or out of range
 */
export function llama(config: LlamaConfig): LanguageModel {
  const parsed = parseConfig("the model's configuration", llamaConfigSchema, config);
  const resolved: ResolvedConfig = { ...parsed, keyValueHeads: parsed.keyValueHeads ?? parsed.heads };
  const { vocabSize, sequenceLength, layers, hiddenSize, intermediateSize, heads, keyValueHeads } = resolved;
  const parameters = parameterSpecs(resolved);
  return {
    type: "llama",
    config: recordedConfig(resolved),
    vocabSize,
    maxSequenceLength: sequenceLength,
    transformer: { layers, hiddenSize, intermediateSize, heads, keyValueHeads, headSize: hiddenSize / heads, gated: true, vocabSize },
    parameters,
    isDecayed: (name) => name === HEAD || name.endsWith("_proj.weight"),
    initialize: (key) => initialize(parameters, key),
    ...modelFunctions({
      options: resolved,
      hiddenSize,
      head: resolved.tiedHead ? EMBEDDING : HEAD,
      sites: ["embedding", ...blockNames(resolved).flatMap((name) => [`${name}.self_attn`, `${name}.mlp`])],
      hidden: (parameter, tokens, drop) => finalHidden(resolved, parameters, parameter, tokens, drop),
    }),
  };
}

function blockNames({ layers }: ResolvedConfig): string[] {
  return Array.from({ length: layers }, (_unused, layer) => `model.layers.${layer}`);
}

const EMBEDDING = "model.embed_tokens.weight";
const HEAD = "lm_head.weight";

function parameterSpecs(config: ResolvedConfig): Specs {
  const { vocabSize, hiddenSize: d, intermediateSize, heads, keyValueHeads, tiedHead } = config;
  const specs: Record<string, TensorSpec> = {};
  const add = (name: string, ...shape: number[]): void => {
    specs[`${name}.weight`] = { shape, dtype: "float32" };
  };
  const keyValueWidth = (d / heads) * keyValueHeads;
  add("model.embed_tokens", vocabSize, d);
  for (const block of blockNames(config)) {
    add(`${block}.input_layernorm`, d);
    add(`${block}.self_attn.q_proj`, d, d);
    add(`${block}.self_attn.k_proj`, keyValueWidth, d);
    add(`${block}.self_attn.v_proj`, keyValueWidth, d);
    add(`${block}.self_attn.o_proj`, d, d);
    add(`${block}.post_attention_layernorm`, d);
    add(`${block}.mlp.gate_proj`, intermediateSize, d);
    add(`${block}.mlp.up_proj`, intermediateSize, d);
    add(`${block}.mlp.down_proj`, d, intermediateSize);
  }
  add("model.norm", d);
  if (!tiedHead) add("lm_head", vocabSize, d);
  return specs;
}

/** Initial values: norms 1; products' weights normal, truncated at 3σ, with σ = 1/√(inputs); the token embedding with σ = 1/D. */
function initialize(parameters: Specs, key: RandomKey): Record<string, Float32Array> {
  const values: Record<string, Float32Array> = {};
  for (const [name, { shape }] of Object.entries(parameters)) {
    const size = elementCount(shape);
    const inputs = shape[1];
    if (inputs === undefined) values[name] = new Float32Array(size).fill(1);
    else values[name] = scaled(truncatedNormal(key.fold(name), size), name === EMBEDDING ? 1 / inputs : 1 / Math.sqrt(inputs));
  }
  return values;
}

/** tokens int32 [B,T] to the normalized output of the last block, float32 [N,D]. */
function finalHidden(config: ResolvedConfig, parameters: Specs, parameter: Parameters, tokens: tf.Tensor, drop: Drop): tf.Tensor {
  const batch = tokens.shape[0] as number;
  const embedded = drop(embedding(parameter(EMBEDDING), tf.reshape(tokens, [-1])), "embedding");
  const last = throughBlocks(embedded, parameter, {
    names: blockNames(config), parameters, recompute: config.recompute, apply: (stream, name, own) => block(config, own, name, stream, batch, drop),
  });
  return rmsNorm(last, parameter("model.norm.weight"), config.rmsNormEpsilon);
}

/** One pre-norm block: attention and feed-forward, each added to the residual stream float32 [N,D]. */
function block(config: ResolvedConfig, parameter: Parameters, name: string, stream: tf.Tensor, batch: number, drop: Drop): tf.Tensor {
  const weight = (part: string): tf.Tensor => parameter(`${name}.${part}.weight`);
  const norm = (x: tf.Tensor, part: string): tf.Tensor => rmsNorm(x, weight(part), config.rmsNormEpsilon);
  const attended = attention(config, weight, norm(stream, "input_layernorm"), batch);
  const middle = tf.add(stream, drop(projection(attended, weight("self_attn.o_proj")), `${name}.self_attn`));
  const inner = norm(middle, "post_attention_layernorm");
  const gated = swiglu(projection(inner, weight("mlp.gate_proj")), projection(inner, weight("mlp.up_proj")));
  return tf.add(middle, drop(projection(gated, weight("mlp.down_proj")), `${name}.mlp`));
}

/** Normalized stream float32 [N,D] to the heads' outputs float32 [N,D]. */
function attention(config: ResolvedConfig, weight: (part: string) => tf.Tensor, x: tf.Tensor, batch: number): tf.Tensor {
  const { hiddenSize, heads, keyValueHeads } = config;
  const size = hiddenSize / heads;
  // Made in each block anew, so that a block can be computed again; the compiled engine makes them once.
  const tables = rotaryTables((x.shape[0] as number) / batch, ropeFrequencies(config, size));
  const rows = (part: string, count: number): tf.Tensor => tf.reshape(projection(x, weight(`self_attn.${part}`)), [batch, -1, count * size]);
  const byHead = (part: tf.Tensor, count: number): tf.Tensor => tf.transpose(tf.reshape(part, [batch, -1, count, size]), [0, 2, 1, 3]);
  const q = byHead(rotary(rows("q_proj", heads), heads, tables), heads);
  const k = byHead(rotary(rows("k_proj", keyValueHeads), keyValueHeads, tables), keyValueHeads);
  const v = byHead(rows("v_proj", keyValueHeads), keyValueHeads);
  return tf.reshape(tf.transpose(groupedAttention(q, k, v), [0, 2, 1, 3]), [-1, hiddenSize]);
}
