import type { DType, TensorData, TensorSpec } from "./types.js";

/** Operations whose every output element depends on the elements at the same place of its inputs, with no attributes. */
export type PlainUnary =
  | "abs" | "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" | "ceil" | "cos" | "cosh" | "elu" | "erf" | "exp" | "expm1" | "floor" | "geluTanh"
  | "isFinite" | "isInf" | "isNan" | "log" | "log1p" | "logicalNot" | "neg" | "reciprocal" | "relu" | "round" | "rsqrt" | "selu" | "sigmoid" | "sign"
  | "sin" | "sinh" | "softplus" | "sqrt" | "square" | "tan" | "tanh";

/** Element-wise operations of two tensors with NumPy broadcasting. */
export type PlainBinary =
  | "add" | "atan2" | "div" | "equal" | "floorDiv" | "greater" | "greaterEqual" | "less" | "lessEqual" | "logicalAnd" | "logicalOr" | "maximum" | "minimum" | "mod" | "mul"
  | "notEqual" | "pow" | "squaredDifference" | "sub";

interface ReduceAttributes {
  /** Reduced axes, ascending, non-negative. */
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

type NoAttributes = Readonly<Record<never, never>>;

/** Every operation of the graph with its attributes. Inputs are positional; shapes are those of the values. */
export interface OpTable extends Record<PlainUnary | PlainBinary, NoAttributes> {
  /** condition bool, a, b -> a where the condition holds, else b. */
  select: NoAttributes;
  clip: { readonly min: number; readonly max: number };
  leakyRelu: { readonly alpha: number };
  /** Heaviside step: 1 above zero, `alpha` at and below zero. */
  step: { readonly alpha: number };
  cast: { readonly dtype: DType };
  /** A tensor filled with one number. */
  fill: { readonly value: number };
  /** A tensor known at trace time. */
  constant: { readonly data: TensorData };
  reshape: NoAttributes;
  broadcast: NoAttributes;
  transpose: { readonly permutation: readonly number[] };
  slice: { readonly begin: readonly number[] };
  /** Every `strides`-th element from `begin` on, backwards where the stride is negative. */
  stridedSlice: { readonly begin: readonly number[]; readonly strides: readonly number[] };
  concat: { readonly axis: number };
  /** Cuts the axis into equal parts, one output each. */
  split: { readonly axis: number };
  pad: { readonly before: readonly number[]; readonly after: readonly number[]; readonly value: number };
  tile: { readonly repeats: readonly number[] };
  reverse: { readonly axes: readonly number[] };
  sum: ReduceAttributes;
  mean: ReduceAttributes;
  max: ReduceAttributes;
  min: ReduceAttributes;
  prod: ReduceAttributes;
  argMax: { readonly axis: number };
  argMin: { readonly axis: number };
  /** The k largest along the last axis, in falling order, and their places int32; of equals the first. */
  topK: { readonly k: number };
  cumsum: { readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean };
  softmax: NoAttributes;
  logSoftmax: NoAttributes;
  /** a [..,M,K], b [..,K,N], each possibly transposed in its last two axes -> alpha · a b. */
  matmul: { readonly transposeA: boolean; readonly transposeB: boolean; readonly alpha: number };
  /** a [M,K], b [K,N], each possibly transposed, bias broadcastable to [M,N] -> a b + bias. */
  gemm: { readonly transposeA: boolean; readonly transposeB: boolean };
  /** One or two tensors, with an equation such as `ij,jk->ik`. */
  einsum: { readonly equation: string };
  /** x [..,D], gamma [D], beta [D] -> y, mean [..,1], inverse standard deviation [..,1]. */
  layerNorm: { readonly epsilon: number };
  /** table, indices int32 -> table's slices along `axis`. */
  gather: { readonly axis: number };
  /** x, indices int32 [..,K] -> the slices of x whose leading K places they name. */
  gatherND: NoAttributes;
  /** x [..,V], indices int32 [..] -> x at the index of each row, [..]. */
  gatherPerRow: NoAttributes;
  oneHot: { readonly depth: number; readonly onValue: number; readonly offValue: number };
  /** base [R,D], indices int32 [N], updates [N,D] -> base with each update added to the row of its index, in the order of N. */
  scatterAddRows: NoAttributes;
  /** An operator made by `defineOperator`, by its name. */
  custom: { readonly operator: string; readonly attributes: Readonly<Record<string, number | string | boolean | readonly number[]>> };
}

/** Name of an operation of the graph. */
export type OpName = keyof OpTable;

/** A tensor in the graph: what a node produces or an input provides. */
export interface Value extends TensorSpec {
  readonly id: number;
  readonly producer: Node | undefined;
  /** Which output of the producer this is. */
  readonly output: number;
}

/** One operation applied to values. */
export interface Node<K extends OpName = OpName> {
  readonly op: K;
  readonly inputs: readonly Value[];
  readonly attributes: OpTable[K];
  readonly outputs: readonly Value[];
}

/** A traced function: nodes in an order in which every input is produced before its use. */
export interface Graph {
  readonly name: string;
  readonly inputs: ReadonlyMap<string, Value>;
  readonly nodes: readonly Node[];
  readonly outputs: ReadonlyMap<string, Value>;
}

/** True when the node is of this operation; narrows its attributes. */
export function isOp<K extends OpName>(node: Node | undefined, op: K): node is Node<K> {
  return node?.op === op;
}

/** What a node is called in messages and listings: its operation, or the name of the defined operator that it applies. */
export function operationName(node: Node): string {
  return isOp(node, "custom") ? node.attributes.operator : node.op;
}
