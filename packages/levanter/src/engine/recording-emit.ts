import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { OpName, PlainBinary, PlainUnary } from "./graph.js";
import { callerLine, type RecordingBackend } from "./recording-backend.js";
import type { DType, TensorSpec } from "./types.js";

/** What one kernel gets from tfjs, with the input tensors by name. */
export interface Call<A> {
  readonly inputs: Readonly<Record<string, tf.TensorInfo>>;
  readonly attrs: A;
  readonly backend: RecordingBackend;
}

/** Records one of tfjs's kernels. */
export type Kernel<A> = (call: Call<A>) => tf.TensorInfo | tf.TensorInfo[];

/** Kernels by tfjs's names. */
export type Kernels = Readonly<Record<string, Kernel<never>>>;

/** Element types that arithmetic is done in. */
export const NUMBERS: readonly tf.DataType[] = ["float32", "int32"];
const INTEGERS_TOO: ReadonlySet<PlainUnary> = new Set<PlainUnary>(["abs", "neg", "relu", "sign", "square"]);
const ON_EVERY_TYPE: ReadonlySet<PlainUnary> = new Set<PlainUnary>(["exp", "isFinite", "isInf", "isNan"]);
const ORDER: ReadonlySet<PlainBinary> = new Set<PlainBinary>(["greater", "greaterEqual", "less", "lessEqual"]);
const ON_BOOL: ReadonlySet<PlainBinary> = new Set<PlainBinary>(["equal", "notEqual", "logicalAnd", "logicalOr"]);

/** A kernel's input by name. */
export function get(inputs: Readonly<Record<string, tf.TensorInfo>>, name: string): tf.TensorInfo {
  const tensor = inputs[name];
  if (tensor === undefined) throw new MarinError("LEVANTER_KERNEL_INPUT", `a tfjs kernel was called without its input "${name}"`, { data: { name } });
  return tensor;
}

/** A kernel's first input. */
export function first(inputs: Readonly<Record<string, tf.TensorInfo>>): tf.TensorInfo {
  return get(inputs, Object.keys(inputs)[0] ?? "x");
}

/** Shape and element type of a result. */
export function spec(shape: readonly number[], dtype: tf.DataType): TensorSpec {
  return { shape, dtype: dtype as DType };
}

/** Refuses an element type that the operation has no lowering for, naming the caller's line. */
export function requireDtype(op: OpName, x: tf.TensorInfo, allowed: readonly tf.DataType[]): void {
  if (allowed.includes(x.dtype)) return;
  throw new MarinError(
    "LEVANTER_NO_LOWERING",
    `operation ${op} on ${x.dtype} does not compile (called at ${callerLine()}); cast to ${allowed.join(" or ")} first`,
    { data: { op, dtype: x.dtype, allowed } },
  );
}

/** An element-wise operation of one tensor; its result has the type of what it takes, or `dtype`. */
export function emitUnary(backend: RecordingBackend, op: PlainUnary, x: tf.TensorInfo, dtype?: tf.DataType): tf.TensorInfo {
  if (op === "round" && x.dtype === "int32") return backend.wrap(backend.traced(x));
  // These tfjs gives for every element type: the exponential as float32, a question as an answer.
  const taken = ON_EVERY_TYPE.has(op) ? emitCast(backend, x, "float32") : x;
  if (op !== "logicalNot") requireDtype(op, taken, INTEGERS_TOO.has(op) ? NUMBERS : ["float32"]);
  return backend.emit(op, [taken], {}, spec(x.shape, dtype ?? taken.dtype));
}

/** An element-wise operation of two tensors of one type, broadcast; its result has that type, or `dtype`. */
export function emitBinary(backend: RecordingBackend, op: PlainBinary, a: tf.TensorInfo, b: tf.TensorInfo, dtype: tf.DataType = a.dtype): tf.TensorInfo {
  const shape = tf.broadcast_util.assertAndGetBroadcastShape(a.shape, b.shape);
  // ONNX orders numbers only.
  const operands = ORDER.has(op) && a.dtype === "bool" ? [emitCast(backend, a, "int32"), emitCast(backend, b, "int32")] : [a, b];
  if (!ON_BOOL.has(op)) for (const operand of operands) requireDtype(op, operand, NUMBERS);
  return backend.emit(op, operands, {}, spec(shape, dtype));
}

/** The same elements in another shape. */
export function emitReshape(backend: RecordingBackend, x: tf.TensorInfo, shape: readonly number[]): tf.TensorInfo {
  return backend.emit("reshape", [x], {}, spec(shape, x.dtype));
}

