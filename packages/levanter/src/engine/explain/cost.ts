import { isOp, type Node, type Value } from "../graph.js";
import { operatorOf } from "../operator-registry.js";
import { elementCount } from "../shape.js";
import type { TensorSpec } from "../types.js";

/** Arithmetic steps for each element of the result, where it is not one. GELU: x + cx³, times a constant, tanh, plus 1, times x/2. */
const STEPS: Readonly<Record<string, number>> = { geluTanh: 8, squaredDifference: 2, softmax: 5, logSoftmax: 5, layerNorm: 7 };

/** Operations that move elements or choose among them. */
const MOVES: ReadonlySet<string> = new Set([
  "broadcast", "cast", "concat", "constant", "fill", "gather", "gatherPerRow", "oneHot", "pad", "reshape", "reverse", "select", "slice", "split", "tile", "transpose",
]);

/** Operations with one step for each element that they read. */
const REDUCTIONS: ReadonlySet<string> = new Set(["sum", "mean", "max", "min", "argMax", "cumsum"]);

/** Bytes that a tensor takes. */
export function byteCount({ shape, dtype }: TensorSpec): number {
  return elementCount(shape) * (dtype === "bool" ? 1 : 4);
}

/** Floating-point operations of a node, as `NodeExplanation.flops` counts them. */
export function flopsOf(node: Node): number {
  const operator = operatorOf(node);
  if (operator !== undefined && isOp(node, "custom")) return operator.flops(node.inputs, node.outputs, node.attributes.attributes);
  const [a] = node.inputs;
  const output = node.outputs[0] as Value;
  const results = elementCount(output.shape);
  if (a !== undefined && (isOp(node, "matmul") || isOp(node, "gemm"))) {
    const inner = a.shape.at(node.attributes.transposeA ? -2 : -1) as number;
    return 2 * results * inner + (node.op === "gemm" ? results : 0);
  }
  if (isOp(node, "scatterAddRows")) return elementCount((node.inputs[2] as Value).shape);
  if (MOVES.has(node.op)) return 0;
  if (a !== undefined && REDUCTIONS.has(node.op)) return elementCount(a.shape);
  return results * (STEPS[node.op] ?? 1);
}

/** Bytes that a node reads and writes, as `NodeExplanation.bytes` counts them. */
export function bytesOf(node: Node): number {
  if (node.op === "reshape") return 0;
  const written = sum(node.outputs);
  // Of what they are taken from, only what is taken is read.
  if (node.op === "slice" || node.op === "split") return 2 * written;
  if (node.op === "gather" || node.op === "gatherPerRow") return 2 * written + sum(node.inputs.slice(1));
  return written + sum(node.inputs);
}

function sum(values: readonly Value[]): number {
  return values.reduce((bytes, value) => bytes + byteCount(value), 0);
}
