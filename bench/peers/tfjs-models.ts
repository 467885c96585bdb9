/**
 * The benchmark's models in plain `tf.*`, written as a user of tfjs would, differentiated by tfjs. The one exception is the embedding: the wasm
 * backend lacks the operation that `gather`'s gradient needs, so the gradient is a product with the one-hot matrix.
 * Shapes: B batch, T time, N = B·T, D model, H heads, G heads of keys and values, K head size, V vocabulary.
 */
import * as tf from "@tensorflow/tfjs-core";
import type { WorkloadShape } from "../models.js";

type Parameters = Readonly<Record<string, tf.Tensor>>;

/** Parameters and tokens int32 [B,T] to logits [N,V]. */
type Logits = (parameters: Parameters, shape: WorkloadShape, tokens: tf.Tensor2D) => tf.Tensor2D;

const gpt2: Logits = (parameters, shape, tokens) => {
  const [batch, length] = tokens.shape;
  const { width, heads, epsilon } = shape;
  const p = lookup(parameters);
  const norm = (x: tf.Tensor, name: string): tf.Tensor => {
    const { mean, variance } = tf.moments(x, -1, true);
    const normalized = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, epsilon)));
    return tf.add(tf.mul(normalized, p(`${name}.weight`)), p(`${name}.bias`));
  };
  const project = (x: tf.Tensor, name: string): tf.Tensor => tf.add(tf.matMul(x, p(`${name}.weight`)), p(`${name}.bias`));
  const byHead = (x: tf.Tensor): tf.Tensor => tf.transpose(tf.reshape(x, [batch, length, heads, width / heads]), [0, 2, 1, 3]);
  const rows = tf.reshape(embed(p("wte.weight"), tf.reshape(tokens, [-1])), [batch, length, width]);
  let x: tf.Tensor = tf.reshape(tf.add(rows, tf.slice(p("wpe.weight"), [0, 0], [length, width])), [batch * length, width]);
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = `h.${layer}`;
    const [q, k, v] = tf.split(project(norm(x, `${name}.ln_1`), `${name}.attn.c_attn`), 3, 1).map(byHead) as [tf.Tensor, tf.Tensor, tf.Tensor];
    x = tf.add(x, project(tf.reshape(attend(q, k, v), [batch * length, width]), `${name}.attn.c_proj`));
    x = tf.add(x, project(gelu(project(norm(x, `${name}.ln_2`), `${name}.mlp.c_fc`)), `${name}.mlp.c_proj`));
  }
  return tf.matMul(norm(x, "ln_f"), p("wte.weight"), false, true);
};

