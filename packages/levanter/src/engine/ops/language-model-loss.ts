import * as tf from "@tensorflow/tfjs-core";
import { linearCrossEntropy } from "./cross-entropy.js";
import { scatterAddRows } from "./embedding.js";
import { rowLogSum, rowMax } from "./row-reductions.js";
import { softCap, softCapSlope } from "./soft-cap.js";

/** What the loss of a language model's head adds to cross-entropy, and how it is computed. */
export interface LossOptions {
  /** λ: adds λ · (ln Σ exp logits)² to each token's loss, before its weight (Chowdhery et al., PaLM, arXiv:2204.02311, section 5). 0: nothing. */
  readonly zLossWeight: number;
  /** Logits are kept softly within ± this bound, cap · tanh(logit / cap) (Gemma 2, arXiv:2408.00118). 0: no bound. */
  readonly logitSoftCap: number;
  /** Tokens of the vocabulary whose logits are held at a time, at most. 0: all of them. */
  readonly lossBlockSize: number;
}

/** What the head's gradient needs of the softmax over the vocabulary. */
interface Softmax {
  /** ln Σ exp of each row's capped logits, float32 [N,1]. */
  readonly logSum: tf.Tensor;
  /** What the gradient's products are computed from, if anything is kept. */
  readonly kept: readonly tf.Tensor[];
}

/** One way to compute the products of the logits' gradient G (N x V, the target's term left out) with the head's operands. */
interface HeadProducts {
  softmax(hidden: tf.Tensor, head: tf.Tensor): Softmax;
  /** G table [N,D] and Gᵀ h [V,D], where G is the softmax times the cap's slope, each row times `scale` [N,1]. */
  gradients(hidden: tf.Tensor, head: tf.Tensor, scale: tf.Tensor, softmax: Softmax): readonly [tf.Tensor, tf.Tensor];
}

/**
 * The loss of a linear head over a batch, in nats: Σ weight · (−ln softmax(l)[target] + λ · (ln Σ exp l)²), with l the capped logits of h tableᵀ.
 *
 * With P the softmax, S the cap's slope and w = weight·dy, the logits' gradient is w·((1 + 2λ ln Σ exp l)·P − onehot)·S. Its two terms go through the head's products
 * separately: the first as products, the target's by gathering and scattering rows.
 *
 * @param h - float32 [N,D]
 * @param table - float32 [V,D]: the head's weights, one row a token
 * @param targets - int32 [N], each in 0..V−1
 * @param weights - float32 [N]; 0 leaves a position out
 * @returns float32 scalar
 */
export function languageModelLoss(h: tf.Tensor, table: tf.Tensor, targets: tf.Tensor, weights: tf.Tensor, options: LossOptions): tf.Scalar {
  const { zLossWeight: lambda, logitSoftCap: cap, lossBlockSize } = options;
  if (lambda === 0 && cap === 0 && lossBlockSize === 0) return linearCrossEntropy(h, table, targets, weights);
  const products = lossBlockSize === 0 ? allAtOnce(cap) : inBlocks(cap, lossBlockSize);
  const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const [hidden, head, save] = args as [tf.Tensor, tf.Tensor, tf.GradSaveFunc];
    const { logSum, kept } = products.softmax(hidden, head);
    const targetLogit = softCap(tf.sum(tf.mul(hidden, tf.gather(head, targets)), -1, true), cap);
    const losses = tf.sub(logSum, targetLogit);
    const regularized = lambda === 0 ? losses : tf.add(losses, tf.mul(tf.square(logSum), lambda));
    save([hidden, head, targets, weights, targetLogit, logSum, ...kept]);
    return {
      value: tf.sum(tf.mul(tf.reshape(regularized, [-1]), weights)),
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => headGradients(dy, saved, products, lambda, cap),
    };
  });
  return op(h, table) as tf.Scalar;
}

function headGradients(dy: tf.Tensor, saved: tf.Tensor[], products: HeadProducts, lambda: number, cap: number): tf.Tensor[] {
  const [hidden, head, targets, weights, targetLogit, logSum] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
  const weight = tf.expandDims(tf.mul(weights, dy), 1);
  const scale = lambda === 0 ? weight : tf.mul(weight, tf.add(tf.mul(logSum, 2 * lambda), 1));
  const targetScale = cap === 0 ? weight : tf.mul(weight, softCapSlope(targetLogit, cap));
  const [pulled, pushed] = products.gradients(hidden, head, scale, { logSum, kept: saved.slice(6) });
  const dHidden = tf.sub(pulled, tf.mul(targetScale, tf.gather(head, targets)));
  return [dHidden, tf.add(pushed, scatterAddRows(head.shape[0] as number, targets, tf.neg(tf.mul(hidden, targetScale))))];
}

