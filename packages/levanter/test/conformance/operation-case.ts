import type * as tf from "@tensorflow/tfjs-core";
import fc from "fast-check";
import type { DType } from "../../src/engine/types.js";
import { sizeOf, type Array64, type TypedArray64 } from "./array64.js";

/** One call of an operation with its inputs, and what it must give. */
export interface OperationCase {
  /** The attributes, for messages. */
  readonly label: string;
  readonly inputs: readonly TypedArray64[];
  readonly apply: (...tensors: tf.Tensor[]) => tf.Tensor | readonly tf.Tensor[];
  readonly oracle: (...arrays: Array64[]) => Array64 | readonly Array64[];
  /** Places of the inputs that have a gradient in tfjs. */
  readonly gradients: readonly number[];
}

/** An operation with the ways to call it. */
export interface OperationSpec {
  /** As in code: `tf.matMul`. */
  readonly name: string;
  readonly group: string;
  readonly cases: fc.Arbitrary<OperationCase>;
  /** One call on tensors large enough that the runtime divides the work among threads. */
  readonly large: () => OperationCase;
}

/** Numbers of one input: a pure function of a seed, so that cases are small to describe and to shrink. */
export type Draw = (seed: number, count: number) => number[];

function random(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0;
  // mulberry32.
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Evenly distributed float32 numbers. */
export const between = (low: number, high: number): Draw => (seed, count) => {
  const next = random(seed);
  return Array.from({ length: count }, () => Math.fround(low + (high - low) * next()));
};

/** Numbers of both signs, from `near` to `far` away from 0. */
export const awayFromZero = (near: number, far: number): Draw => (seed, count) => {
  const next = random(seed);
  return Array.from({ length: count }, () => Math.fround((next() < 0.5 ? -1 : 1) * (near + (far - near) * next())));
};

/** Distinct numbers, `step` apart, none near 0 or near a half: nothing is ever equal, and no step is near. */
export const distinct = (step = 0.25): Draw => (seed, count) => {
  const next = random(seed);
  const places = Array.from({ length: count }, (_unused, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1));
    [places[last], places[other]] = [places[other] as number, places[last] as number];
  }
  return places.map((place) => Math.fround((place - Math.floor(count / 2)) * step + 0.1));
};

/** Whole numbers from `low` to `high`, both taken. */
export const whole = (low: number, high: number): Draw => (seed, count) => between(low, high + 1)(seed, count).map((value) => Math.min(high, Math.floor(value)));

/** Answers. */
export const answers: Draw = whole(0, 1);

/** An input of a shape. */
export function drawn(shape: readonly number[], draw: Draw, seed: number, dtype: DType = "float32"): TypedArray64 {
  return { shape, dtype, data: draw(seed, sizeOf(shape)) };
}

/** Seeds of a case's inputs. */
export const seeds = fc.integer({ min: 1, max: 1 << 20 });

/** Shapes of this rank range, axes of 1 to `longest`. */
export function shapes(least: number, most: number, longest = 4): fc.Arbitrary<number[]> {
  return fc.array(fc.integer({ min: 1, max: longest }), { minLength: least, maxLength: most });
}

/** Two or more shapes that broadcast together. */
export function broadcastable(count: number): fc.Arbitrary<number[][]> {
  return shapes(0, 3).chain((full) =>
    fc.tuple(...Array.from({ length: count }, () => fc.tuple(fc.nat({ max: full.length }), fc.array(fc.boolean(), { minLength: full.length, maxLength: full.length })))).map((masks) =>
      masks.map(([drop, ones]) => full.map((extent, axis) => (ones[axis] === true ? 1 : extent)).slice(drop)),
    ),
  );
}

/** A non-empty choice of a shape's axes, ascending. */
export function someAxes(rank: number): fc.Arbitrary<number[]> {
  return fc.subarray(Array.from({ length: rank }, (_unused, axis) => axis), { minLength: 1 });
}

/** One of a shape's axes. */
export function oneAxis(rank: number): fc.Arbitrary<number> {
  return fc.nat({ max: rank - 1 });
}
