import type { Node, OpName } from "./graph.js";
import { operatorOf } from "./operator-registry.js";

const ELEMENTWISE: ReadonlySet<OpName> = new Set<OpName>([
  "abs", "add", "cast", "ceil", "clip", "constant", "cos", "div", "equal", "erf", "exp", "fill", "floor", "geluTanh", "greater", "greaterEqual", "isNan",
  "leakyRelu", "less", "lessEqual", "log", "logicalAnd", "logicalNot", "logicalOr", "maximum", "minimum", "mul", "neg", "notEqual", "pow", "reciprocal",
  "relu", "round", "rsqrt", "select", "sigmoid", "sign", "sin", "softplus", "sqrt", "square", "squaredDifference", "step", "sub", "tanh",
]);

/** True when every element of the node's outputs depends on the elements at the same place of its inputs alone. */
export function isElementwise(node: Node): boolean {
  return ELEMENTWISE.has(node.op) || operatorOf(node)?.elementwise === true;
}
