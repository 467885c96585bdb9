import { isOp, type Graph, type Node, type Value } from "../graph.js";
import type { GraphBuilder } from "../graph-builder.js";
import { elementCount } from "../shape.js";
import { switchedOn } from "../switches.js";
import { rewrite, type Rule } from "./rewrite.js";

/*
 * The CPU runtime multiplies in panels of 128 columns of the result. An operand read against its grain is turned around for each panel again, and rows
 * of the result that no longer fit a core's cache are fetched again for each step along the sum. Both are what weights' gradients, aᵀb, are made of.
 * Twelve rows of the first operand are read side by side: where they begin a multiple of 4096 bytes apart, they push each other out of the first cache, and the
 * product takes an eighth longer.
 */

/** Columns from which on it pays to turn the first operand around once, beforehand: six panels. */
const TURNED_COLUMNS = 768;

/** Rows of a result that is computed lying on its side: from this many on, and this many times its columns. */
const TALL_ROWS = 4096;
const TALL_RATIO = 4;

/** The same for the products of a batch. */
const SLIM_RATIO = 2;

/** Rows of this many elements, 4096 bytes, or of a multiple, collide. */
const COLLIDING = 1024;

/** Zeros that keep rows from colliding: a cache line. */
const PADDING = 16;

/** Rows x columns / (rows + columns) of a result from which on lengthened copies of the operands cost less than colliding rows. */
const LENGTHENED_EXTENT = 200;

/** Elements of the largest operand that is copied for it: 16 MiB. */
const LENGTHENED_ELEMENTS = 2 ** 22;

const PLAIN = { transposeA: false, transposeB: false, alpha: 1 };

interface Product {
  readonly a: Value;
  readonly b: Value;
  readonly output: Value;
  readonly rows: number;
  readonly columns: number;
}

/** A product aᵀb of matrices, unscaled. */
function turnedProduct(node: Node, inputs: readonly Value[]): Product | undefined {
  const [a, b, output] = [inputs[0], inputs[1], node.outputs[0]];
  if (!isOp(node, "matmul") || a === undefined || b === undefined || output === undefined) return undefined;
  const { transposeA, transposeB, alpha } = node.attributes;
  if (!transposeA || transposeB || alpha !== 1 || a.shape.length !== 2 || b.shape.length !== 2 || output.dtype !== "float32") return undefined;
  return { a, b, output, rows: output.shape[0] as number, columns: output.shape[1] as number };
}

/** aᵀb with a result of many more rows than columns, as the head's: (bᵀa)ᵀ. */
const tallProduct: Rule = ({ node, inputs, builder }) => {
  const product = turnedProduct(node, inputs);
  if (product === undefined || product.rows < TALL_ROWS || product.rows < TALL_RATIO * product.columns) return undefined;
  const { a, b, output, rows, columns } = product;
  const lying = builder.one("matmul", [turned(builder, b), a], PLAIN, { shape: [columns, rows], dtype: "float32" });
  return [builder.one("transpose", [lying], { permutation: [1, 0] }, output)];
};

/** aᵀb with many columns: aᵀ is made first. */
const wideProduct: Rule = ({ node, inputs, builder }) => {
  const product = turnedProduct(node, inputs);
  if (product === undefined || product.columns < TURNED_COLUMNS) return undefined;
  return [builder.one("matmul", [turned(builder, product.a), product.b], PLAIN, product.output)];
};

/** Products of a batch, aᵀb, with results of many more rows than columns, as those of attention: (bᵀa)ᵀ, which turns the smaller operand around. */
const slimProducts: Rule = ({ node, inputs, builder }) => {
  const [a, b] = inputs;
  const output = node.outputs[0] as Value;
  if (!isOp(node, "matmul") || a === undefined || b === undefined || output.shape.length < 3 || output.dtype !== "float32") return undefined;
  const { transposeA, transposeB, alpha } = node.attributes;
  const [rows, columns] = output.shape.slice(-2) as [number, number];
  if (!transposeA || transposeB || a.shape.length !== b.shape.length || rows < SLIM_RATIO * columns) return undefined;
  const axes = output.shape.map((_extent, axis) => axis);
  const lying = builder.one("matmul", [b, a], { transposeA, transposeB, alpha }, { shape: [...output.shape.slice(0, -2), columns, rows], dtype: "float32" });
  return [builder.one("transpose", [lying], { permutation: [...axes.slice(0, -2), axes.length - 1, axes.length - 2] }, output)];
};

/** The matrix transposed, in three dimensions: in two, the runtime would make it the product's flag again. */
function turned(builder: GraphBuilder, x: Value): Value {
  const [rows, columns] = x.shape as [number, number];
  const { dtype } = x;
  const stacked = builder.one("reshape", [x], {}, { shape: [1, rows, columns], dtype });
  const transposed = builder.one("transpose", [stacked], { permutation: [0, 2, 1] }, { shape: [1, columns, rows], dtype });
  return builder.one("reshape", [transposed], {}, { shape: [columns, rows], dtype });
}

/** a b or a bᵀ, with a bias or without, whose rows of a collide: zeros lengthen both along the sum. */
const lengthenedSum: Rule = ({ node, inputs, builder }) => {
  const [a, b, ...bias] = inputs;
  const output = node.outputs[0] as Value;
  if (!isOp(node, "matmul") && !isOp(node, "gemm")) return undefined;
  if (a?.shape.length !== 2 || b?.shape.length !== 2 || node.attributes.transposeA || output.dtype !== "float32") return undefined;
  const [rows, terms] = a.shape as [number, number];
  const columns = output.shape[1] as number;
  if (terms % COLLIDING !== 0 || (rows * columns) / (rows + columns) < LENGTHENED_EXTENT) return undefined;
  if (Math.max(elementCount(a.shape), elementCount(b.shape)) > LENGTHENED_ELEMENTS) return undefined;
  const operands = [lengthened(builder, a, 1), lengthened(builder, b, node.attributes.transposeB ? 1 : 0), ...bias];
  return builder.apply<"matmul" | "gemm">(node.op, operands, node.attributes, node.outputs);
};

function lengthened(builder: GraphBuilder, x: Value, axis: 0 | 1): Value {
  const { dtype } = x;
  const shapeWith = (extent: number): number[] => x.shape.map((of, at) => (at === axis ? extent : of));
  const zeros = builder.one("fill", [], { value: 0 }, { shape: shapeWith(PADDING), dtype });
  return builder.one("concat", [x, zeros], { axis }, { shape: shapeWith((x.shape[axis] as number) + PADDING), dtype });
}

/** Gives products the form in which ONNX Runtime's CPU kernels are fastest. The last pass: simplification would undo it. */
export function productForms(graph: Graph): Graph {
  return rewrite(rewrite(graph, switchedOn({ tallProduct, wideProduct, slimProducts })), switchedOn({ lengthenedSum }));
}