const llama: Logits = (parameters, shape, tokens) => {
  const [batch, length] = tokens.shape;
  const { width, heads, keyValueHeads, epsilon, ropeTheta } = shape;
  const size = width / heads;
  const p = lookup(parameters);
  const norm = (x: tf.Tensor, name: string): tf.Tensor => {
    const scale = tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), epsilon));
    return tf.mul(tf.mul(x, scale), p(`${name}.weight`));
  };
  const project = (x: tf.Tensor, name: string): tf.Tensor => tf.matMul(x, p(`${name}_proj.weight`), false, true);
  const byHead = (x: tf.Tensor, count: number): tf.Tensor => tf.transpose(tf.reshape(x, [batch, length, count, size]), [0, 2, 1, 3]);
  const frequencies = tf.pow(ropeTheta, tf.div(tf.range(0, size, 2), -size));
  const half = tf.outerProduct(tf.range(0, length) as tf.Tensor1D, frequencies as tf.Tensor1D);
  const angles = tf.concat([half, half], 1);
  const [cos, sin] = [tf.cos(angles), tf.sin(angles)];
  const rotate = (x: tf.Tensor): tf.Tensor => {
    const [first, second] = tf.split(x, 2, -1) as [tf.Tensor, tf.Tensor];
    return tf.add(tf.mul(x, cos), tf.mul(tf.concat([tf.neg(second), first], -1), sin));
  };
  /** [B,G,T,K] to [B,H,T,K]: each head of keys and values serves H/G heads of queries. */
  const repeat = (x: tf.Tensor): tf.Tensor =>
    tf.reshape(tf.tile(tf.reshape(x, [batch * keyValueHeads, 1, length * size]), [1, heads / keyValueHeads, 1]), [batch, heads, length, size]);
  let x: tf.Tensor = embed(p("model.embed_tokens.weight"), tf.reshape(tokens, [-1]));
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = `model.layers.${layer}`;
    const h = norm(x, `${name}.input_layernorm`);
    const q = rotate(byHead(project(h, `${name}.self_attn.q`), heads));
    const k = repeat(rotate(byHead(project(h, `${name}.self_attn.k`), keyValueHeads)));
    const v = repeat(byHead(project(h, `${name}.self_attn.v`), keyValueHeads));
    x = tf.add(x, project(tf.reshape(attend(q, k, v), [batch * length, width]), `${name}.self_attn.o`));
    const inner = norm(x, `${name}.post_attention_layernorm`);
    const gate = project(inner, `${name}.mlp.gate`);
    x = tf.add(x, project(tf.mul(tf.mul(gate, tf.sigmoid(gate)), project(inner, `${name}.mlp.up`)), `${name}.mlp.down`));
  }
  return tf.matMul(norm(x, "model.norm"), p("lm_head.weight"), false, true);
};

/** Mean cross-entropy in nats of the model's next tokens; tokens and targets int32 [B,T]. */
export function tfjsLoss(parameters: Parameters, shape: WorkloadShape, tokens: tf.Tensor2D, targets: tf.Tensor2D): tf.Scalar {
  const logits = { gpt2, llama }[shape.architecture](parameters, shape, tokens);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(tf.reshape(targets, [-1]), shape.vocabulary), logits);
}

function lookup(parameters: Parameters): (name: string) => tf.Tensor {
  return (name) => {
    const tensor = parameters[name];
    if (tensor === undefined) throw new TypeError(`no parameter ${name}`);
    return tensor;
  };
}

/** q, k, v [B,H,T,K] to [B,T,H,K]. */
function attend(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor {
  const [, , length, size] = q.shape as [number, number, number, number];
  const scores = tf.div(tf.matMul(q, k, false, true), Math.sqrt(size));
  // -1e9 above the diagonal: a position may look at itself and at what came before.
  const mask = tf.mul(tf.sub(1, tf.linalg.bandPart(tf.ones([length, length]), -1, 0)), -1e9);
  return tf.transpose(tf.matMul(tf.softmax(tf.add(scores, mask)), v), [0, 2, 1, 3]);
}

/** Tanh form of the GELU. */
function gelu(x: tf.Tensor): tf.Tensor {
  const cubic = tf.mul(0.044715, tf.mul(x, tf.mul(x, x)));
  return tf.mul(tf.mul(0.5, x), tf.add(1, tf.tanh(tf.mul(Math.sqrt(2 / Math.PI), tf.add(x, cubic)))));
}

/** Rows of a table [V,D] by ids int32 [N]. */
function embed(table: tf.Tensor, ids: tf.Tensor): tf.Tensor {
  const lookUp = tf.customGrad((...given) => {
    const [rows, save] = given as unknown as [tf.Tensor, tf.GradSaveFunc];
    const vocabulary = rows.shape[0] as number;
    save([ids]);
    return {
      value: tf.gather(rows, ids),
      // Cast, since wasm's one-hot matrix of floats holds the bits of integers.
      gradFunc: (change: tf.Tensor, saved: tf.Tensor[]) => tf.matMul(tf.transpose(tf.cast(tf.oneHot(saved[0] as tf.Tensor, vocabulary), "float32")), change),
    };
  });
  return lookUp(table);
}
