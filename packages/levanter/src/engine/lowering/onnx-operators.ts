import type { Node, OpName, PlainBinary, PlainUnary, Value } from "../graph.js";
import { operatorOf, type RegisteredOperator } from "../operator-registry.js";
import { elementCount } from "../shape.js";
import type { DType } from "../types.js";
import { COMPOSED_MATH } from "./onnx-math.js";
import { ONNX_TYPE, type OnnxAttribute, type OnnxModel } from "./onnx-model.js";
import { OnnxWriter } from "./onnx-writer.js";

/** What an operation's lowering works with: the model, the names of the node's inputs, and the names that its outputs must get. */
export interface LoweringContext<K extends OpName> {
  readonly model: OnnxModel;
  readonly node: Node<K>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** Writes the nodes of one operation. */
export type Lowering<K extends OpName> = (context: LoweringContext<K>) => void;

/** Operations that are one ONNX operator without attributes. */
const DIRECT = {
  abs: "Abs", acos: "Acos", acosh: "Acosh", asin: "Asin", asinh: "Asinh", atan: "Atan", atanh: "Atanh", ceil: "Ceil", cos: "Cos", cosh: "Cosh",
  elu: "Elu", erf: "Erf", exp: "Exp", floor: "Floor", isInf: "IsInf", isNan: "IsNaN", log: "Log", logicalNot: "Not", neg: "Neg",
  reciprocal: "Reciprocal", relu: "Relu", round: "Round", selu: "Selu", sigmoid: "Sigmoid", sign: "Sign", sin: "Sin", sinh: "Sinh",
  softplus: "Softplus", sqrt: "Sqrt", tan: "Tan", tanh: "Tanh",
  add: "Add", div: "Div", equal: "Equal", greater: "Greater", greaterEqual: "GreaterOrEqual", less: "Less", lessEqual: "LessOrEqual",
  logicalAnd: "And", logicalOr: "Or", maximum: "Max", minimum: "Min", mul: "Mul", pow: "Pow", sub: "Sub", select: "Where",
} as const satisfies Partial<Record<PlainUnary | PlainBinary | "select", string>>;

type DirectOp = keyof typeof DIRECT;
type ComposedOp = Exclude<OpName, DirectOp>;

/** Domain of the operators that ONNX Runtime adds to ONNX's. */
const MICROSOFT = "com.microsoft";

/** Writes one node of the graph as ONNX nodes. */
export function lowerNode(context: LoweringContext<OpName>): void {
  const { model, node, inputs, outputs } = context;
  if (node.op in DIRECT) model.node(DIRECT[node.op as DirectOp], inputs, outputs);
  else (COMPOSED[node.op as ComposedOp] as Lowering<OpName>)(context);
}

function dtypeOf(node: Node): DType {
  return (node.outputs[0] as Value).dtype;
}

function shapeOf(node: Node): readonly number[] {
  return (node.outputs[0] as Value).shape;
}

function reduction(opType: string): Lowering<"sum" | "mean" | "max" | "min" | "prod"> {
  return ({ model, node, inputs, outputs }) => {
    model.node(opType, [inputs[0] as string, model.int64(node.attributes.axes)], outputs, { keepdims: { int: node.attributes.keepDims ? 1 : 0 } });
  };
}

/** ONNX Runtime's maximum passes over NaN unless it comes first; tfjs's is NaN where any element is. */
function extremum(opType: string): Lowering<"max" | "min"> {
  return (context) => {
    const { model, node, inputs, outputs } = context;
    if (dtypeOf(node) !== "float32") {
      reduction(opType)(context);
      return;
    }
    const extreme = model.freshName();
    reduction(opType)({ ...context, outputs: [extreme] });
    const anyNan = model.freshName();
    reduction("ReduceMax")({ ...context, inputs: [model.value("IsNaN", inputs)], outputs: [anyNan] });
    model.node("Where", [anyNan, model.scalar(Number.NaN, "float32"), extreme], outputs);
  };
}

function extremePlace(opType: string): Lowering<"argMax" | "argMin"> {
  return ({ model, node, inputs, outputs }) => {
    const index = model.value(opType, inputs, { axis: { int: node.attributes.axis }, keepdims: { int: 0 } });
    model.node("Cast", [index], outputs, { to: { int: ONNX_TYPE.int32 } });
  };
}

const COMPOSED: { readonly [K in ComposedOp]: Lowering<K> } = {
  ...COMPOSED_MATH,
  square: ({ model, inputs, outputs }) => model.node("Mul", [inputs[0] as string, inputs[0] as string], outputs),
  rsqrt: ({ model, inputs, outputs }) => model.node("Reciprocal", [model.value("Sqrt", inputs)], outputs),
  geluTanh: ({ model, inputs, outputs }) => model.node("Gelu", inputs, outputs, { approximate: { text: "tanh" } }),
  notEqual: ({ model, inputs, outputs }) => model.node("Not", [model.value("Equal", inputs)], outputs),
  squaredDifference: ({ model, inputs, outputs }) => {
    const difference = model.value("Sub", inputs);
    model.node("Mul", [difference, difference], outputs);
  },
  clip: ({ model, node, inputs, outputs }) => {
    const { min, max } = node.attributes;
    model.node("Clip", [inputs[0] as string, model.scalar(min, dtypeOf(node)), model.scalar(max, dtypeOf(node))], outputs);
  },
  leakyRelu: ({ model, node, inputs, outputs }) => model.node("LeakyRelu", inputs, outputs, { alpha: { float: node.attributes.alpha } }),
  step: ({ model, node, inputs, outputs }) => {
    const [x = ""] = inputs;
    const [zero, alpha] = [model.scalar(0, dtypeOf(node)), model.scalar(node.attributes.alpha, dtypeOf(node))];
    // NaN is neither above zero nor not, and stays.
    const low = dtypeOf(node) === "float32" ? model.value("Where", [model.value("LessOrEqual", [x, zero]), alpha, x]) : alpha;
    model.node("Where", [model.value("Greater", [x, zero]), model.scalar(1, dtypeOf(node)), low], outputs);
  },
  cast: ({ model, node, inputs, outputs }) => model.node("Cast", inputs, outputs, { to: { int: ONNX_TYPE[node.attributes.dtype] } }),
  fill: ({ model, node, outputs }) => {
    const shape = shapeOf(node);
    if (shape.length === 0) model.node("Identity", [model.scalar(node.attributes.value, dtypeOf(node))], outputs);
    else model.node("ConstantOfShape", [model.int64(shape)], outputs, { value: { scalar: node.attributes.value, dtype: dtypeOf(node) } });
  },
  constant: ({ model, node, outputs }) => model.node("Identity", [model.constant(node.attributes.data, dtypeOf(node), shapeOf(node))], outputs),
  reshape: ({ model, node, inputs, outputs }) => {
    // Without `allowzero`, ONNX reads an extent of 0 as "the input's".
    const attributes: Record<string, OnnxAttribute> = shapeOf(node).includes(0) ? { allowzero: { int: 1 } } : {};
    model.node("Reshape", [inputs[0] as string, model.int64(shapeOf(node))], outputs, attributes);
  },
  broadcast: ({ model, node, inputs, outputs }) => model.node("Expand", [inputs[0] as string, model.int64(shapeOf(node))], outputs),
  transpose: ({ model, node, inputs, outputs }) => model.node("Transpose", inputs, outputs, { perm: { ints: node.attributes.permutation } }),
  slice: ({ model, node, inputs, outputs }) => {
    const { begin } = node.attributes;
    const end = begin.map((start, axis) => start + (shapeOf(node)[axis] as number));
    model.node("Slice", [inputs[0] as string, model.int64(begin), model.int64(end)], outputs);
  },
  stridedSlice: ({ model, node, inputs, outputs }) => {
    const { begin, strides } = node.attributes;
    // Before the first element ends what runs backwards to it: as a negative number, that is one more than the axis has, counted from its end.
    const extents = (node.inputs[0] as Value).shape;
    const end = begin.map((start, axis) => {
      const past = start + (strides[axis] as number) * (shapeOf(node)[axis] as number);
      return past < 0 ? -(extents[axis] as number) - 1 : past;
    });
    const axes = begin.map((_start, axis) => axis);
    model.node("Slice", [inputs[0] as string, ...[begin, end, axes, strides].map((list) => model.int64(list))], outputs);
  },
  concat: ({ model, node, inputs, outputs }) => model.node("Concat", inputs, outputs, { axis: { int: node.attributes.axis } }),
  split: ({ model, node, inputs, outputs }) =>
    model.node("Split", inputs, outputs, { axis: { int: node.attributes.axis }, num_outputs: { int: outputs.length } }),
  pad: ({ model, node, inputs, outputs }) => {
    const { before, after, value } = node.attributes;
    model.node("Pad", [inputs[0] as string, model.int64([...before, ...after]), model.scalar(value, dtypeOf(node))], outputs);
  },
  tile: ({ model, node, inputs, outputs }) => model.node("Tile", [inputs[0] as string, model.int64(node.attributes.repeats)], outputs),
  reverse: ({ model, node, inputs, outputs }) => {
    const { axes } = node.attributes;
    const beforeFirst = axes.map((axis) => -(shapeOf(node)[axis] as number) - 1);
    const [starts, steps] = [axes.map(() => -1), axes.map(() => -1)];
    model.node("Slice", [inputs[0] as string, model.int64(starts), model.int64(beforeFirst), model.int64(axes), model.int64(steps)], outputs);
  },
  sum: reduction("ReduceSum"),
  mean: reduction("ReduceMean"),
  max: extremum("ReduceMax"),
  min: extremum("ReduceMin"),
  prod: reduction("ReduceProd"),
  argMax: extremePlace("ArgMax"),
  argMin: extremePlace("ArgMin"),
  topK: ({ model, node, inputs, outputs }) => {
    const places = model.freshName();
    model.node("TopK", [inputs[0] as string, model.int64([node.attributes.k])], [outputs[0] as string, places]);
    model.node("Cast", [places], [outputs[1] as string], { to: { int: ONNX_TYPE.int32 } });
  },
  cumsum: ({ model, node, inputs, outputs }) => {
    const { axis, exclusive, reverse } = node.attributes;
    const attributes = { exclusive: { int: exclusive ? 1 : 0 }, reverse: { int: reverse ? 1 : 0 } };
    model.node("CumSum", [inputs[0] as string, model.scalar(axis, "int32")], outputs, attributes);
  },
  softmax: ({ model, inputs, outputs }) => model.node("Softmax", inputs, outputs, { axis: { int: -1 } }),
  logSoftmax: ({ model, inputs, outputs }) => model.node("LogSoftmax", inputs, outputs, { axis: { int: -1 } }),
  matmul: ({ model, node, inputs, outputs }) => {
    const { transposeA, transposeB, alpha } = node.attributes;
    if (!transposeA && !transposeB && alpha === 1) {
      model.node("MatMul", inputs, outputs);
      return;
    }
    const attributes = { transA: { int: transposeA ? 1 : 0 }, transB: { int: transposeB ? 1 : 0 }, alpha: { float: alpha } };
    model.node("FusedMatMul", inputs, outputs, attributes, MICROSOFT);
  },
  gemm: ({ model, node, inputs, outputs }) =>
    model.node("Gemm", inputs, outputs, { transA: { int: node.attributes.transposeA ? 1 : 0 }, transB: { int: node.attributes.transposeB ? 1 : 0 } }),
  einsum: ({ model, node, inputs, outputs }) => model.node("Einsum", inputs, outputs, { equation: { text: node.attributes.equation } }),
  layerNorm: ({ model, node, inputs, outputs }) =>
    model.node("LayerNormalization", inputs, outputs, { axis: { int: -1 }, epsilon: { float: node.attributes.epsilon } }),
  gather: ({ model, node, inputs, outputs }) => model.node("Gather", inputs, outputs, { axis: { int: node.attributes.axis } }),
  gatherND: ({ model, inputs, outputs }) => {
    const places = model.value("Cast", [inputs[1] as string], { to: { int: ONNX_TYPE.int64 } });
    model.node("GatherND", [inputs[0] as string, places], outputs);
  },
  gatherPerRow: ({ model, inputs, outputs }) => {
    const column = model.int64([-1]);
    const indices = model.value("Unsqueeze", [inputs[1] as string, column]);
    const picked = model.value("GatherElements", [inputs[0] as string, indices], { axis: { int: -1 } });
    model.node("Squeeze", [picked, column], outputs);
  },
  oneHot: ({ model, node, inputs, outputs }) => {
    const { depth, onValue, offValue } = node.attributes;
    const values = model.constant(Float32Array.of(offValue, onValue), "float32", [2]);
    const depthName = model.scalar(depth, "int32");
    // ONNX counts negative indices from the end; here they are outside, as those from `depth` on.
    const indices = model.value("Where", [model.value("Less", [inputs[0] as string, model.scalar(0, "int32")]), depthName, inputs[0] as string]);
    model.node("OneHot", [indices, depthName, values], outputs, { axis: { int: -1 } });
  },
  // ScatterND with reduction loses updates when several threads run; ScatterElements adds in the order of the rows.
  scatterAddRows: ({ model, node, inputs, outputs }) => {
    const updates = node.inputs[2] as Value;
    const column = model.value("Reshape", [inputs[1] as string, model.int64([updates.shape[0] as number, 1])]);
    const indices = elementCount(updates.shape) === updates.shape[0] ? column : model.value("Expand", [column, model.int64(updates.shape)]);
    model.node("ScatterElements", [inputs[0] as string, indices, inputs[2] as string], outputs, { axis: { int: 0 }, reduction: { text: "add" } });
  },
  custom: ({ model, node, inputs, outputs }) => {
    const operator = operatorOf(node) as RegisteredOperator;
    const onnx = new OnnxWriter(model, operator.name, inputs);
    const results = operator.lower(onnx, inputs, { inputs: node.inputs, outputs: node.outputs }, node.attributes.attributes);
    results.forEach((result, index) => {
      onnx.requireValue(result, "as an output");
      const name = outputs[index] as string;
      // An input goes on under its own name.
      if (inputs.includes(result) || results.indexOf(result) < index || !model.rename(result, name)) model.node("Identity", [result], [name]);
    });
  },
};
