import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import { callerLine, type RecordingBackend } from "./recording-backend.js";
import {
  boolAsInteger, emitBinary, emitCast, emitFill, emitMatMul, emitReshape, emitSelect, emitUnary, first, get, NUMBERS, requireDtype, spec, type Call, type Kernel, type Kernels,
} from "./recording-emit.js";

type ReduceOp = "sum" | "mean" | "max" | "min" | "prod";

interface ReduceAttributes {
  readonly axis: number | number[];
  readonly keepDims?: boolean;
}

interface FusedMatMulAttributes {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly activation?: string;
  readonly leakyreluAlpha?: number;
}

function reduction(op: ReduceOp): Kernel<ReduceAttributes> {
  // A mean of integers is no integer: tfjs gives float32.
  return ({ inputs, attrs, backend }) => reduced(op, op === "mean" ? emitCast(backend, first(inputs), "float32") : first(inputs), attrs, backend);
}

function reduced(op: ReduceOp, x: tf.TensorInfo, attrs: ReduceAttributes, backend: RecordingBackend): tf.TensorInfo {
  const axes = tf.util.parseAxisParam(attrs.axis, x.shape).slice().sort((a, b) => a - b);
  const keepDims = attrs.keepDims ?? false;
  const [kept, gone] = tf.backend_util.computeOutAndReduceShapes(x.shape, axes);
  if (gone.length === 0) return backend.wrap(backend.traced(x));
  const shape = keepDims ? tf.backend_util.expandShapeToKeepDim(kept, axes) : kept;
  return backend.emit(op, [x], { axes, keepDims }, spec(shape, x.dtype));
}

function extremePlace(op: "argMax" | "argMin"): Kernel<{ axis: number }> {
  return ({ inputs, attrs, backend }) => {
    const x = boolAsInteger(backend, first(inputs));
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    return backend.emit(op, [x], { axis }, spec(x.shape.filter((_dimension, index) => index !== axis), "int32"));
  };
}

/** The elements moved up along an axis by so many places, with ones in front. */
function shifted(backend: RecordingBackend, x: tf.TensorInfo, axis: number, places: number): tf.TensorInfo {
  const at = (value: number): number[] => x.shape.map((_extent, index) => (index === axis ? value : 0));
  const padded = backend.emit("pad", [x], { before: at(places), after: at(0), value: 1 }, spec(x.shape.map((extent, index) => (index === axis ? extent + places : extent)), x.dtype));
  return backend.emit("slice", [padded], { begin: at(0) }, spec(x.shape, x.dtype));
}

function emitPrelu(backend: RecordingBackend, x: tf.TensorInfo, alpha: tf.TensorInfo): tf.TensorInfo {
  const falling = emitBinary(backend, "less", x, emitFill(backend, [], x.dtype, 0), "bool");
  return emitSelect(backend, falling, emitBinary(backend, "mul", x, alpha), x);
}

function emitRelu6(backend: RecordingBackend, x: tf.TensorInfo): tf.TensorInfo {
  requireDtype("clip", x, NUMBERS);
  return backend.emit("clip", [x], { min: 0, max: 6 }, spec(x.shape, x.dtype));
}

function emitLeakyRelu(backend: RecordingBackend, x: tf.TensorInfo, alpha: number): tf.TensorInfo {
  return backend.emit("leakyRelu", [emitCast(backend, x, "float32")], { alpha }, spec(x.shape, "float32"));
}

type Activation = (backend: RecordingBackend, x: tf.TensorInfo, inputs: Call<never>["inputs"], attrs: FusedMatMulAttributes) => tf.TensorInfo;

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  linear: (_backend, x) => x,
  relu: (backend, x) => emitUnary(backend, "relu", x),
  sigmoid: (backend, x) => emitUnary(backend, "sigmoid", x),
  elu: (backend, x) => emitUnary(backend, "elu", x),
  relu6: (backend, x) => emitRelu6(backend, x),
  prelu: (backend, x, inputs) => emitPrelu(backend, x, get(inputs, "preluActivationWeights")),
  leakyrelu: (backend, x, _inputs, { leakyreluAlpha = 0.2 }) => emitLeakyRelu(backend, x, leakyreluAlpha),
};

