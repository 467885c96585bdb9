import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { PlainBinary, PlainUnary } from "./graph.js";
import { RECORDING_BACKEND, type RecordingBackend } from "./recording-backend.js";
import {
  boolAsInteger, emitBinary, emitCast, emitFill, emitMatMul, emitReshape, emitScatterAddRows, emitTranspose, emitUnary, first, get, NUMBERS, requireDtype, spec, splitEqually,
} from "./recording-emit.js";
import { elementCount } from "./shape.js";

/** What one kernel gets from tfjs, with the input tensors by name. */
interface Call<A> {
  readonly inputs: Readonly<Record<string, tf.TensorInfo>>;
  readonly attrs: A;
  readonly backend: RecordingBackend;
}

type Kernel<A> = (call: Call<A>) => tf.TensorInfo | tf.TensorInfo[];

const UNARY: Readonly<Record<string, PlainUnary>> = {
  Abs: "abs", Ceil: "ceil", Cos: "cos", Erf: "erf", Exp: "exp", Floor: "floor", Log: "log", Neg: "neg",
  Reciprocal: "reciprocal", Relu: "relu", Round: "round", Rsqrt: "rsqrt", Sigmoid: "sigmoid", Sign: "sign", Sin: "sin", Softplus: "softplus",
  Sqrt: "sqrt", Square: "square", Tanh: "tanh", GeluTanh: "geluTanh",
};

const UNARY_TO_BOOL: Readonly<Record<string, PlainUnary>> = { IsNan: "isNan", LogicalNot: "logicalNot" };

const BINARY: Readonly<Record<string, PlainBinary>> = {
  Add: "add", Maximum: "maximum", Minimum: "minimum", Multiply: "mul", Pow: "pow", RealDiv: "div", SquaredDifference: "squaredDifference", Sub: "sub",
};

const BINARY_TO_BOOL: Readonly<Record<string, PlainBinary>> = {
  Equal: "equal", Greater: "greater", GreaterEqual: "greaterEqual", Less: "less", LessEqual: "lessEqual", LogicalAnd: "logicalAnd",
  LogicalOr: "logicalOr", NotEqual: "notEqual",
};

/** The names of all tfjs kernels that compile, sorted. */
export function recordedKernels(): string[] {
  return Object.keys(kernelTable()).sort();
}

/** Registers a recording form of every kernel with tfjs. Call once per process. */
export function registerRecordingKernels(): void {
  for (const [kernelName, kernel] of Object.entries(kernelTable())) {
    tf.registerKernel({
      kernelName,
      backendName: RECORDING_BACKEND,
      kernelFunc: ({ inputs, attrs, backend }) =>
        kernel({ inputs: inputs as Record<string, tf.TensorInfo>, attrs: (attrs ?? {}) as never, backend: backend as RecordingBackend }),
    });
  }
}

function kernelTable(): Readonly<Record<string, Kernel<never>>> {
  const table: Record<string, Kernel<never>> = { ...SHAPE_KERNELS, ...MATH_KERNELS, ...NEURAL_KERNELS };
  for (const [name, op] of Object.entries(UNARY)) table[name] = ({ inputs, backend }) => emitUnary(backend, op, first(inputs));
  for (const [name, op] of Object.entries(UNARY_TO_BOOL)) table[name] = ({ inputs, backend }) => emitUnary(backend, op, first(inputs), "bool");
  for (const [name, op] of Object.entries(BINARY)) table[name] = ({ inputs, backend }) => emitBinary(backend, op, get(inputs, "a"), get(inputs, "b"));
  for (const [name, op] of Object.entries(BINARY_TO_BOOL)) {
    table[name] = ({ inputs, backend }) => emitBinary(backend, op, get(inputs, "a"), get(inputs, "b"), "bool");
  }
  return table;
}

type ReduceOp = "sum" | "mean" | "max" | "min";

function reduction(op: ReduceOp): Kernel<{ axis: number | number[]; keepDims?: boolean }> {
  return ({ inputs, attrs, backend }) => {
    // A mean of integers is no integer: tfjs gives float32.
    const x = op === "mean" ? emitCast(backend, first(inputs), "float32") : first(inputs);
    const axes = tf.util.parseAxisParam(attrs.axis, x.shape).slice().sort((a, b) => a - b);
    const keepDims = attrs.keepDims ?? false;
    const [kept, reduced] = tf.backend_util.computeOutAndReduceShapes(x.shape, axes);
    if (reduced.length === 0) return backend.wrap(backend.traced(x));
    const shape = keepDims ? tf.backend_util.expandShapeToKeepDim(kept, axes) : kept;
    return backend.emit(op, [x], { axes, keepDims }, spec(shape, x.dtype));
  };
}

