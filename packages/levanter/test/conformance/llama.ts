import type * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { groupedAttention } from "../../src/engine/ops/grouped-attention.js";
import { languageModelLoss } from "../../src/engine/ops/language-model-loss.js";
import { projection } from "../../src/engine/ops/projection.js";
import { rmsNorm } from "../../src/engine/ops/rms-norm.js";
import { rotary, rotaryTables } from "../../src/engine/ops/rotary.js";
import { swiglu } from "../../src/engine/ops/swiglu.js";
import { at, build, mapped, product, reduced, swapped, total, type Array64 } from "./array64.js";
import { attention64, operation, OWN } from "./linear.js";
import { between, drawn, shapes, whole, type OperationSpec } from "./operation-case.js";

const common = between(-2, 2);
const small = fc.integer({ min: 1, max: 5 });
const EPSILON = 1e-2;

function rmsNorm64(x: Array64, gamma: Array64): Array64 {
  const square = reduced(x, [1], true, (values) => total(values.map((value) => value ** 2)) / values.length);
  return mapped((value, mean, scale) => (value / Math.sqrt(mean + EPSILON)) * scale, x, square, gamma);
}

/** Angles per position of a head of this size, so that every pair turns by its own. */
const frequenciesOf = (half: number): number[] => Array.from({ length: half }, (_unused, index) => 0.9 / (index + 1));

function rotary64(x: Array64, heads: number): Array64 {
  const half = (x.shape[2] as number) / heads / 2;
  const frequencies = frequenciesOf(half);
  return build(x.shape, (place) => {
    const [row, position, column] = place as [number, number, number];
    const inHead = column % (2 * half);
    const angle = position * (frequencies[inHead % half] as number);
    const partner = at(x, [row, position, inHead < half ? column + half : column - half]);
    return at(x, place) * Math.cos(angle) + (inHead < half ? -partner : partner) * Math.sin(angle);
  });
}

/** Each head of queries with its group's keys and values. */
function groupedAttention64(q: Array64, k: Array64, v: Array64): Array64 {
  const shared = (x: Array64): Array64 => {
    const repeats = (q.shape[1] as number) / (x.shape[1] as number);
    return build([x.shape[0] as number, q.shape[1] as number, ...x.shape.slice(2)], ([batch = 0, head = 0, ...rest]) => at(x, [batch, Math.floor(head / repeats), ...rest]));
  };
  return attention64(q, shared(k), shared(v));
}

function loss64(h: Array64, table: Array64, targets: Array64, weights: Array64, zLossWeight: number, cap: number): Array64 {
  const logits = mapped((value) => (cap === 0 ? value : cap * Math.tanh(value / cap)), product(h, swapped(table)));
  const logSums = reduced(logits, [1], false, (values) => Math.log(total(values.map(Math.exp))));
  const losses = logSums.data.map((logSum, row) => (weights.data[row] as number) * (logSum - at(logits, [row, targets.data[row] as number]) + zLossWeight * logSum ** 2));
  return { shape: [], data: [total(losses)] };
}

/** What Llama-shaped models and the losses' options add to levanter's operations. */
export const LLAMA_OPERATIONS: readonly OperationSpec[] = [
  operation("projection", OWN, fc.record({ rows: small, k: small, n: small }), ({ rows, k, n }, seed) => ({
    inputs: [drawn([rows, k], common, seed), drawn([n, k], common, seed + 1)], apply: (x, w) => projection(x, w as tf.Tensor), oracle: (x, w) => product(x, swapped(w as Array64)), gradients: [0, 1],
  }), { rows: 257, k: 193, n: 321 }),
  operation("rmsNorm", OWN, fc.record({ rows: small, width: fc.integer({ min: 2, max: 6 }) }), ({ rows, width }, seed) => ({
    inputs: [drawn([rows, width], common, seed), drawn([width], common, seed + 1)], apply: (x, gamma) => rmsNorm(x, gamma as tf.Tensor, EPSILON),
    oracle: (x, gamma) => rmsNorm64(x, gamma as Array64), gradients: [0, 1],
  }), { rows: 513, width: 384 }),
  operation("swiglu", OWN, shapes(0, 3), (shape, seed) => ({
    inputs: [drawn(shape, common, seed), drawn(shape, common, seed + 1)], apply: (gate, up) => swiglu(gate, up as tf.Tensor),
    oracle: (gate, up) => mapped((g, u) => (g / (1 + Math.exp(-g))) * u, gate, up as Array64), gradients: [0, 1],
  }), [257, 1021]),
  operation("rotary", OWN, fc.record({ batch: small, length: fc.oneof(small, fc.constantFrom(257, 300)), heads: fc.constantFrom(1, 2), half: fc.constantFrom(1, 2) }), ({ batch, length, heads, half }, seed) => ({
    inputs: [drawn([length > 100 ? 1 : batch, length, heads * half * 2], common, seed)], apply: (x) => rotary(x, heads, rotaryTables(length, frequenciesOf(half))),
    oracle: (x) => rotary64(x, heads), gradients: length > 100 ? [] : [0],
  }), { batch: 3, length: 300, heads: 4, half: 32 }),
  operation("groupedAttention", OWN, fc.record({ batch: fc.constantFrom(1, 2), groups: fc.constantFrom(1, 2), shared: fc.constantFrom(1, 2, 3), length: fc.constantFrom(1, 2, 4), width: fc.constantFrom(1, 3) }), ({ batch, groups, shared, length, width }, seed) => ({
    inputs: [groups * shared, groups, groups].map((heads, index) => drawn([batch, heads, length, width], common, seed + index)),
    apply: (q, k, v) => groupedAttention(q, k as tf.Tensor, v as tf.Tensor), oracle: (q, k, v) => groupedAttention64(q, k as Array64, v as Array64), gradients: [0, 1, 2],
  }), { batch: 2, groups: 2, shared: 3, length: 129, width: 32 }),
  operation(
    "languageModelLoss", OWN,
    fc.record({ rows: small, width: small, vocabulary: fc.integer({ min: 2, max: 6 }), zLossWeight: fc.constantFrom(0, 0.1), logitSoftCap: fc.constantFrom(0, 2), lossBlockSize: fc.constantFrom(0, 1, 2, 4) }),
    ({ rows, width, vocabulary, ...options }, seed) => ({
      inputs: [drawn([rows, width], common, seed), drawn([vocabulary, width], common, seed + 1), drawn([rows], whole(0, vocabulary - 1), seed + 2, "int32"), drawn([rows], between(0, 1), seed + 3)],
      apply: (h, table, targets, weights) => languageModelLoss(h, table as tf.Tensor, targets as tf.Tensor, weights as tf.Tensor, options),
      oracle: (h, table, targets, weights) => loss64(h, table as Array64, targets as Array64, weights as Array64, options.zLossWeight, options.logitSoftCap), gradients: [0, 1],
    }),
    { rows: 257, width: 64, vocabulary: 1021, zLossWeight: 1e-4, logitSoftCap: 30, lossBlockSize: 300 },
  ),
];
