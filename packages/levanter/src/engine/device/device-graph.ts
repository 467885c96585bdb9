import type { Graph, Node, Value } from "../graph.js";
import { isOp } from "../graph.js";
import type { GraphBuilder } from "../graph-builder.js";
import { rewrite } from "../passes/rewrite.js";
import type { Rule } from "../passes/rewrite.js";
import type { TensorSpec } from "../types.js";
import type { DeviceName } from "./device-api.js";

/**
 * The graph in operators that a device's provider takes. WebGPU's has neither FusedMatMul nor LogSoftmax: left to the CPU, each would bring its operands
 * to the host and its result back. CUDA's has both.
 */
export function forDevice(graph: Graph, device: DeviceName): Graph {
  return device === "webgpu" ? rewrite(graph, [plainProduct, composedLogSoftmax]) : graph;
}

/** A product with transposed or scaled operands: Gemm in two dimensions, transposes and a plain product in more, and the factor by itself. */
const plainProduct: Rule = ({ builder, node, inputs }) => {
  if (!isOp(node, "matmul")) return undefined;
  const { transposeA, transposeB, alpha } = node.attributes;
  if (!transposeA && !transposeB && alpha === 1) return undefined;
  const [a, b] = inputs as readonly [Value, Value];
  const output = node.outputs[0] as Value;
  const product =
    output.shape.length === 2 && a.shape.length === 2 && b.shape.length === 2 && output.dtype === "float32"
      ? builder.one("gemm", [a, b, builder.one("fill", [], { value: 0 }, { shape: [1], dtype: "float32" })], { transposeA, transposeB }, output)
      : builder.one("matmul", [transposed(builder, a, transposeA), transposed(builder, b, transposeB)], { transposeA: false, transposeB: false, alpha: 1 }, output);
  return [alpha === 1 ? product : builder.one("mul", [product, builder.one("fill", [], { value: alpha }, { shape: [], dtype: output.dtype })], {}, output)];
};

function transposed(builder: GraphBuilder, value: Value, on: boolean): Value {
  if (!on) return value;
  const rank = value.shape.length;
  const permutation = value.shape.map((_, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis));
  return builder.one("transpose", [value], { permutation }, { shape: permutation.map((axis) => value.shape[axis] as number), dtype: value.dtype });
}

/** x − max − log Σ exp(x − max). */
const composedLogSoftmax: Rule = ({ builder, node, inputs }) => {
  if (!isOp(node as Node, "logSoftmax")) return undefined;
  const x = inputs[0] as Value;
  const axes = [x.shape.length - 1];
  const row: TensorSpec = { shape: [...x.shape.slice(0, -1), 1], dtype: x.dtype };
  const shifted = builder.one("sub", [x, builder.one("max", [x], { axes, keepDims: true }, row)], {}, x);
  const sum = builder.one("sum", [builder.one("exp", [shifted], {}, x)], { axes, keepDims: true }, row);
  return [builder.one("sub", [shifted, builder.one("log", [sum], {}, row)], {}, x)];
};