const SHAPE_KERNELS: Readonly<Record<string, Kernel<never>>> = {
  Identity: ({ inputs, backend }) => backend.wrap(backend.traced(first(inputs))),
  Reshape: ({ inputs, attrs, backend }: Call<{ shape: number[] }>) => {
    const x = first(inputs);
    return emitReshape(backend, x, tf.util.inferFromImplicitShape(attrs.shape, elementCount(x.shape)));
  },
  ExpandDims: ({ inputs, attrs, backend }: Call<{ dim: number }>) => {
    const x = first(inputs);
    const shape = x.shape.slice();
    shape.splice(attrs.dim < 0 ? x.shape.length + attrs.dim + 1 : attrs.dim, 0, 1);
    return emitReshape(backend, x, shape);
  },
  Cast: ({ inputs, attrs, backend }: Call<{ dtype: tf.DataType }>) => emitCast(backend, first(inputs), attrs.dtype),
  Transpose: ({ inputs, attrs, backend }: Call<{ perm: number[] }>) => emitTranspose(backend, first(inputs), attrs.perm),
  Slice: ({ inputs, attrs, backend }: Call<{ begin: number | number[]; size: number | number[] }>) => {
    const x = get(inputs, "x");
    const [begin = [], size = []] = tf.slice_util.parseSliceParams(x, attrs.begin, attrs.size);
    return backend.emit("slice", [x], { begin }, spec(size, x.dtype));
  },
  Concat: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const all = Object.values(inputs);
    const parts = all.filter((part) => elementCount(part.shape) > 0);
    const head = parts[0] ?? first(inputs);
    const axis = tf.util.parseAxisParam(attrs.axis, head.shape)[0] as number;
    if (parts.length === 0) return emitFill(backend, tf.backend_util.computeOutShape(all.map((part) => part.shape), axis), head.dtype, 0);
    const shape = tf.backend_util.computeOutShape(parts.map((part) => part.shape), axis);
    return parts.length === 1 ? backend.wrap(backend.traced(head)) : backend.emit("concat", parts, { axis }, spec(shape, head.dtype));
  },
  Pack: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const parts = Object.values(inputs);
    const head = first(inputs);
    const axis = attrs.axis < 0 ? attrs.axis + head.shape.length + 1 : attrs.axis;
    const expanded = head.shape.slice();
    expanded.splice(axis, 0, 1);
    const shape = expanded.slice();
    shape[axis] = parts.length;
    return backend.emit("concat", parts.map((part) => emitReshape(backend, part, expanded)), { axis }, spec(shape, head.dtype));
  },
  Unpack: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const x = first(inputs);
    const axis = attrs.axis < 0 ? attrs.axis + x.shape.length : attrs.axis;
    const shape = x.shape.filter((_dimension, index) => index !== axis);
    return splitEqually(backend, x, axis, x.shape[axis] as number).map((part) => emitReshape(backend, part, shape));
  },
  SplitV: ({ inputs, attrs, backend }: Call<{ numOrSizeSplits: number | number[]; axis: number }>) => {
    const x = first(inputs);
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    const sizes = tf.backend_util.prepareSplitSize(x, attrs.numOrSizeSplits, axis);
    if (sizes.every((size) => size === sizes[0])) return splitEqually(backend, x, axis, sizes.length);
    let start = 0;
    return sizes.map((size) => {
      const begin = x.shape.map((_dimension, index) => (index === axis ? start : 0));
      start += size;
      return backend.emit("slice", [x], { begin }, spec(x.shape.map((dimension, index) => (index === axis ? size : dimension)), x.dtype));
    });
  },
  PadV2: ({ inputs, attrs, backend }: Call<{ paddings: [number, number][]; constantValue: number }>) => {
    const x = get(inputs, "x");
    const shape = x.shape.map((dimension, axis) => dimension + (attrs.paddings[axis]?.[0] ?? 0) + (attrs.paddings[axis]?.[1] ?? 0));
    const attributes = { before: attrs.paddings.map((pair) => pair[0]), after: attrs.paddings.map((pair) => pair[1]), value: attrs.constantValue };
    return backend.emit("pad", [x], attributes, spec(shape, x.dtype));
  },
  Tile: ({ inputs, attrs, backend }: Call<{ reps: number[] }>) => {
    const x = first(inputs);
    return backend.emit("tile", [x], { repeats: attrs.reps }, spec(x.shape.map((dimension, axis) => dimension * (attrs.reps[axis] as number)), x.dtype));
  },
  Reverse: ({ inputs, attrs, backend }: Call<{ dims: number | number[] }>) => {
    const x = first(inputs);
    return backend.emit("reverse", [x], { axes: tf.util.parseAxisParam(attrs.dims, x.shape) }, spec(x.shape, x.dtype));
  },
  Fill: ({ attrs, backend }: Call<{ shape: number[]; value: number; dtype?: tf.DataType }>) =>
    emitFill(backend, attrs.shape, attrs.dtype ?? "float32", attrs.value),
  ZerosLike: ({ inputs, backend }) => emitFill(backend, first(inputs).shape, first(inputs).dtype, 0),
  OnesLike: ({ inputs, backend }) => emitFill(backend, first(inputs).shape, first(inputs).dtype, 1),
  Range: ({ attrs, backend }: Call<{ start: number; stop: number; step: number; dtype: tf.DataType }>) => {
    const length = Math.max(0, Math.ceil((attrs.stop - attrs.start) / attrs.step));
    const values = Array.from({ length }, (_unused, index) => attrs.start + index * attrs.step);
    return { dataId: backend.write(values as unknown as tf.BackendValues, [length], attrs.dtype), shape: [length], dtype: attrs.dtype };
  },
};

