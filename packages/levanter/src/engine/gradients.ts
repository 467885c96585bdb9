import * as tf from "@tensorflow/tfjs-core";
// tfjs-core's Node build leaves out the gradients of its operations; tfjs-layers registers them all.
import "@tensorflow/tfjs-layers";
import { scatterAddRows } from "./ops/embedding.js";
import { elementCount } from "./shape.js";

/**
 * Gradients that tfjs 4.22 lacks or has wrong. They replace tfjs's own on every engine; `test/conformance` compares all of them with float64.
 *
 * * `Cumsum`: tfjs's has its axes swapped unless the sum runs along the last one.
 * * `MirrorPad`: tfjs's forgets the mirrored elements.
 * * `GatherV2`: tfjs's fails with batches, and on backends without a segment sum.
 * * `Prod`: tfjs's calls methods that its Node build does not have.
 * * `Unpack`, `SplitV`: tfjs's fails where there is one part.
 * * `Einsum`: tfjs has none.
 */
const GRADIENTS: readonly tf.GradConfig[] = [
  {
    kernelName: "Cumsum",
    gradFunc: (dy, _saved, attrs) => {
      const { axis, exclusive, reverse } = attrs as { axis: number; exclusive: boolean; reverse: boolean };
      return { x: () => tf.cumsum(single(dy), axis, exclusive, !reverse) };
    },
  },
  {
    kernelName: "MirrorPad",
    inputsToSave: ["x"],
    gradFunc: (dy, [x], attrs) => {
      const { paddings, mode } = attrs as unknown as { paddings: [number, number][]; mode: "reflect" | "symmetric" };
      const shape = (x as tf.Tensor).shape;
      return { x: () => paddings.reduce((gradient, padding, axis) => unmirrored(gradient, axis, shape[axis] as number, padding, mode === "reflect" ? 1 : 0), single(dy)) };
    },
  },
  {
    kernelName: "GatherV2",
    inputsToSave: ["x", "indices"],
    gradFunc: (dy, [x, indices], attrs) => {
      const { axis, batchDims } = attrs as { axis: number; batchDims?: number };
      return { x: () => gathered(single(dy), x as tf.Tensor, indices as tf.Tensor, axis, batchDims ?? 0), indices: () => indices as tf.Tensor };
    },
  },
  {
    kernelName: "Prod",
    inputsToSave: ["x"],
    gradFunc: (dy, [x], attrs) => ({ x: () => prodGradient(single(dy), x as tf.Tensor, tf.util.parseAxisParam((attrs as { axis: number | number[] }).axis, (x as tf.Tensor).shape)) }),
  },
  { kernelName: "Unpack", gradFunc: (dy, _saved, attrs) => ({ value: () => tf.stack([dy].flat(), (attrs as { axis: number }).axis) }) },
  { kernelName: "SplitV", gradFunc: (dy, _saved, attrs) => ({ x: () => tf.concat([dy].flat(), (attrs as { axis: number }).axis) }) },
  {
    kernelName: "Einsum",
    saveAllInputs: true,
    gradFunc: (dy, terms, attrs) => Object.fromEntries(terms.map((_term, place) => [place, () => einsumGradient(single(dy), terms, place, (attrs as { equation: string }).equation)])),
  },
];

/** Registers the gradients of tfjs's operations. Registering them again changes nothing. */
export function registerGradients(): void {
  for (const gradient of GRADIENTS) tf.registerGradient(gradient);
}

function single(dy: tf.Tensor | tf.Tensor[]): tf.Tensor {
  return Array.isArray(dy) ? (dy[0] as tf.Tensor) : dy;
}