/** The axes in another order. */
export function emitTranspose(backend: RecordingBackend, x: tf.TensorInfo, permutation: readonly number[]): tf.TensorInfo {
  return backend.emit("transpose", [x], { permutation }, spec(permutation.map((axis) => x.shape[axis] as number), x.dtype));
}

/** The tensor as another element type; itself where it has that type. */
export function emitCast(backend: RecordingBackend, x: tf.TensorInfo, dtype: tf.DataType): tf.TensorInfo {
  return x.dtype === dtype ? backend.wrap(backend.traced(x)) : backend.emit("cast", [x], { dtype: dtype as DType }, spec(x.shape, dtype));
}

/** Answers as 0 and 1; numbers as they are. */
export function boolAsInteger(backend: RecordingBackend, x: tf.TensorInfo): tf.TensorInfo {
  return x.dtype === "bool" ? emitCast(backend, x, "int32") : x;
}

/** A tensor of one number. */
export function emitFill(backend: RecordingBackend, shape: readonly number[], dtype: tf.DataType, value: number): tf.TensorInfo {
  return backend.emit("fill", [], { value }, spec(shape, dtype));
}

/** A product of matrices, batched and broadcast over the leading axes. */
export function emitMatMul(backend: RecordingBackend, a: tf.TensorInfo, b: tf.TensorInfo, transposeA: boolean, transposeB: boolean): tf.TensorInfo {
  requireDtype("matmul", a, NUMBERS);
  // Products with transposed operands exist for float32 only.
  if (a.dtype !== "float32" && (transposeA || transposeB)) {
    const plain = (x: tf.TensorInfo, transposed: boolean): tf.TensorInfo => (transposed ? emitTranspose(backend, x, swapLastTwo(x.shape.length)) : x);
    return emitMatMul(backend, plain(a, transposeA), plain(b, transposeB), false, false);
  }
  const rows = a.shape.at(transposeA ? -1 : -2) as number;
  const columns = b.shape.at(transposeB ? -2 : -1) as number;
  const batch = tf.broadcast_util.assertAndGetBroadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  return backend.emit("matmul", [a, b], { transposeA, transposeB, alpha: 1 }, spec([...batch, rows, columns], a.dtype));
}

function swapLastTwo(rank: number): number[] {
  return Array.from({ length: rank }, (_unused, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis));
}

/** `base` with each update added to the row of its index. */
export function emitScatterAddRows(backend: RecordingBackend, base: tf.TensorInfo, indices: tf.TensorInfo, updates: tf.TensorInfo): tf.TensorInfo {
  return backend.emit("scatterAddRows", [base, emitCast(backend, indices, "int32"), updates], {}, spec(base.shape, base.dtype));
}

/** Elements of the first tensor where the condition holds, of the second elsewhere; all broadcast. */
export function emitSelect(backend: RecordingBackend, condition: tf.TensorInfo, a: tf.TensorInfo, b: tf.TensorInfo): tf.TensorInfo {
  const { assertAndGetBroadcastShape } = tf.broadcast_util;
  const shape = assertAndGetBroadcastShape(condition.shape, assertAndGetBroadcastShape(a.shape, b.shape));
  return backend.emit("select", [condition, a, b], {}, spec(shape, a.dtype));
}

/** A vector of integers known when the function is traced. */
export function emitIntegers(backend: RecordingBackend, values: readonly number[]): tf.TensorInfo {
  return { dataId: backend.write(Int32Array.from(values), [values.length], "int32"), shape: [values.length], dtype: "int32" };
}

/** The slices of `x` along an axis that the indices, a tensor of any rank, name. */
export function emitGather(backend: RecordingBackend, x: tf.TensorInfo, indices: tf.TensorInfo, axis: number): tf.TensorInfo {
  const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
  return backend.emit("gather", [x, emitCast(backend, indices, "int32")], { axis }, spec(shape, x.dtype));
}

/** Equal parts along an axis. */
export function splitEqually(backend: RecordingBackend, x: tf.TensorInfo, axis: number, count: number): tf.TensorInfo[] {
  if (count === 1) return [backend.wrap(backend.traced(x))];
  const part = spec(x.shape.map((dimension, index) => (index === axis ? dimension / count : dimension)), x.dtype);
  return backend.emitAll("split", [x], { axis }, Array.from({ length: count }, () => part));
}
