import * as dagre from "@dagrejs/dagre";
import { h } from "preact";

import type { Markup } from "./markup.js";
import type { LineageFact } from "./report.js";
import { visibleText } from "./visible-text.js";

interface Point {
  readonly x: number;
  readonly y: number;
}

/** What is used of a graph to lay out. */
interface Graph {
  setGraph(label: object): this;
  setDefaultEdgeLabel(label: () => object): this;
  setNode(name: string, label: object): this;
  setEdge(from: string, to: string): this;
  hasNode(name: string): boolean;
  graph(): { readonly width?: number; readonly height?: number };
  node(name: string): Point;
  edge(from: string, to: string): { readonly points: readonly Point[] };
}

// The library's declarations import each other without file endings, which this repository's module resolution does not follow.
const { Graph, layout } = dagre as unknown as { readonly Graph: new () => Graph; readonly layout: (graph: Graph) => void };

const NODE = { width: 124, height: 46 };
const MARGIN = 2;

/** Where the page tells about an artifact. */
export function artifactId({ fingerprint }: Pick<LineageFact, "fingerprint">): string {
  return `artifact-${fingerprint}`;
}

/** Which artifact was made from which, drawn from top to bottom. Each node leads to its row. */
export function lineageGraph(lineage: readonly LineageFact[]): Markup {
  const graph = new Graph().setGraph({ rankdir: "TB", nodesep: 16, ranksep: 34, marginx: MARGIN, marginy: MARGIN }).setDefaultEdgeLabel(() => ({}));
  for (const { fingerprint } of lineage) graph.setNode(fingerprint, { ...NODE });
  const edges = lineage.flatMap(({ fingerprint, inputs }) => [...new Set(Object.values(inputs))].filter((input) => graph.hasNode(input)).map((input): [string, string] => [input, fingerprint]));
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  const names = new Map(lineage.map(({ fingerprint, step }) => [fingerprint, step]));
  const description = edges.map(([from, to]) => `${names.get(to) ?? ""} is made from ${names.get(from) ?? ""}`).join("; ");
  return h(
    "figure",
    { class: "graph" },
    h("figcaption", null, "What was made from what"),
    h(
      "div",
      { class: "scroll", role: "region", "aria-label": "What was made from what", tabIndex: 0 },
      h(
        "svg",
        { viewBox: `0 0 ${String(Math.ceil(width))} ${String(Math.ceil(height))}`, width: Math.ceil(width), height: Math.ceil(height), role: "group", "aria-label": `Graph of artifacts: ${visibleText(description)}.` },
        h("defs", null, h("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, h("path", { d: "M0 0 8 4 0 8z", class: "head" }))),
        edges.map(([from, to]) => h("path", { class: "edge", d: path(graph.node(from), graph.node(to), graph.edge(from, to).points), "marker-end": "url(#arrow)" })),
        lineage.map((fact) => node(fact, graph.node(fact.fingerprint))),
      ),
    ),
  );
}

function node(fact: LineageFact, { x, y }: Point): Markup {
  return h(
    "a",
    { href: `#${artifactId(fact)}` },
    h("rect", { class: "node", x: x - NODE.width / 2, y: y - NODE.height / 2, width: NODE.width, height: NODE.height, rx: 6 }),
    h("text", { x, y: y - 3, class: "name", "text-anchor": "middle" }, visibleText(fact.step)),
    h("text", { x, y: y + 14, class: "short", "text-anchor": "middle" }, fact.fingerprint.slice(0, 12)),
  );
}

/**
 * A line from the bottom of one node to the top of another, through the points where the layout has left room between the ranks that it passes.
 * Between two points it leaves and arrives downwards.
 */
function path(from: Point, to: Point, points: readonly Point[]): string {
  // Every other inner point lies on a rank, those around it half-way between two.
  const between = points.slice(1, -1).filter((_, index) => index % 2 === 1);
  const [start, ...rest] = [{ x: from.x, y: from.y + NODE.height / 2 }, ...between, { x: to.x, y: to.y - NODE.height / 2 }];
  let at = start as Point;
  let line = `M${coordinates(at.x, at.y)}`;
  for (const next of rest) {
    const middle = (at.y + next.y) / 2;
    line += `C${coordinates(at.x, middle)} ${coordinates(next.x, middle)} ${coordinates(next.x, next.y)}`;
    at = next;
  }
  return line;
}

function coordinates(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
