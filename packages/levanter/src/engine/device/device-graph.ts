import type { Graph, Value } from "../graph.js";
import { isOp } from "../graph.js";
import type { GraphBuilder } from "../graph-builder.js";
import { rewrite } from "../passes/rewrite.js";
import type { Rule } from "../passes/rewrite.js";
import { registerOperator } from "../operator-registry.js";
import { elementCount } from "../shape.js";
import type { TensorSpec } from "../types.js";
import type { DeviceName } from "./device-api.js";
import { withHalfProducts } from "./precision.js";
import type { Precision } from "./precision.js";

/**
 * The graph in operators that a device's provider takes. WebGPU's has neither FusedMatMul, LogSoftmax nor IsNaN: left to the CPU, each would bring its
 * operands to the host and its result back. CUDA's has all three.
 */
export function forDevice(graph: Graph, device: DeviceName, precision: Precision): Graph {
  const taken = device === "webgpu" ? rewrite(graph, [plainProduct, composedLogSoftmax, comparedIsNan, comparedExtremum, stagedSum]) : graph;
  return precision === "float32" ? taken : withHalfProducts(rewrite(taken, [plainProduct]), device);
}

/** ONNX's own ReduceMax or ReduceMin, which says nothing of NaN: the graph's `max` and `min` are lowered with an IsNaN. */
const plainExtremum = "webgpu.extremum";
registerOperator({
  name: plainExtremum,
  elementwise: false,
  lower: (writer, inputs, _specs, { op, axes, keepDims }) => [writer.node(op as string, [inputs[0] as string, writer.int64(axes as readonly number[])], { keepdims: { int: keepDims === true ? 1 : 0 } })],
  flops: ([x]) => elementCount(x?.shape ?? []),
});

interface ExtremumAttributes {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

function extremum(builder: GraphBuilder, op: "ReduceMax" | "ReduceMin", x: Value, { axes, keepDims }: ExtremumAttributes, output: TensorSpec): Value {
  return builder.one("custom", [x], { operator: plainExtremum, attributes: { op, axes, keepDims } }, output);
}

/** NaN is what differs from itself. */
function isNan(builder: GraphBuilder, x: Value): Value {
  return builder.one("notEqual", [x, x], {}, { shape: x.shape, dtype: "bool" });
}

const comparedIsNan: Rule = ({ builder, node, inputs }) => (isOp(node, "isNan") ? [isNan(builder, inputs[0] as Value)] : undefined);

/** The largest or smallest element, NaN where any element is. */
const comparedExtremum: Rule = ({ builder, node, inputs }) => {
  if (!isOp(node, "max") && !isOp(node, "min")) return undefined;
  const x = inputs[0] as Value;
  const output = node.outputs[0] as Value;
  if (x.dtype !== "float32") return undefined;
  const number = (value: number): Value => builder.one("fill", [], { value }, { shape: [], dtype: "float32" });
  const nans = builder.one("cast", [isNan(builder, x)], { dtype: "float32" }, { shape: x.shape, dtype: "float32" });
  const any = builder.one("greater", [extremum(builder, "ReduceMax", nans, node.attributes, output), number(0)], {}, { shape: output.shape, dtype: "bool" });
  return [builder.one("select", [any, number(Number.NaN), extremum(builder, node.op === "max" ? "ReduceMax" : "ReduceMin", x, node.attributes, output)], {}, output)];
};

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

/** x − max − log Σ exp(x − max). A NaN among the terms of a row makes its sum NaN, whatever the maximum is then. */
const composedLogSoftmax: Rule = ({ builder, node, inputs }) => {
  if (node.op !== "logSoftmax") return undefined;
  const x = inputs[0] as Value;
  const axes = [x.shape.length - 1];
  const row: TensorSpec = { shape: [...x.shape.slice(0, -1), 1], dtype: x.dtype };
  const shifted = builder.one("sub", [x, extremum(builder, "ReduceMax", x, { axes, keepDims: true }, row)], {}, x);
  const sum = builder.one("sum", [builder.one("exp", [shifted], {}, x)], { axes, keepDims: true }, row);
  return [builder.one("sub", [shifted, builder.one("log", [sum], {}, row)], {}, x)];
};

/** A vector longer than this is summed row by row first. */
const longVector = 65_536;

/** Rows of at most this many elements. */
const longestRow = 1024;

/**
 * The sum of a long vector, as rows and then over rows: the provider gives each sum one workgroup, which leaves most of a GPU idle where there is but one
 * sum, and adds up rounding errors over the whole length. Vectors of an odd length stay as they are.
 */
const stagedSum: Rule = ({ builder, node, inputs }) => {
  if (!isOp(node, "sum")) return undefined;
  const x = inputs[0] as Value;
  const length = x.shape[0] ?? 0;
  const row = greatestCommonDivisor(length, longestRow);
  if (x.shape.length !== 1 || length <= longVector || row < 8 || node.attributes.axes.length !== 1) return undefined;
  const { dtype } = x;
  const rows = builder.one("reshape", [x], {}, { shape: [length / row, row], dtype });
  const sums = builder.one("sum", [rows], { axes: [1], keepDims: false }, { shape: [length / row], dtype });
  return [builder.one("sum", [sums], { axes: [0], keepDims: node.attributes.keepDims }, node.outputs[0] as Value)];
};

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