const MATH_KERNELS: Readonly<Record<string, Kernel<never>>> = {
  AddN: ({ inputs, backend }) => Object.values(inputs).reduce((sum, term) => emitBinary(backend, "add", sum, term)),
  Select: ({ inputs, backend }) => {
    const [condition, whenTrue, whenFalse] = [get(inputs, "condition"), get(inputs, "t"), get(inputs, "e")];
    // A condition of rank 1 selects whole slices of the leading axis (TensorFlow's tf.where, form 1).
    const wide = condition.shape.length === 1 && whenTrue.shape.length > 1
      ? emitReshape(backend, condition, [condition.shape[0] as number, ...whenTrue.shape.slice(1).map(() => 1)])
      : condition;
    // ONNX selects among values of one type, bool excepted.
    const dtype = tf.upcastType(whenTrue.dtype, whenFalse.dtype);
    const taken = dtype === "bool" ? "int32" : dtype;
    const operands = [wide, emitCast(backend, whenTrue, taken), emitCast(backend, whenFalse, taken)];
    return emitCast(backend, backend.emit("select", operands, {}, spec(whenTrue.shape, taken)), dtype);
  },
  ClipByValue: ({ inputs, attrs, backend }: Call<{ clipValueMin: number; clipValueMax: number }>) => {
    const x = first(inputs);
    requireDtype("clip", x, NUMBERS);
    return backend.emit("clip", [x], { min: attrs.clipValueMin, max: attrs.clipValueMax }, spec(x.shape, x.dtype));
  },
  LeakyRelu: ({ inputs, attrs, backend }: Call<{ alpha: number }>) => {
    const x = emitCast(backend, first(inputs), "float32");
    return backend.emit("leakyRelu", [x], { alpha: attrs.alpha }, spec(x.shape, x.dtype));
  },
  Step: ({ inputs, attrs, backend }: Call<{ alpha?: number }>) => {
    const x = first(inputs);
    requireDtype("step", x, NUMBERS);
    return backend.emit("step", [x], { alpha: attrs.alpha ?? 0 }, spec(x.shape, x.dtype));
  },
  Sum: reduction("sum"),
  Mean: reduction("mean"),
  Max: ({ inputs, attrs, backend }: Call<{ reductionIndices: number | number[]; keepDims: boolean }>) =>
    reduction("max")({ inputs, attrs: { axis: attrs.reductionIndices, keepDims: attrs.keepDims }, backend }),
  Min: reduction("min"),
  ArgMax: ({ inputs, attrs, backend }: Call<{ axis: number }>) => {
    const x = boolAsInteger(backend, first(inputs));
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    return backend.emit("argMax", [x], { axis }, spec(x.shape.filter((_dimension, index) => index !== axis), "int32"));
  },
  Cumsum: ({ inputs, attrs, backend }: Call<{ axis: number; exclusive: boolean; reverse: boolean }>) => {
    const x = boolAsInteger(backend, first(inputs));
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    return backend.emit("cumsum", [x], { axis, exclusive: attrs.exclusive, reverse: attrs.reverse }, spec(x.shape, x.dtype));
  },
  BatchMatMul: ({ inputs, attrs, backend }: Call<{ transposeA?: boolean; transposeB?: boolean }>) =>
    emitMatMul(backend, get(inputs, "a"), get(inputs, "b"), attrs.transposeA ?? false, attrs.transposeB ?? false),
  _FusedMatMul: ({ inputs, attrs, backend }: Call<{ transposeA?: boolean; transposeB?: boolean; activation?: string }>) => {
    const product = emitMatMul(backend, get(inputs, "a"), get(inputs, "b"), attrs.transposeA ?? false, attrs.transposeB ?? false);
    const biased = inputs["bias"] === undefined ? product : emitBinary(backend, "add", product, inputs["bias"]);
    const activation = attrs.activation ?? "linear";
    if (activation === "linear") return biased;
    if (activation === "relu" || activation === "sigmoid") return emitUnary(backend, activation, biased);
    throw new MarinError("LEVANTER_NO_LOWERING", `fused matMul with activation "${activation}" does not compile; use linear, relu or sigmoid`, {
      data: { activation },
    });
  },
  GatherV2: ({ inputs, attrs, backend }: Call<{ axis: number; batchDims?: number }>) => {
    const [x, indices] = [get(inputs, "x"), get(inputs, "indices")];
    if ((attrs.batchDims ?? 0) !== 0) {
      throw new MarinError("LEVANTER_NO_LOWERING", "gather with batchDims does not compile; use batchDims 0", { data: { batchDims: attrs.batchDims } });
    }
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
    return backend.emit("gather", [x, emitCast(backend, indices, "int32")], { axis }, spec(shape, x.dtype));
  },
  UnsortedSegmentSum: ({ inputs, attrs, backend }: Call<{ numSegments: number }>) => {
    const [x, ids] = [get(inputs, "x"), get(inputs, "segmentIds")];
    const [rows, width] = [elementCount(ids.shape), elementCount(x.shape.slice(ids.shape.length))];
    // What belongs to no segment is dropped: it is added to one row more, which is cut off. ONNX would count negative ids from the end.
    const id = emitReshape(backend, emitCast(backend, ids, "int32"), [rows]);
    const bound = emitFill(backend, [], "int32", attrs.numSegments);
    const belongs = emitBinary(
      backend, "logicalAnd", emitBinary(backend, "greaterEqual", id, emitFill(backend, [], "int32", 0), "bool"), emitBinary(backend, "less", id, bound, "bool"), "bool",
    );
    const row = backend.emit("select", [belongs, id, bound], {}, spec([rows], "int32"));
    const summed = emitScatterAddRows(backend, emitFill(backend, [attrs.numSegments + 1, width], x.dtype, 0), row, emitReshape(backend, x, [rows, width]));
    const kept = backend.emit("slice", [summed], { begin: [0, 0] }, spec([attrs.numSegments, width], x.dtype));
    return emitReshape(backend, kept, [attrs.numSegments, ...x.shape.slice(ids.shape.length)]);
  },
  OneHot: ({ inputs, attrs, backend }: Call<{ depth: number; onValue: number; offValue: number; dtype: tf.DataType }>) => {
    const indices = get(inputs, "indices");
    const attributes = { depth: attrs.depth, onValue: attrs.onValue, offValue: attrs.offValue };
    const hot = backend.emit("oneHot", [emitCast(backend, indices, "int32")], attributes, spec([...indices.shape, attrs.depth], "float32"));
    return emitCast(backend, hot, attrs.dtype);
  },
};