/** The gradient before one axis was mirrored: the middle, and both borders turned back onto it. */
function unmirrored(dy: tf.Tensor, axis: number, extent: number, [before, after]: [number, number], edge: number): tf.Tensor {
  const part = (start: number, length: number): tf.Tensor =>
    tf.slice(dy, dy.shape.map((_extent, index) => (index === axis ? start : 0)), dy.shape.map((whole, index) => (index === axis ? length : whole)));
  const placed = (border: tf.Tensor, at: number): tf.Tensor => {
    const length = border.shape[axis] as number;
    return tf.pad(tf.reverse(border, axis), dy.shape.map((_extent, index): [number, number] => (index === axis ? [at, extent - length - at] : [0, 0])));
  };
  let sum = part(before, extent);
  if (before > 0) sum = tf.add(sum, placed(part(0, before), edge));
  if (after > 0) sum = tf.add(sum, placed(part(before + extent, after), extent - edge - after));
  return sum;
}

/** The gradient of gathered slices: each goes back to the row that it came from, rows of all batches in one table. */
function gathered(dy: tf.Tensor, x: tf.Tensor, indices: tf.Tensor, givenAxis: number, batchDims: number): tf.Tensor {
  const axis = givenAxis < 0 ? givenAxis + x.rank : givenAxis;
  const [batches, outer] = [elementCount(x.shape.slice(0, batchDims)), elementCount(x.shape.slice(batchDims, axis))];
  const [length, inner] = [x.shape[axis] as number, elementCount(x.shape.slice(axis + 1))];
  const count = elementCount(indices.shape.slice(batchDims));
  const flat = tf.reshape(tf.cast(indices, "int32"), [batches, count]);
  const rows = batches === 1 ? flat : tf.add(flat, tf.reshape(tf.range(0, batches * length, length, "int32"), [batches, 1]));
  const updates = tf.reshape(tf.transpose(tf.reshape(dy, [batches, outer, count, inner]), [0, 2, 1, 3]), [batches * count, outer * inner]);
  const table = scatterAddRows(batches * length, tf.reshape(rows, [batches * count]), updates);
  return tf.reshape(tf.transpose(tf.reshape(table, [batches, length, outer, inner]), [0, 2, 1, 3]), x.shape);
}

/** The gradient of a product: for each factor, the product of all others, those before it and those after it. No division: a factor may be 0. */
function prodGradient(dy: tf.Tensor, x: tf.Tensor, axes: readonly number[]): tf.Tensor {
  const order = [...x.shape.keys()].sort((a, b) => Number(axes.includes(a)) - Number(axes.includes(b)));
  const last = tf.transpose(x, order);
  const kept = last.shape.slice(0, x.rank - axes.length);
  const factors = tf.reshape(last, [...kept, -1]);
  const others = tf.mul(tf.cumprod(factors, kept.length, true, false), tf.cumprod(factors, kept.length, true, true));
  const gradient = tf.reshape(tf.mul(others, tf.reshape(dy, [...kept, 1])), last.shape);
  return tf.transpose(gradient, order.map((_axis, position) => order.indexOf(position)));
}

/** The gradient of one term: the result's gradient and the other term, summed over what the term does not have; letters that it has alone are repeated. */
function einsumGradient(dy: tf.Tensor, terms: readonly tf.Tensor[], place: number, equation: string): tf.Tensor {
  const [left = "", result = ""] = equation.replaceAll(/\s/g, "").split("->");
  const names = left.split(",");
  const term = terms[place] as tf.Tensor;
  const name = names[place] as string;
  const [other, otherName] = [terms[1 - place], names[1 - place] ?? ""];
  const kept = [...name].filter((letter) => result.includes(letter) || otherName.includes(letter)).join("");
  let gradient: tf.Tensor;
  if (other === undefined) gradient = result === "" ? dy : tf.einsum(`${result}->${kept}`, dy);
  else if (result === "") gradient = tf.mul(tf.einsum(`${otherName}->${kept}`, other), dy);
  else gradient = tf.einsum(`${result},${otherName}->${kept}`, dy, other);
  return tf.broadcastTo(tf.reshape(gradient, [...name].map((letter, axis) => (kept.includes(letter) ? (term.shape[axis] as number) : 1))), term.shape);
}
