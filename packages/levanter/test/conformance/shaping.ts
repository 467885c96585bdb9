import * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import { at, build, reshaped, permuted, sizeOf, mapped } from "./array64.js";
import { answers, between, broadcastable, drawn, oneAxis, seeds, shapes, someAxes, whole, type OperationCase, type OperationSpec } from "./operation-case.js";

const common = between(-3, 3);
const GROUP = "shapes, parts and fills";

function operation<A>(name: string, attributes: fc.Arbitrary<A>, made: (attributes: A, seed: number) => Omit<OperationCase, "label">, large: A): OperationSpec {
  const labelled = (value: A, seed: number): OperationCase => ({ label: JSON.stringify(value), ...made(value, seed) });
  return { name, group: GROUP, cases: fc.tuple(attributes, seeds).map(([value, seed]) => labelled(value, seed)), large: () => labelled(large, 1) };
}

const withAxis = (least = 1): fc.Arbitrary<{ shape: number[]; axis: number }> => shapes(least, 3).chain((shape) => fc.record({ shape: fc.constant(shape), axis: oneAxis(shape.length) }));

interface Padded {
  readonly shape: number[];
  readonly paddings: [number, number][];
}

/** Paddings, each shorter than its axis, as mirroring asks for. */
const padded = shapes(1, 3).chain((shape) =>
  fc.record({ shape: fc.constant(shape), paddings: fc.tuple(...shape.map((extent) => fc.tuple(fc.nat({ max: extent - 1 }), fc.nat({ max: extent - 1 })))) }),
);

interface Strided {
  readonly shape: number[];
  readonly begin: number[];
  readonly strides: number[];
}

const strided = shapes(1, 3, 5).chain((shape) =>
  fc.record({ shape: fc.constant(shape), begin: fc.tuple(...shape.map((extent) => fc.nat({ max: extent - 1 }))), strides: fc.tuple(...shape.map(() => fc.constantFrom(-2, -1, 1, 2, 3))) }),
);

/** Up to and with the last element, in either direction. */
function stridedSlice(shape: number[], { begin, strides }: Strided, x: tf.Tensor): tf.Tensor {
  const endMask = shape.reduce((mask, _extent, axis) => mask | (1 << axis), 0);
  return tf.stridedSlice(x, begin, shape, strides, 0, endMask);
}