/** Kernels of levanter's own operations (see `ops/`), beside tfjs's. */
const NEURAL_KERNELS: Readonly<Record<string, Kernel<never>>> = {
  Softmax: ({ inputs, backend }) => backend.emit("softmax", [first(inputs)], {}, spec(first(inputs).shape, "float32")),
  LogSoftmax: ({ inputs, backend }) => backend.emit("logSoftmax", [first(inputs)], {}, spec(first(inputs).shape, "float32")),
  LayerNorm: ({ inputs, attrs, backend }: Call<{ epsilon: number }>) => {
    const x = get(inputs, "x");
    const statistics = spec([...x.shape.slice(0, -1), 1], x.dtype);
    return backend.emitAll("layerNorm", [x, get(inputs, "gamma"), get(inputs, "beta")], { epsilon: attrs.epsilon }, [
      spec(x.shape, x.dtype), statistics, statistics,
    ]);
  },
  GatherPerRow: ({ inputs, backend }) => {
    const x = get(inputs, "x");
    return backend.emit("gatherPerRow", [x, get(inputs, "indices")], {}, spec(x.shape.slice(0, -1), x.dtype));
  },
  ScatterAddRows: ({ inputs, backend }) => emitScatterAddRows(backend, get(inputs, "base"), get(inputs, "indices"), get(inputs, "updates")),
};
