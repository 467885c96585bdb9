import { isOp, type Graph, type Node, type Value } from "../graph.js";
import type { GraphBuilder } from "../graph-builder.js";
import { switchedOn } from "../switches.js";
import { rewrite, type Rule } from "./rewrite.js";

/*
 * The CPU runtime multiplies in panels of 128 columns of the result. An operand read against its grain is turned around for each panel again, and rows
 * of the result that no longer fit a core's cache are fetched again for each step along the sum. Both are what weights' gradients, aᵀb, are made of. The forms
 * below sum in the same order and give the same bits.
 */

/** Columns from which on it pays to turn the first operand around once, beforehand: six panels. */
const TURNED_COLUMNS = 768;

/** Rows of a result that is computed lying on its side: from this many on, and this many times its columns. */
const TALL_ROWS = 4096;
const TALL_RATIO = 4;

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
  const lying = builder.one("matmul", [turned(builder, b), a], { transposeA: false, transposeB: false, alpha: 1 }, { shape: [columns, rows], dtype: "float32" });
  return [builder.one("transpose", [lying], { permutation: [1, 0] }, output)];
};

/** aᵀb with many columns: aᵀ is made first. */
const wideProduct: Rule = ({ node, inputs, builder }) => {
  const product = turnedProduct(node, inputs);
  if (product === undefined || product.columns < TURNED_COLUMNS) return undefined;
  return [builder.one("matmul", [turned(builder, product.a), product.b], { transposeA: false, transposeB: false, alpha: 1 }, product.output)];
};

/** The matrix transposed, in three dimensions: in two, the runtime would make it the product's flag again. */
function turned(builder: GraphBuilder, x: Value): Value {
  const [rows, columns] = x.shape as [number, number];
  const { dtype } = x;
  const stacked = builder.one("reshape", [x], {}, { shape: [1, rows, columns], dtype });
  const transposed = builder.one("transpose", [stacked], { permutation: [0, 2, 1] }, { shape: [1, columns, rows], dtype });
  return builder.one("reshape", [transposed], {}, { shape: [columns, rows], dtype });
}

/** Gives products the form in which ONNX Runtime's CPU kernels are fastest. The last pass: simplification would undo it. */
export function productForms(graph: Graph): Graph {
  return rewrite(graph, switchedOn({ tallProduct, wideProduct }));
}
