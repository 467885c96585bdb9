import * as tf from "@tensorflow/tfjs-core";
import type { PlainBinary, PlainUnary } from "./graph.js";
import { RECORDING_BACKEND, type RecordingBackend } from "./recording-backend.js";
import { emitBinary, emitUnary, first, get, type Kernel, type Kernels } from "./recording-emit.js";
import { INDEX_KERNELS } from "./recording-index-kernels.js";
import { MATH_KERNELS } from "./recording-math-kernels.js";
import { NEURAL_KERNELS } from "./recording-neural-kernels.js";
import { SHAPE_KERNELS } from "./recording-shape-kernels.js";

const UNARY: Readonly<Record<string, PlainUnary>> = {
  Abs: "abs", Acos: "acos", Acosh: "acosh", Asin: "asin", Asinh: "asinh", Atan: "atan", Atanh: "atanh", Ceil: "ceil", Cos: "cos", Cosh: "cosh",
  Elu: "elu", Erf: "erf", Exp: "exp", Expm1: "expm1", Floor: "floor", GeluTanh: "geluTanh", Log: "log", Log1p: "log1p", Neg: "neg",
  Reciprocal: "reciprocal", Relu: "relu", Round: "round", Rsqrt: "rsqrt", Selu: "selu", Sigmoid: "sigmoid", Sign: "sign", Sin: "sin", Sinh: "sinh",
  Softplus: "softplus", Sqrt: "sqrt", Square: "square", Tan: "tan", Tanh: "tanh",
};

const UNARY_TO_BOOL: Readonly<Record<string, PlainUnary>> = { IsFinite: "isFinite", IsInf: "isInf", IsNan: "isNan", LogicalNot: "logicalNot" };

const BINARY: Readonly<Record<string, PlainBinary>> = {
  Add: "add", Atan2: "atan2", Maximum: "maximum", Minimum: "minimum", Mod: "mod", Multiply: "mul", Pow: "pow", RealDiv: "div", SquaredDifference: "squaredDifference", Sub: "sub",
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

function kernelTable(): Kernels {
  const table: Record<string, Kernel<never>> = { ...SHAPE_KERNELS, ...MATH_KERNELS, ...INDEX_KERNELS, ...NEURAL_KERNELS };
  for (const [name, op] of Object.entries(UNARY)) table[name] = ({ inputs, backend }) => emitUnary(backend, op, first(inputs));
  for (const [name, op] of Object.entries(UNARY_TO_BOOL)) table[name] = ({ inputs, backend }) => emitUnary(backend, op, first(inputs), "bool");
  for (const [name, op] of Object.entries(BINARY)) table[name] = ({ inputs, backend }) => emitBinary(backend, op, get(inputs, "a"), get(inputs, "b"));
  for (const [name, op] of Object.entries(BINARY_TO_BOOL)) {
    table[name] = ({ inputs, backend }) => emitBinary(backend, op, get(inputs, "a"), get(inputs, "b"), "bool");
  }
  return table;
}
