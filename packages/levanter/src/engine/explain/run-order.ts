import { isElementwise } from "../elementwise.js";
import type { Graph, Node, Value } from "../graph.js";
import { byteCount } from "./cost.js";

/** The nodes in the order in which ONNX Runtime runs them: depth-first, back from the nodes that nothing reads, the last listed first (see `schedule`). */
export function runOrder(graph: Graph): readonly Node[] {
  const position = new Map(graph.nodes.map((node, index) => [node, index]));
  const read = new Set(graph.nodes.flatMap((node) => node.inputs));
  const order: Node[] = [];
  const entered = new Set<Node>();
  const pending: { readonly node: Node; readonly done: boolean }[] = graph.nodes.filter((node) => !node.outputs.some((value) => read.has(value))).map((node) => ({ node, done: false }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.done) order.push(next.node);
    else if (!entered.has(next.node)) {
      entered.add(next.node);
      pending.push({ node: next.node, done: true });
      const producers = new Set(next.node.inputs.flatMap((input) => input.producer ?? []));
      for (const node of [...producers].sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))) if (!entered.has(node)) pending.push({ node, done: false });
    }
  }
  return order;
}

/** The most bytes of intermediate tensors held at once when the nodes run in this order, each let go after its last use. */
export function heldBytes(graph: Graph, order: readonly Node[]): number {
  const outputs = new Set(graph.outputs.values());
  // A reshaped tensor is the same memory.
  const memory = (value: Value): Value => (value.producer?.op === "reshape" ? memory(value.producer.inputs[0] as Value) : value);
  const lastUse = new Map<Value, Node>();
  for (const node of order) for (const value of [...node.outputs, ...node.inputs]) lastUse.set(memory(value), node);
  const kept = new Set([...outputs].map(memory));
  let [held, most] = [0, 0];
  for (const node of order) {
    const own = node.op === "reshape" ? [] : node.outputs.filter((value) => !kept.has(value));
    const ending = [...new Set([...node.inputs, ...node.outputs].map(memory))].filter((value) => value.producer !== undefined && !kept.has(value) && lastUse.get(value) === node);
    const added = own.reduce((bytes, value) => bytes + byteCount(value), 0);
    const ended = ending.reduce((bytes, value) => bytes + byteCount(value), 0);
    // An element-wise operation writes over an operand that nothing reads after it.
    const inPlace = isElementwise(node) && ending.some((value) => !own.includes(value) && byteCount(value) === added);
    most = Math.max(most, held + (inPlace ? 0 : added));
    held += added - ended;
  }
  return most;
}