export const SHAPING_OPERATIONS: readonly OperationSpec[] = [
  operation("tf.reshape", shapes(0, 4), (shape, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.reshape(x, [-1, 1]), oracle: (x) => reshaped(x, [sizeOf(shape), 1]), gradients: [0],
  }), [257, 1021]),
  operation("tf.expandDims, tf.squeeze", withAxis(), ({ shape, axis }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => [tf.expandDims(x, axis), tf.squeeze(tf.expandDims(x, axis), [axis])],
    oracle: (x) => [reshaped(x, [...shape.slice(0, axis), 1, ...shape.slice(axis)]), x], gradients: [0],
  }), { shape: [257, 1021], axis: 1 }),
  operation("tf.transpose", shapes(0, 4).chain((shape) => fc.record({ shape: fc.constant(shape), perm: fc.shuffledSubarray(shape.map((_extent, axis) => axis), { minLength: shape.length }) })), ({ shape, perm }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.transpose(x, perm), oracle: (x) => permuted(x, perm), gradients: [0],
  }), { shape: [31, 65, 129], perm: [2, 0, 1] }),
  operation<Padded>("tf.slice", padded, ({ shape, paddings }, seed) => {
    const begin = paddings.map(([before], axis) => Math.min(before, (shape[axis] as number) - 1));
    const size = paddings.map(([, after], axis) => Math.max(1, (shape[axis] as number) - (begin[axis] as number) - after));
    return { inputs: [drawn(shape, common, seed)], apply: (x) => tf.slice(x, begin, size), oracle: (x) => build(size, (place) => at(x, place.map((position, axis) => position + (begin[axis] as number)))), gradients: [0] };
  }, { shape: [257, 1021], paddings: [[3, 4], [100, 200]] }),
  operation<Strided>("tf.stridedSlice", strided, (attributes, seed) => ({
    inputs: [drawn(attributes.shape, common, seed)],
    apply: (x) => stridedSlice(attributes.shape, attributes, x),
    oracle: (x) => {
      const size = attributes.shape.map((extent, axis) => {
        const [begin, stride] = [attributes.begin[axis] as number, attributes.strides[axis] as number];
        return stride > 0 ? Math.ceil((extent - begin) / stride) : Math.floor(begin / -stride) + 1;
      });
      return build(size, (place) => at(x, place.map((position, axis) => (attributes.begin[axis] as number) + position * (attributes.strides[axis] as number))));
    },
    gradients: [],
  }), { shape: [257, 1021], begin: [256, 0], strides: [-1, 2] }),
  operation("tf.reverse", shapes(1, 3).chain((shape) => fc.record({ shape: fc.constant(shape), axes: someAxes(shape.length) })), ({ shape, axes }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.reverse(x, axes),
    oracle: (x) => build(shape, (place) => at(x, place.map((position, axis) => (axes.includes(axis) ? (shape[axis] as number) - 1 - position : position)))), gradients: [0],
  }), { shape: [257, 1021], axes: [0, 1] }),
  operation("tf.split", withAxis(), ({ shape, axis }, seed) => {
    const [first, second] = [shape[axis] as number, 2];
    const whole = shape.map((extent, index) => (index === axis ? first + second : extent));
    const part = (x: Parameters<OperationCase["oracle"]>[0], start: number, extent: number): ReturnType<typeof build> =>
      build(whole.map((length, index) => (index === axis ? extent : length)), (place) => at(x, place.map((position, index) => (index === axis ? position + start : position))));
    return { inputs: [drawn(whole, common, seed)], apply: (x) => tf.split(x, [first, second], axis), oracle: (x) => [part(x, 0, first), part(x, first, second)], gradients: [0] };
  }, { shape: [257, 1021], axis: 1 }),
  operation("tf.concat", withAxis(), ({ shape, axis }, seed) => {
    const longer = shape.map((extent, index) => (index === axis ? extent + 1 : extent));
    return {
      inputs: [drawn(shape, common, seed), drawn(longer, common, seed + 1)], apply: (a, b) => tf.concat([a as tf.Tensor, b as tf.Tensor], axis),
      oracle: (a, b) => build(shape.map((extent, index) => (index === axis ? 2 * extent + 1 : extent)), (place) => {
        const position = place[axis] as number;
        const extent = shape[axis] as number;
        return position < extent ? at(a as never, place) : at(b as never, place.map((own, index) => (index === axis ? own - extent : own)));
      }),
      gradients: [0, 1],
    };
  }, { shape: [257, 1021], axis: 0 }),
  operation("tf.stack, tf.unstack", withAxis(), ({ shape, axis }, seed) => ({
    inputs: [drawn(shape, common, seed), drawn(shape, common, seed + 1)],
    apply: (a, b) => [tf.stack([a as tf.Tensor, b as tf.Tensor], axis), ...tf.unstack(tf.stack([b as tf.Tensor, a as tf.Tensor], axis), axis)],
    oracle: (a, b) => {
      const stacked = build([...shape.slice(0, axis), 2, ...shape.slice(axis)], (place) => at((place[axis] === 0 ? a : b) as never, place.filter((_position, index) => index !== axis)));
      return [stacked, b as never, a as never];
    },
    gradients: [0, 1],
  }), { shape: [257, 1021], axis: 1 }),
  operation<Padded>("tf.pad", padded, ({ shape, paddings }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.pad(x, paddings, 0.5),
    oracle: (x) => build(shape.map((extent, axis) => extent + (paddings[axis]?.[0] ?? 0) + (paddings[axis]?.[1] ?? 0)), (place) => {
      const source = place.map((position, axis) => position - (paddings[axis]?.[0] ?? 0));
      return source.every((position, axis) => position >= 0 && position < (shape[axis] as number)) ? at(x, source) : 0.5;
    }),
    gradients: [0],
  }), { shape: [257, 1021], paddings: [[1, 2], [3, 4]] }),
  ...(["reflect", "symmetric"] as const).map((mode) => operation<Padded>(`tf.mirrorPad, ${mode}`, padded, ({ shape, paddings }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.mirrorPad(x, paddings, mode),
    oracle: (x) => build(shape.map((extent, axis) => extent + (paddings[axis]?.[0] ?? 0) + (paddings[axis]?.[1] ?? 0)), (place) => at(x, place.map((position, axis) => {
      const extent = shape[axis] as number;
      const source = position - (paddings[axis]?.[0] ?? 0);
      const doubled = mode === "reflect" ? 0 : 1;
      if (source < 0) return -source - doubled;
      return source < extent ? source : 2 * (extent - 1) - source + doubled;
    }))),
    gradients: [0],
  }), { shape: [257, 1021], paddings: [[1, 2], [3, 4]] })),
  operation("tf.tile", shapes(1, 3).chain((shape) => fc.record({ shape: fc.constant(shape), reps: fc.tuple(...shape.map(() => fc.integer({ min: 1, max: 3 }))) })), ({ shape, reps }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.tile(x, reps),
    oracle: (x) => build(shape.map((extent, axis) => extent * (reps[axis] as number)), (place) => at(x, place.map((position, axis) => position % (shape[axis] as number)))), gradients: [0],
  }), { shape: [257, 511], reps: [1, 2] }),
  operation("tf.broadcastTo", broadcastable(1).chain(([shape]) => fc.constant(shape as number[])), (shape, seed) => {
    const target = [2, ...shape.map((extent) => (extent === 1 ? 3 : extent))];
    return { inputs: [drawn(shape, common, seed)], apply: (x) => tf.broadcastTo(x, target), oracle: (x) => mapped((_zero, value) => value, build(target, () => 0), x), gradients: [0] };
  }, [1, 65521]),
  operation("tf.cast", shapes(0, 3), (shape, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => [tf.cast(x, "int32"), tf.cast(tf.greater(x, 0), "float32")],
    oracle: (x) => [mapped((value) => Math.trunc(value) || 0, x), mapped((value) => (value > 0 ? 1 : 0), x)], gradients: [],
  }), [257, 1021]),
  operation("tf.clone", shapes(0, 3), (shape, seed) => ({ inputs: [drawn(shape, common, seed)], apply: (x) => tf.mul(tf.clone(x), 2), oracle: (x) => mapped((value) => 2 * value, x), gradients: [0] }), [257, 1021]),
  operation("tf.zerosLike, tf.onesLike, tf.fill", shapes(0, 3), (shape, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => [tf.mul(x, tf.zerosLike(x)), tf.add(x, tf.onesLike(x)), tf.add(x, tf.fill(shape, 2.5))],
    oracle: (x) => [mapped(() => 0, x), mapped((value) => value + 1, x), mapped((value) => value + 2.5, x)], gradients: [0],
  }), [257, 1021]),
  operation("tf.range, tf.linspace, tf.eye", fc.integer({ min: 1, max: 6 }), (n, seed) => ({
    inputs: [drawn([n], common, seed)],
    apply: (x) => [tf.mul(x, tf.range(0, n)), tf.add(x, tf.linspace(-1, 2, n)), tf.mul(x, tf.eye(n))],
    oracle: (x) => [
      build([n], ([place = 0]) => at(x, [place]) * place), build([n], ([place = 0]) => at(x, [place]) - 1 + (n > 1 ? (3 * place) / (n - 1) : 0)),
      build([n, n], ([row = 0, column = 0]) => (row === column ? at(x, [column]) : 0)),
    ],
    gradients: [0],
  }), 400),
  operation("tf.where", broadcastable(3), ([condition, a, b], seed) => ({
    inputs: [drawn(condition ?? [], answers, seed, "bool"), drawn(a ?? [], common, seed + 1), drawn(b ?? [], common, seed + 2)],
    apply: (c, x, y) => tf.where(c, x as tf.Tensor, y as tf.Tensor), oracle: (c, x, y) => mapped((choose, left, right) => (choose === 1 ? left : right), c, x as never, y as never),
    gradients: String(condition) === String(a) && String(a) === String(b) ? [1, 2] : [],
  }), [[257, 1021], [257, 1021], [257, 1021]]),
  operation("tf.linalg.bandPart", shapes(2, 3).chain((shape) => fc.record({ shape: fc.constant(shape), lower: fc.integer({ min: 0, max: shape.at(-2) as number }), upper: fc.integer({ min: 0, max: shape.at(-1) as number }) })), ({ shape, lower, upper }, seed) => ({
    inputs: [drawn(shape, common, seed)], apply: (x) => tf.linalg.bandPart(x, lower, upper),
    oracle: (x) => build(shape, (place) => {
      const [row, column] = place.slice(-2) as [number, number];
      return row - column <= lower && column - row <= upper ? at(x, place) : 0;
    }),
    gradients: [0],
  }), { shape: [3, 257, 257], lower: 20, upper: 0 }),
  operation("tf.oneHot", shapes(1, 2), (shape, seed) => ({
    inputs: [drawn(shape, whole(-1, 5), seed, "int32")], apply: (x) => tf.oneHot(x, 5, 2, -1, "float32"),
    oracle: (x) => build([...shape, 5], (place) => (at(x, place.slice(0, -1)) === place.at(-1) ? 2 : -1)), gradients: [],
  }), [65521]),
];