/** Holds the exponentials of all logits from the forward to the backward pass. */
function allAtOnce(cap: number): HeadProducts {
  return {
    softmax: (hidden, head) => {
      const logits = softCap(tf.matMul(hidden, tf.transpose(head)), cap);
      const largest = rowMax(logits);
      const exponentials = tf.exp(tf.sub(logits, largest));
      const sum = tf.sum(exponentials, -1, true);
      const slope = cap === 0 ? [] : [softCapSlope(logits, cap)];
      return { logSum: tf.add(largest, rowLogSum(sum)), kept: [sum, exponentials, ...slope] };
    },
    gradients: (hidden, head, scale, { kept }) => {
      const [sum, exponentials, slope] = kept as [tf.Tensor, tf.Tensor, tf.Tensor?];
      const sloped = slope === undefined ? exponentials : tf.mul(exponentials, slope);
      // The sum divides rows of width D instead of V.
      const row = tf.div(scale, sum);
      return [tf.mul(row, tf.matMul(sloped, head)), tf.matMul(tf.transpose(sloped), tf.mul(hidden, row))];
    },
  };
}

/** Holds the logits of one block of the vocabulary at a time. The backward pass computes them once more, transposed, as its products take them. */
function inBlocks(cap: number, blockSize: number): HeadProducts {
  return {
    softmax: (hidden, head) => {
      const parts: { readonly largest: tf.Tensor; readonly sum: tf.Tensor }[] = [];
      for (const rows of blocksOf(head, blockSize)) {
        const logits = softCap(tf.matMul(after(hidden, parts.at(-1)?.sum), tf.transpose(rows)), cap);
        const largest = rowMax(logits);
        parts.push({ largest, sum: tf.sum(tf.exp(tf.sub(logits, largest)), -1, true) });
      }
      const all = tf.concat(parts.map(({ largest }) => largest), 1);
      const largest = rowMax(all);
      const sums = tf.mul(tf.concat(parts.map(({ sum }) => sum), 1), tf.exp(tf.sub(all, largest)));
      return { logSum: tf.add(largest, rowLogSum(sums)), kept: [] };
    },
    gradients: (hidden, head, scale, { logSum }) => {
      const scaledHidden = tf.mul(hidden, scale);
      const columns = tf.reshape(logSum, [1, -1]);
      const tables: tf.Tensor[] = [];
      let pulled: tf.Tensor | undefined;
      for (const rows of blocksOf(head, blockSize)) {
        const logits = softCap(tf.matMul(rows, tf.transpose(after(hidden, pulled, tables.at(-1)))), cap);
        const probabilities = tf.exp(tf.sub(logits, columns));
        const sloped = cap === 0 ? probabilities : tf.mul(probabilities, softCapSlope(logits, cap));
        const part = tf.matMul(tf.transpose(sloped), rows);
        pulled = pulled === undefined ? part : tf.add(pulled, part);
        tables.push(tf.matMul(sloped, scaledHidden));
      }
      return [tf.mul(scale, pulled as tf.Tensor), tf.concat(tables, 0)];
    },
  };
}

/** x, once these matrices are there: a runtime that chooses the order of operations would otherwise start with all blocks' logits, and hold them all. */
function after(x: tf.Tensor, ...earlier: readonly (tf.Tensor | undefined)[]): tf.Tensor {
  const firsts = earlier.flatMap((tensor) => (tensor === undefined ? [] : [tf.slice(tensor, [0, 0], [1, 1])]));
  return firsts.length === 0 ? x : tf.add(x, tf.mul(firsts.reduce((sum, first) => tf.add(sum, first)), 0));
}

/** The rows of a table in the fewest blocks of at most this many, as equal as can be: of a short last block the runtime would compute other bits with each number of threads. */
function blocksOf(table: tf.Tensor, blockSize: number): tf.Tensor[] {
  const [rows, width] = table.shape as [number, number];
  const count = Math.ceil(rows / blockSize);
  return Array.from({ length: count }, (_unused, index) => {
    const begin = Math.floor((index * rows) / count);
    return tf.slice(table, [begin, 0], [Math.floor(((index + 1) * rows) / count) - begin, width]);
  });
}
