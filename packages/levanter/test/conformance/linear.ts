import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { causalAttention } from "../../src/engine/ops/attention.js";
import { linearCrossEntropy } from "../../src/engine/ops/cross-entropy.js";
import { embedding } from "../../src/engine/ops/embedding.js";
import { layerNorm } from "../../src/engine/ops/layer-norm.js";
import { linear } from "../../src/engine/ops/linear.js";
import { at, build, mapped, product, reduced, reshaped, sizeOf, softmax64, swapped, total, type Array64 } from "./array64.js";
import { between, drawn, seeds, shapes, whole, type OperationCase, type OperationSpec } from "./operation-case.js";

const common = between(-2, 2);
const small = fc.integer({ min: 1, max: 5 });

/** An operation whose calls follow from attributes and a seed. */
export function operation<A>(name: string, group: string, attributes: fc.Arbitrary<A>, made: (attributes: A, seed: number) => Omit<OperationCase, "label">, large: A): OperationSpec {
  const labelled = (value: A, seed: number): OperationCase => ({ label: JSON.stringify(value), ...made(value, seed) });
  return { name, group, cases: fc.tuple(attributes, seeds).map(([value, seed]) => labelled(value, seed)), large: () => labelled(large, 1) };
}

const PRODUCTS = "products";
const PLACES = "places given by indices";
/** Group of the operations of `engine/ops`. */
export const OWN = "levanter's own";

const products = fc.record({ batch: shapes(0, 2, 3), m: small, k: small, n: small, transposeA: fc.boolean(), transposeB: fc.boolean() });
const LARGE_PRODUCT = { batch: [3], m: 129, k: 257, n: 193, transposeA: false, transposeB: false };
const matrix = (batch: readonly number[], rows: number, columns: number, transposed: boolean): number[] => [...batch, ...(transposed ? [columns, rows] : [rows, columns])];
const plain = (x: Array64, transposed: boolean): Array64 => (transposed ? swapped(x) : x);

/** Equations with the shapes of their terms, for extents a, b, c, d. */
const EQUATIONS: Readonly<Record<string, (...extents: number[]) => number[][]>> = {
  "ab,bc->ac": (a = 1, b = 1, c = 1) => [[a, b], [b, c]],
  "abc,acd->abd": (a = 1, b = 1, c = 1, d = 1) => [[a, b, c], [a, c, d]],
  "abcd,aecd->aceb": (a = 1, b = 1, c = 1, d = 1) => [[a, b, c, d], [a, 3, c, d]],
  "ab,ab->": (a = 1, b = 1) => [[a, b], [a, b]],
  "a,b->ab": (a = 1, b = 1) => [[a], [b]],
  "abc->cab": (a = 1, b = 1, c = 1) => [[a, b, c]],
  "abc->b": (a = 1, b = 1, c = 1) => [[a, b, c]],
};

function einsum64(equation: string, ...terms: Array64[]): Array64 {
  const [left = "", right = ""] = equation.split("->");
  const names = left.split(",");
  const extents = new Map<string, number>();
  names.forEach((name, term) => { [...name].forEach((letter, axis) => extents.set(letter, terms[term]?.shape[axis] as number)); });
  const summed = [...extents.keys()].filter((letter) => !right.includes(letter));
  return build([...right].map((letter) => extents.get(letter) as number), (place) => {
    let sum = 0;
    build(summed.map((letter) => extents.get(letter) as number), (inner) => {
      const position = (letter: string): number => (right.includes(letter) ? (place[right.indexOf(letter)] as number) : (inner[summed.indexOf(letter)] as number));
      sum += names.reduce((value, name, term) => value * at(terms[term] as Array64, [...name].map(position)), 1);
      return 0;
    });
    return sum;
  });
}

/** Rows of the values added to the rows of zeros that their ids name; ids outside are dropped. */
function segments64(values: Array64, ids: Array64, count: number): Array64 {
  const width = sizeOf(values.shape.slice(ids.shape.length));
  const data = Array.from({ length: count * width }, () => 0);
  ids.data.forEach((id, row) => {
    if (id < 0 || id >= count) return;
    for (let column = 0; column < width; column++) data[id * width + column] = (data[id * width + column] as number) + (values.data[row * width + column] as number);
  });
  return { shape: [count, ...values.shape.slice(ids.shape.length)], data };
}

