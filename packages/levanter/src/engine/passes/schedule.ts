import type { Graph } from "../graph.js";

/**
 * Puts the nodes into an order from which ONNX Runtime derives the schedule that holds the least memory.
 *
 * The runtime does not run nodes as listed: it walks back depth-first from the nodes that nothing reads, the last listed first. A gradient graph's such
 * nodes are the weights' gradients. Listed as recorded, the first layer's would be computed before all others, for which it needs the whole backward
 * pass; every activation and every gradient of one would then be held until the end. So these nodes are listed last, in the reverse of their
 * order: each is computed, and what it needs let go, as soon as the backward pass has come to it.
 */
export function schedule(graph: Graph): Graph {
  const read = new Set(graph.nodes.flatMap((node) => node.inputs));
  const [inner, last] = [graph.nodes.filter((node) => node.outputs.some((value) => read.has(value))), graph.nodes.filter((node) => !node.outputs.some((value) => read.has(value)))];
  return { ...graph, nodes: [...inner, ...last.reverse()] };
}
