import type { Graph, Node, OpName, Value } from "../graph.js";
import { GraphBuilder } from "../graph-builder.js";

/** What a rule sees of the node it may replace. */
export interface RewriteContext {
  /** The graph being built; replacements are applied to it. */
  readonly builder: GraphBuilder;
  /** The node in the old graph. */
  readonly node: Node;
  /** Its inputs in the new graph. */
  readonly inputs: readonly Value[];
  /** How often a value of the old graph is used, as an input of a node or an output of the graph. */
  readonly uses: (value: Value) => number;
}

/** Returns the values that replace the node's outputs, or `undefined` when the rule does not apply. */
export type Rule = (context: RewriteContext) => readonly Value[] | undefined;

/** Rebuilds a graph, replacing each node by the first rule that applies and copying the others. */
export function rewrite(graph: Graph, rules: readonly Rule[]): Graph {
  const builder = new GraphBuilder(graph.name);
  const renamed = new Map<Value, Value>();
  const counts = countUses(graph);
  for (const [name, value] of graph.inputs) renamed.set(value, builder.input(name, value));
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((value) => renamed.get(value) as Value);
    const context: RewriteContext = { builder, node, inputs, uses: (value) => counts.get(value) ?? 0 };
    const replaced = firstMatch(rules, context) ?? copyNode(builder, node, inputs);
    node.outputs.forEach((value, index) => renamed.set(value, replaced[index] as Value));
  }
  const outputs = new Map([...graph.outputs].map(([name, value]) => [name, renamed.get(value) as Value]));
  return withoutDeadCode(builder.finish(outputs));
}

/** Drops the nodes that no output depends on. Inputs stay: they are the function's signature. */
export function withoutDeadCode(graph: Graph): Graph {
  const needed = new Set<Node>();
  const pending = [...graph.outputs.values()];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value.producer === undefined || needed.has(value.producer)) continue;
    needed.add(value.producer);
    pending.push(...value.producer.inputs);
  }
  return { ...graph, nodes: graph.nodes.filter((node) => needed.has(node)) };
}

function firstMatch(rules: readonly Rule[], context: RewriteContext): readonly Value[] | undefined {
  for (const rule of rules) {
    const replaced = rule(context);
    if (replaced !== undefined) return replaced;
  }
  return undefined;
}

function copyNode<K extends OpName>(builder: GraphBuilder, node: Node<K>, inputs: readonly Value[]): readonly Value[] {
  return builder.apply(node.op, inputs, node.attributes, node.outputs);
}

function countUses(graph: Graph): Map<Value, number> {
  const counts = new Map<Value, number>();
  const use = (value: Value): void => {
    counts.set(value, (counts.get(value) ?? 0) + 1);
  };
  for (const node of graph.nodes) node.inputs.forEach(use);
  for (const value of graph.outputs.values()) use(value);
  return counts;
}
