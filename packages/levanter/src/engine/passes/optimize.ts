import type { Graph } from "../graph.js";
import { fusions } from "./fuse.js";
import { rewrite } from "./rewrite.js";
import { schedule } from "./schedule.js";
import { SIMPLIFICATIONS } from "./simplify.js";

/** Rewrites a graph until nothing changes its size: simplification and fusion, each with common-subexpression and dead-code elimination. Then puts its nodes in order. */
export function optimize(graph: Graph): Graph {
  let current = graph;
  for (;;) {
    const next = rewrite(rewrite(current, SIMPLIFICATIONS), fusions());
    if (next.nodes.length === current.nodes.length) return schedule(next);
    current = next;
  }
}