function layerNorm64(x: Array64, gamma: Array64, beta: Array64, epsilon: number): Array64 {
  const last = [x.shape.length - 1];
  const mean = reduced(x, last, true, (values) => total(values) / values.length);
  const variance = reduced(mapped((value, centre) => (value - centre) ** 2, x, mean), last, true, (values) => total(values) / values.length);
  return mapped((value, centre, spread, scale, shift) => ((value - centre) / Math.sqrt(spread + epsilon)) * scale + shift, x, mean, variance, gamma, beta);
}

/** Causal attention. */
export function attention64(q: Array64, k: Array64, v: Array64): Array64 {
  const scale = 1 / Math.sqrt(q.shape.at(-1) as number);
  const scores = product(q, swapped(k));
  const masked = build(scores.shape, (place) => ((place.at(-1) as number) > (place.at(-2) as number) ? -1e9 : at(scores, place) * scale));
  return product(softmax64(masked), v);
}

function crossEntropy64(h: Array64, table: Array64, targets: Array64, weights: Array64): Array64 {
  const probabilities = softmax64(product(h, swapped(table)));
  return { shape: [], data: [total(targets.data.map((target, row) => -(weights.data[row] as number) * Math.log(at(probabilities, [row, target]))))] };
}

export const LINEAR_OPERATIONS: readonly OperationSpec[] = [
  operation("tf.matMul", PRODUCTS, products, ({ batch, m, k, n, transposeA, transposeB }, seed) => ({
    inputs: [drawn(matrix(batch, m, k, transposeA), common, seed), drawn(matrix(batch, k, n, transposeB), common, seed + 1)],
    apply: (a, b) => tf.matMul(a, b as tf.Tensor, transposeA, transposeB), oracle: (a, b) => product(plain(a, transposeA), plain(b as Array64, transposeB)), gradients: [0, 1],
  }), LARGE_PRODUCT),
  operation("tf.matMul, broadcast", PRODUCTS, products, ({ m, k, n, transposeA, transposeB }, seed) => ({
    inputs: [drawn(matrix([1], m, k, transposeA), common, seed), drawn(matrix([3], k, n, transposeB), common, seed + 1)],
    apply: (a, b) => tf.matMul(a, b as tf.Tensor, transposeA, transposeB), oracle: (a, b) => product(plain(a, transposeA), plain(b as Array64, transposeB)), gradients: [],
  }), LARGE_PRODUCT),
  operation("tf.matMul of int32", PRODUCTS, products, ({ batch, m, k, n }, seed) => ({
    inputs: [drawn([...batch, m, k], whole(-9, 9), seed, "int32"), drawn([...batch, k, n], whole(-9, 9), seed + 1, "int32")],
    apply: (a, b) => tf.matMul(a, b as tf.Tensor), oracle: (a, b) => product(a, b as Array64), gradients: [],
  }), LARGE_PRODUCT),
  operation("tf.fused.matMul", PRODUCTS, fc.record({ m: small, k: small, n: small, activation: fc.constantFrom("linear", "relu", "elu", "relu6", "leakyrelu", "sigmoid") }), ({ m, k, n, activation }, seed) => ({
    inputs: [drawn([m, k], common, seed), drawn([k, n], common, seed + 1), drawn([n], common, seed + 2)],
    apply: (a, b, bias) => tf.fused.matMul({ a, b: b as tf.Tensor, bias, activation: activation as "linear", leakyreluAlpha: 0.1 }),
    oracle: (a, b, bias) => mapped((value, shift) => {
      const x = value + shift;
      const results: Record<string, number> = {
        linear: x, relu: Math.max(0, x), elu: x > 0 ? x : Math.expm1(x), relu6: Math.min(6, Math.max(0, x)), leakyrelu: x > 0 ? x : 0.1 * x, sigmoid: 1 / (1 + Math.exp(-x)),
      };
      return results[activation] as number;
    }, product(a, b as Array64), bias as Array64),
    gradients: activation === "linear" ? [0, 1, 2] : [],
  }), { m: 129, k: 257, n: 193, activation: "linear" }),
  operation("tf.dot, tf.outerProduct", PRODUCTS, small, (n, seed) => ({
    inputs: [drawn([n], common, seed), drawn([n], common, seed + 1)],
    apply: (a, b) => [tf.dot(a, b as tf.Tensor), tf.outerProduct(a as tf.Tensor1D, b as tf.Tensor1D)],
    oracle: (a, b) => [{ shape: [], data: [total(a.data.map((value, index) => value * (b?.data[index] as number)))] }, build([n, n], ([row = 0, column = 0]) => at(a, [row]) * at(b as Array64, [column]))],
    gradients: [0, 1],
  }), 1025),
  operation("tf.einsum", PRODUCTS, fc.record({ equation: fc.constantFrom(...Object.keys(EQUATIONS)), extents: fc.array(small, { minLength: 4, maxLength: 4 }) }), ({ equation, extents }, seed) => ({
    inputs: (EQUATIONS[equation]?.(...extents) ?? []).map((shape, index) => drawn(shape, common, seed + index)),
    apply: (...terms) => tf.einsum(equation, ...terms), oracle: (...terms) => einsum64(equation, ...terms), gradients: equation.split("->")[0]?.split(",").map((_term, index) => index) ?? [],
  }), { equation: "abc,acd->abd", extents: [3, 129, 257, 193] }),
  operation("tf.addN", PRODUCTS, shapes(0, 3), (shape, seed) => ({
    inputs: [0, 1, 2].map((index) => drawn(shape, common, seed + index)), apply: (...terms) => tf.addN(terms), oracle: (...terms) => mapped((...values) => total(values), ...terms), gradients: [0, 1, 2],
  }), [257, 1021]),

  operation("tf.gather", PLACES, shapes(1, 3).chain((shape) => fc.record({ shape: fc.constant(shape), axis: fc.nat({ max: shape.length - 1 }), count: shapes(1, 2) })), ({ shape, axis, count }, seed) => ({
    inputs: [drawn(shape, common, seed), drawn(count, whole(0, (shape[axis] as number) - 1), seed + 1, "int32")], apply: (x, indices) => tf.gather(x, indices as tf.Tensor1D, axis),
    oracle: (x, indices) => build([...shape.slice(0, axis), ...count, ...shape.slice(axis + 1)], (place) => {
      const index = at(indices as Array64, place.slice(axis, axis + count.length));
      return at(x, [...place.slice(0, axis), index, ...place.slice(axis + count.length)]);
    }),
    gradients: [0],
  }), { shape: [1021, 64], axis: 0, count: [4096] }),
  operation("tf.gather in batches", PLACES, fc.record({ batch: small, outer: small, length: small, inner: small, count: small, axis: fc.constantFrom(1, 2) }), ({ batch, outer, length, inner, count, axis }, seed) => {
    const shape = axis === 1 ? [batch, length, inner] : [batch, outer, length];
    return {
      inputs: [drawn(shape, common, seed), drawn([batch, count], whole(0, length - 1), seed + 1, "int32")], apply: (x, indices) => tf.gather(x, indices as tf.Tensor2D as never, axis, 1),
      oracle: (x, indices) => build(axis === 1 ? [batch, count, inner] : [batch, outer, count], ([first = 0, second = 0, third = 0]) =>
        axis === 1 ? at(x, [first, at(indices as Array64, [first, second]), third]) : at(x, [first, second, at(indices as Array64, [first, third])])),
      gradients: [0],
    };
  }, { batch: 8, outer: 1, length: 257, inner: 64, count: 512, axis: 1 }),
  operation("tf.gatherND", PLACES, fc.record({ shape: fc.tuple(small, small, small), count: small, depth: fc.integer({ min: 1, max: 3 }) }), ({ shape, count, depth }, seed) => {
    const places = drawn([count, depth], whole(0, 99), seed + 1, "int32");
    const indices = { ...places, data: places.data.map((value, index) => value % (shape[index % depth] as number)) };
    return {
      inputs: [drawn(shape, common, seed), indices], apply: (x, at_) => tf.gatherND(x, at_ as tf.Tensor),
      oracle: (x, at_) => build([count, ...shape.slice(depth)], ([row = 0, ...rest]) => at(x, [...Array.from({ length: depth }, (_unused, axis) => at(at_ as Array64, [row, axis])), ...rest])),
      gradients: [],
    };
  }, { shape: [64, 65, 32], count: 4096, depth: 2 }),
  operation("tf.scatterND", PLACES, fc.record({ rows: small, columns: small, inner: small, count: small }), ({ rows, columns, inner, count }, seed) => {
    const places = drawn([count, 2], whole(0, 99), seed, "int32");
    const indices = { ...places, data: places.data.map((value, index) => value % (index % 2 === 0 ? rows : columns)) };
    return {
      inputs: [indices, drawn([count, inner], common, seed + 1)], apply: (at_, updates) => tf.scatterND(at_, updates as tf.Tensor, [rows, columns, inner]),
      oracle: (at_, updates) => {
        const ids = { shape: [count], data: Array.from({ length: count }, (_unused, row) => at(at_, [row, 0]) * columns + at(at_, [row, 1])) };
        return reshaped(segments64(updates as Array64, ids, rows * columns), [rows, columns, inner]);
      },
      gradients: [],
    };
  }, { rows: 32, columns: 32, inner: 64, count: 8192 }),
  operation("tf.unsortedSegmentSum", PLACES, fc.record({ rows: small, inner: shapes(0, 2), segments: small }), ({ rows, inner, segments }, seed) => ({
    inputs: [drawn([rows, ...inner], common, seed), drawn([rows], whole(0, segments - 1), seed + 1, "int32")], apply: (x, ids) => tf.unsortedSegmentSum(x, ids as tf.Tensor1D, segments),
    oracle: (x, ids) => segments64(x, ids as Array64, segments), gradients: [0],
  }), { rows: 8192, inner: [64], segments: 257 }),

  operation("linear", OWN, fc.record({ rows: small, k: small, n: small }), ({ rows, k, n }, seed) => ({
    inputs: [drawn([rows, k], common, seed), drawn([k, n], common, seed + 1), drawn([n], common, seed + 2)], apply: (x, w, b) => linear(x, w as tf.Tensor, b),
    oracle: (x, w, b) => mapped((value, shift) => value + shift, product(x, w as Array64), b as Array64), gradients: [0, 1, 2],
  }), { rows: 257, k: 193, n: 321 }),
  operation("layerNorm", OWN, fc.record({ rows: small, width: fc.integer({ min: 2, max: 6 }) }), ({ rows, width }, seed) => ({
    inputs: [drawn([rows, width], common, seed), drawn([width], common, seed + 1), drawn([width], common, seed + 2)], apply: (x, gamma, beta) => layerNorm(x, gamma as tf.Tensor, beta as tf.Tensor, 1e-2),
    oracle: (x, gamma, beta) => layerNorm64(x, gamma as Array64, beta as Array64, 1e-2), gradients: [0, 1, 2],
  }), { rows: 513, width: 384 }),
  operation("embedding", OWN, fc.record({ rows: small, width: small, count: small }), ({ rows, width, count }, seed) => ({
    inputs: [drawn([rows, width], common, seed), drawn([count], whole(0, rows - 1), seed + 1, "int32")], apply: (table, ids) => embedding(table, ids as tf.Tensor),
    oracle: (table, ids) => build([count, width], ([row = 0, column = 0]) => at(table, [at(ids as Array64, [row]), column])), gradients: [0],
  }), { rows: 1021, width: 64, count: 4096 }),
  operation("causalAttention", OWN, fc.record({ batch: small, heads: small, length: small, width: small }), ({ batch, heads, length, width }, seed) => ({
    inputs: [0, 1, 2].map((index) => drawn([batch, heads, length, width], common, seed + index)), apply: (q, k, v) => causalAttention(q, k as tf.Tensor, v as tf.Tensor),
    oracle: (q, k, v) => attention64(q, k as Array64, v as Array64), gradients: [0, 1, 2],
  }), { batch: 2, heads: 3, length: 129, width: 32 }),
  operation("linearCrossEntropy", OWN, fc.record({ rows: small, width: small, vocabulary: fc.integer({ min: 2, max: 6 }) }), ({ rows, width, vocabulary }, seed) => ({
    inputs: [drawn([rows, width], common, seed), drawn([vocabulary, width], common, seed + 1), drawn([rows], whole(0, vocabulary - 1), seed + 2, "int32"), drawn([rows], between(0, 1), seed + 3)],
    apply: (h, table, targets, weights) => linearCrossEntropy(h, table as tf.Tensor, targets as tf.Tensor, weights as tf.Tensor),
    oracle: (h, table, targets, weights) => crossEntropy64(h, table as Array64, targets as Array64, weights as Array64), gradients: [0, 1],
  }), { rows: 257, width: 64, vocabulary: 1021 }),
];
