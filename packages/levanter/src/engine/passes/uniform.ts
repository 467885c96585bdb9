import { isOp, type Value } from "../graph.js";
import { elementCount } from "../shape.js";

/** The number that every element of the value has, where the graph shows it. */
export function uniformValue(value: Value): number | undefined {
  const node = value.producer;
  if (isOp(node, "fill")) return node.attributes.value;
  if (isOp(node, "constant") && elementCount(value.shape) === 1) return node.attributes.data[0];
  if (isOp(node, "reshape") || isOp(node, "broadcast") || isOp(node, "tile")) return uniformValue(node.inputs[0] as Value);
  return undefined;
}
