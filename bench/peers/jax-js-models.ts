/**
 * The benchmark's models in jax-js. An array is consumed by its use, and `.ref` keeps it for one more.
 * Shapes: B batch, T time, D model, H heads, G heads of keys and values, K head size, V vocabulary.
 */
import { nn, numpy as np } from "@jax-js/jax";
import type { WorkloadShape } from "../models.js";

/** A type, not an interface: only so is it a tree of arrays to jax-js. */
export type JaxParameters = Record<string, np.Array>;

/** Takes a parameter, which must not be used again. */
type Take = (name: string) => np.Array;

/** Mean cross-entropy in nats of the model's next tokens; tokens and targets int32 [B,T]. Consumes everything. */
export function jaxJsLoss(parameters: JaxParameters, tokens: np.Array, targets: np.Array, shape: WorkloadShape): np.Array {
  const take: Take = (name) => {
    const array = parameters[name];
    if (array === undefined) throw new TypeError(`no parameter ${name}`);
    return array;
  };
  const logits = { gpt2, llama }[shape.architecture](take, tokens, shape);
  const logProbabilities = nn.logSoftmax(logits, -1);
  const right = logProbabilities.mul(nn.oneHot(targets, shape.vocabulary)).sum();
  return right.mul(-1 / (shape.batch * shape.length));
}

function gpt2(take: Take, tokens: np.Array, shape: WorkloadShape): np.Array {
  const { batch, length, width, heads, epsilon, vocabulary } = shape;
  const norm = (x: np.Array, name: string): np.Array => nn.standardize(x, -1, { epsilon }).mul(take(`${name}.weight`)).add(take(`${name}.bias`));
  const project = (x: np.Array, name: string): np.Array => np.matmul(x, take(`${name}.weight`)).add(take(`${name}.bias`));
  const byHead = (x: np.Array): np.Array => x.reshape([batch, length, heads, width / heads]);
  const table = take("wte.weight");
  const positions = take("wpe.weight").slice([0, length]);
  let x = embed(table.ref, tokens, vocabulary).add(positions);
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = `h.${layer}`;
    const joint = project(norm(x.ref, `${name}.ln_1`), `${name}.attn.c_attn`);
    const [q, k, v] = np.split(joint, 3, -1).map(byHead) as [np.Array, np.Array, np.Array];
    const mixed = attend(q, k, v);
    x = x.add(project(mixed, `${name}.attn.c_proj`));
    const hidden = nn.gelu(project(norm(x.ref, `${name}.ln_2`), `${name}.mlp.c_fc`), { approximate: true });
    x = x.add(project(hidden, `${name}.mlp.c_proj`));
  }
  return np.matmul(norm(x, "ln_f"), np.transpose(table));
}

function llama(take: Take, tokens: np.Array, shape: WorkloadShape): np.Array {
  const { batch, length, width, heads, keyValueHeads, epsilon, ropeTheta, vocabulary } = shape;
  const size = width / heads;
  const norm = (x: np.Array, name: string): np.Array => {
    const scale = np.sqrt(np.square(x.ref).mean(-1, { keepdims: true }).add(epsilon));
    return x.div(scale).mul(take(`${name}.weight`));
  };
  const project = (x: np.Array, name: string): np.Array => np.matmul(x, np.transpose(take(`${name}_proj.weight`)));
  const [cosines, sines] = rotaryTables(length, size, ropeTheta);
  const rotate = (x: np.Array): np.Array => {
    const [first, second] = np.split(x.ref, 2, -1) as [np.Array, np.Array];
    return x.mul(cosines.ref).add(np.concatenate([second.mul(-1), first], -1).mul(sines.ref));
  };
  let x = embed(take("model.embed_tokens.weight"), tokens, vocabulary);
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = `model.layers.${layer}`;
    const h = norm(x.ref, `${name}.input_layernorm`);
    const q = rotate(project(h.ref, `${name}.self_attn.q`).reshape([batch, length, heads, size]));
    const k = rotate(project(h.ref, `${name}.self_attn.k`).reshape([batch, length, keyValueHeads, size]));
    const v = project(h, `${name}.self_attn.v`).reshape([batch, length, keyValueHeads, size]);
    const mixed = attend(q, k, v);
    x = x.add(project(mixed, `${name}.self_attn.o`));
    const inner = norm(x.ref, `${name}.post_attention_layernorm`);
    const gated = nn.silu(project(inner.ref, `${name}.mlp.gate`)).mul(project(inner, `${name}.mlp.up`));
    x = x.add(project(gated, `${name}.mlp.down`));
  }
  cosines.dispose();
  sines.dispose();
  return np.matmul(norm(x, "model.norm"), np.transpose(take("lm_head.weight")));
}

/**
 * Causal attention: q [B,T,H,K], k and v [B,T,G,K] to [B,T,D]. jax-js's own `dotProductAttention` needs Node 22; it consists of the same products.
 */
function attend(q: np.Array, k: np.Array, v: np.Array): np.Array {
  const [batch, length, heads, size] = q.shape as [number, number, number, number];
  const groups = k.shape[2] as number;
  // [B,G,H/G,T,K]: a group's keys and values are broadcast over its queries.
  const byHead = (x: np.Array, count: number): np.Array => np.transpose(x, [0, 2, 1, 3]).reshape([batch, groups, count / groups, length, size]);
  const scores = np.matmul(byHead(q, heads), np.transpose(byHead(k, groups), [0, 1, 2, 4, 3])).mul(1 / Math.sqrt(size));
  const causal = np.tril(np.ones([length, length])).greater(0.5);
  const weights = nn.softmax(np.where(causal, scores, -1e9), -1);
  const mixed = np.matmul(weights, byHead(v, groups)).reshape([batch, heads, length, size]);
  return np.transpose(mixed, [0, 2, 1, 3]).reshape([batch, length, heads * size]);
}

/** Rows of a table [V,D] by ids int32 [B,T]. */
function embed(table: np.Array, ids: np.Array, vocabulary: number): np.Array {
  return np.matmul(nn.oneHot(ids, vocabulary), table);
}

/** Cosines and sines of the positions' angles, [T,1,K] each, both halves of a head alike. */
function rotaryTables(length: number, size: number, theta: number): [np.Array, np.Array] {
  const angles = Float32Array.from({ length: length * size }, (_, at) => Math.floor(at / size) * theta ** ((-2 * (at % (size / 2))) / size));
  const table = (values: Float32Array<ArrayBuffer>): np.Array => np.array(values).reshape([length, 1, size]);
  return [table(angles.map(Math.cos)), table(angles.map(Math.sin))];
}
