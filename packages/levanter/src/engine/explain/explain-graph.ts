import { operationName, type Graph, type Node, type Value } from "../graph.js";
import type { EngineName } from "../types.js";
import { bytesOf, flopsOf } from "./cost.js";
import type { NodeExplanation, OperationSummary, ProgramExplanation } from "./explanation.js";
import type { ProfiledTimes } from "./profile.js";
import { heldBytes, runOrder } from "./run-order.js";

/** Explains a graph, with the times of its nodes where they were measured. */
export function explainGraph(engine: EngineName, graph: Graph, times?: ProfiledTimes): ProgramExplanation {
  const index = new Map(graph.nodes.map((node, at) => [node, at]));
  const order = runOrder(graph);
  const nodes = order.map((node) => explainNode(node, times?.nodes.get(index.get(node) ?? -1)));
  const fused = times?.fused ?? [];
  return {
    name: graph.name,
    engine,
    nodes,
    operations: summarize(nodes),
    totals: {
      flops: total(nodes, ({ flops }) => flops),
      bytes: total(nodes, ({ bytes }) => bytes),
      milliseconds: times === undefined ? undefined : total(nodes, ({ milliseconds }) => milliseconds ?? 0) + total(fused, ({ milliseconds }) => milliseconds),
      runMilliseconds: times?.run,
      heldBytes: heldBytes(graph, order),
    },
    fused,
  };
}

function explainNode(node: Node, milliseconds: number | undefined): NodeExplanation {
  const { shape, dtype } = node.outputs[0] as Value;
  return { op: operationName(node), inputs: node.inputs.map((input) => input.shape), shape, dtype, flops: flopsOf(node), bytes: bytesOf(node), milliseconds };
}

function summarize(nodes: readonly NodeExplanation[]): OperationSummary[] {
  const byOp = new Map<string, NodeExplanation[]>();
  for (const node of nodes) byOp.set(node.op, [...(byOp.get(node.op) ?? []), node]);
  const summaries = [...byOp].map(([op, members]): OperationSummary => ({
    op,
    count: members.length,
    flops: total(members, ({ flops }) => flops),
    bytes: total(members, ({ bytes }) => bytes),
    milliseconds: members.every(({ milliseconds }) => milliseconds === undefined) ? undefined : total(members, ({ milliseconds }) => milliseconds ?? 0),
  }));
  return summaries.sort((a, b) => (b.milliseconds ?? 0) - (a.milliseconds ?? 0) || b.flops - a.flops || b.bytes - a.bytes);
}

function total<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}