/** Kernels that compute: arithmetic with attributes, reductions, running sums, products. */
export const MATH_KERNELS: Kernels = {
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
  LeakyRelu: ({ inputs, attrs, backend }: Call<{ alpha: number }>) => emitLeakyRelu(backend, first(inputs), attrs.alpha),
  Step: ({ inputs, attrs, backend }: Call<{ alpha?: number }>) => {
    const x = first(inputs);
    requireDtype("step", x, NUMBERS);
    return backend.emit("step", [x], { alpha: attrs.alpha ?? 0 }, spec(x.shape, x.dtype));
  },
  EluGrad: ({ inputs, backend }) => {
    const [dy, y] = [get(inputs, "dy"), get(inputs, "y")];
    const rising = emitBinary(backend, "greaterEqual", y, emitFill(backend, [], y.dtype, 0), "bool");
    return emitSelect(backend, rising, dy, emitBinary(backend, "mul", dy, emitBinary(backend, "add", y, emitFill(backend, [], y.dtype, 1))));
  },
  FloorDiv: ({ inputs, backend }) => {
    const [a, b] = [get(inputs, "a"), get(inputs, "b")];
    if (a.dtype === "int32") return emitBinary(backend, "floorDiv", a, b);
    return emitCast(backend, emitUnary(backend, "floor", emitBinary(backend, "div", a, b)), "int32");
  },
  Prelu: ({ inputs, backend }) => emitPrelu(backend, get(inputs, "x"), get(inputs, "alpha")),
  Relu6: ({ inputs, backend }) => emitRelu6(backend, first(inputs)),
  All: ({ inputs, attrs, backend }: Call<ReduceAttributes>) => emitCast(backend, reduced("min", boolAsInteger(backend, first(inputs)), attrs, backend), "bool"),
  Any: ({ inputs, attrs, backend }: Call<ReduceAttributes>) => emitCast(backend, reduced("max", boolAsInteger(backend, first(inputs)), attrs, backend), "bool"),
  Prod: reduction("prod"),
  Sum: reduction("sum"),
  Mean: reduction("mean"),
  Max: ({ inputs, attrs, backend }: Call<{ reductionIndices: number | number[]; keepDims: boolean }>) =>
    reduction("max")({ inputs, attrs: { axis: attrs.reductionIndices, keepDims: attrs.keepDims }, backend }),
  Min: reduction("min"),
  ArgMax: extremePlace("argMax"),
  ArgMin: extremePlace("argMin"),
  Cumprod: ({ inputs, attrs, backend }: Call<{ axis: number; exclusive: boolean; reverse: boolean }>) => {
    const x = boolAsInteger(backend, first(inputs));
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    const turned = (y: tf.TensorInfo): tf.TensorInfo => (attrs.reverse ? backend.emit("reverse", [y], { axes: [axis] }, spec(y.shape, y.dtype)) : y);
    let product = turned(x);
    if (attrs.exclusive) product = shifted(backend, product, axis, 1);
    // ONNX has no such operator: each place takes in the product of as many places before it as it has already, 1, 2, 4, ...
    for (let count = 1; count < (x.shape[axis] as number); count *= 2) product = emitBinary(backend, "mul", product, shifted(backend, product, axis, count));
    return backend.wrap(backend.traced(turned(product)));
  },
  Cumsum: ({ inputs, attrs, backend }: Call<{ axis: number; exclusive: boolean; reverse: boolean }>) => {
    const x = boolAsInteger(backend, first(inputs));
    const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0] as number;
    return backend.emit("cumsum", [x], { axis, exclusive: attrs.exclusive, reverse: attrs.reverse }, spec(x.shape, x.dtype));
  },
  BatchMatMul: ({ inputs, attrs, backend }: Call<{ transposeA?: boolean; transposeB?: boolean }>) =>
    emitMatMul(backend, get(inputs, "a"), get(inputs, "b"), attrs.transposeA ?? false, attrs.transposeB ?? false),
  _FusedMatMul: ({ inputs, attrs, backend }: Call<FusedMatMulAttributes>) => {
    const product = emitMatMul(backend, get(inputs, "a"), get(inputs, "b"), attrs.transposeA ?? false, attrs.transposeB ?? false);
    const biased = inputs["bias"] === undefined ? product : emitBinary(backend, "add", product, inputs["bias"]);
    const activate = ACTIVATIONS[attrs.activation ?? "linear"];
    if (activate !== undefined) return activate(backend, biased, inputs, attrs);
    throw new MarinError("LEVANTER_NO_LOWERING", `fused matMul with activation "${attrs.activation}" does not compile (called at ${callerLine()}); use one of ${Object.keys(ACTIVATIONS).join(", ")}`, {
      data: { activation: attrs.activation },
    });
  },
  Einsum: ({ inputs, attrs, backend }: Call<{ equation: string }>) => {
    const terms = Object.values(inputs);
    for (const term of terms) requireDtype("einsum", term, NUMBERS);
    const { allDims, idDims } = tf.backend_util.decodeEinsumEquation(attrs.equation, terms.length);
    const extents = new Map<string, number>();
    terms.forEach((term, at) => idDims[at]?.forEach((dimension, axis) => extents.set(allDims[dimension] as string, term.shape[axis] as number)));
    const result = attrs.equation.replaceAll(/\s/g, "").split("->")[1] as string;
    return backend.emit("einsum", terms, { equation: attrs.equation.replaceAll(/\s/g, "") }, spec([...result].map((name) => extents.get(name) as number), first(inputs).dtype));
  },
};
