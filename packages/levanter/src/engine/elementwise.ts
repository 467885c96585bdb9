import type { Node, OpName } from "./graph.js";
import { operatorOf } from "./operator-registry.js";

const ELEMENTWISE: ReadonlySet<OpName> = new Set<OpName>([
  "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "clip", "constant", "cos", "cosh", "div", "elu", "equal",
  "erf", "exp", "expm1", "fill", "floor", "floorDiv", "geluTanh", "greater", "greaterEqual", "isFinite", "isInf", "isNan", "leakyRelu", "less",
  "lessEqual", "log", "log1p", "logicalAnd", "logicalNot", "logicalOr", "maximum", "minimum", "mod", "mul", "neg", "notEqual", "pow", "reciprocal",
  "relu", "round", "rsqrt", "select", "selu", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt", "square", "squaredDifference", "step", "sub",
  "tan", "tanh",
]);

/** True when every element of the node's outputs depends on the elements at the same place of its inputs alone. */
export function isElementwise(node: Node): boolean {
  return ELEMENTWISE.has(node.op) || operatorOf(node)?.elementwise === true;
}
