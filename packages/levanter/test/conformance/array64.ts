import type { DType } from "../../src/engine/types.js";

/** A tensor in float64, row-major: what the oracles compute with. */
export interface Array64 {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** An input of a case: numbers that its element type holds exactly. */
export interface TypedArray64 extends Array64 {
  readonly dtype: DType;
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** A tensor whose element at each place is a function of the place. */
export function build(shape: readonly number[], element: (place: readonly number[]) => number): Array64 {
  const place = shape.map(() => 0);
  const data = Array.from({ length: sizeOf(shape) }, () => {
    const value = element(place);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place[axis] = (place[axis] as number) + 1;
      if ((place[axis] as number) < (shape[axis] as number)) break;
      place[axis] = 0;
    }
    return value;
  });
  return { shape, data };
}

/** The element at a place. */
export function at(x: Array64, place: readonly number[]): number {
  let offset = 0;
  x.shape.forEach((extent, axis) => {
    offset = offset * extent + (place[axis] as number);
  });
  return x.data[offset] as number;
}

/** The shape that shapes broadcast to together. */
export function broadcastShapes(...shapes: (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_unused, axis) => shapes.reduce((extent, shape) => {
    const own = shape[axis - rank + shape.length] ?? 1;
    return own === 1 ? extent : own;
  }, 1));
}

/** A function applied to every element of tensors that are broadcast together. */
export function mapped(fn: (...values: number[]) => number, ...arrays: Array64[]): Array64 {
  const shape = broadcastShapes(...arrays.map((array) => array.shape));
  return build(shape, (place) => fn(...arrays.map((array) => at(array, array.shape.map((extent, axis) => (extent === 1 ? 0 : (place[axis + shape.length - array.shape.length] as number)))))));
}

/** The elements along the axes, in order, folded into one number for each of the other places. */
export function reduced(x: Array64, axes: readonly number[], keepDims: boolean, fold: (values: number[]) => number): Array64 {
  const kept = x.shape.map((_extent, axis) => axis).filter((axis) => !axes.includes(axis));
  const whole = x.shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent));
  const result = build(whole, (place) => {
    const values: number[] = [];
    build(x.shape.map((extent, axis) => (axes.includes(axis) ? extent : 1)), (inner) => {
      values.push(at(x, place.map((position, axis) => position + (inner[axis] as number))));
      return 0;
    });
    return fold(values);
  });
  return keepDims ? result : { shape: kept.map((axis) => x.shape[axis] as number), data: result.data };
}

/** The product of matrices over the last two axes, with broadcast leading axes. */
export function product(a: Array64, b: Array64): Array64 {
  const [rows, inner, columns] = [a.shape.at(-2) as number, a.shape.at(-1) as number, b.shape.at(-1) as number];
  const batch = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const batchPlace = (x: Array64, place: readonly number[]): number[] =>
    x.shape.slice(0, -2).map((extent, axis) => (extent === 1 ? 0 : (place[axis + batch.length - x.shape.length + 2] as number)));
  return build([...batch, rows, columns], (place) => {
    const [row, column] = place.slice(-2) as [number, number];
    let sum = 0;
    for (let k = 0; k < inner; k++) sum += at(a, [...batchPlace(a, place), row, k]) * at(b, [...batchPlace(b, place), k, column]);
    return sum;
  });
}

/** The axes in another order. */
export function permuted(x: Array64, order: readonly number[]): Array64 {
  return build(order.map((axis) => x.shape[axis] as number), (place) => {
    const source: number[] = [];
    order.forEach((axis, index) => { source[axis] = place[index] as number; });
    return at(x, source);
  });
}

/** The last two axes swapped. */
export function swapped(x: Array64): Array64 {
  const rank = x.shape.length;
  return permuted(x, Array.from({ length: rank }, (_unused, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis)));
}

/** The same elements in another shape. */
export function reshaped(x: Array64, shape: readonly number[]): Array64 {
  return { shape, data: x.data };
}

/** Softmax over the last axis. */
export function softmax64(x: Array64): Array64 {
  const largest = reduced(x, [x.shape.length - 1], true, (values) => Math.max(...values));
  const powers = mapped((value, most) => Math.exp(value - most), x, largest);
  return mapped((power, sum) => power / sum, powers, reduced(powers, [x.shape.length - 1], true, total));
}

/** The sum of numbers. */
export function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The error function, by its series near 0 and by its continued fraction far out (Abramowitz & Stegun 7.1.6 and 7.1.14). */
export function erf64(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 80; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let fraction = magnitude;
  for (let n = 60; n > 0; n--) fraction = magnitude + n / 2 / fraction;
  return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction);
}
