import dagre from "@dagrejs/dagre";
import { layers } from "../layers.mjs";

const box = { width: 118, height: 44 };
const gap = { between: 34, floors: 46 };
const margin = { left: 74, other: 12 };
// Read well on light and on dark pages alike: the picture has no background of its own.
const colours = { line: "#7c8798", box: "#e6edfb", edge: "#6d86c4", text: "#1c2740" };

/** The package graph of layers.mjs as an SVG: one row a floor, an arrow for each import that does not follow from others. */
export function renderPackageGraph() {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", ranksep: gap.floors, nodesep: gap.between, marginx: margin.other, marginy: margin.other });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of Object.keys(layers)) graph.setNode(name, { ...box });
  for (const name of Object.keys(layers)) {
    for (const other of directImports(name)) graph.setEdge(name, other, { minlen: Math.max(1, layers[name].floor - layers[other].floor) });
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const nodes = graph.nodes().map((name) => ({ name, ...graph.node(name) }));
  const rows = [...new Map(nodes.map(({ name, y }) => [layers[name].floor, y])).entries()];
  const left = margin.left;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width + left)} ${round(height)}" width="${round(width + left)}" height="${round(height)}" role="img" aria-labelledby="title">`,
    `<title id="title">The package graph: ${nodes.map(({ name }) => `${name} imports ${layers[name].imports.join(", ") || "no other"}`).join("; ")}</title>`,
    `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8Z" fill="${colours.line}"/></marker></defs>`,
    `<g font-family="system-ui, sans-serif" font-size="15">`,
    ...rows.map(([floor, y]) => `<text x="0" y="${round(y + 5)}" font-size="13" fill="${colours.line}">floor ${floor}</text>`),
    ...graph.edges().map((edge) => `<path d="${path(graph.edge(edge).points, left)}" fill="none" stroke="${colours.line}" stroke-width="1.5" marker-end="url(#head)"/>`),
    ...nodes.map(
      ({ name, x, y }) =>
        `<g><title>${layers[name].purpose}</title><rect x="${round(x - box.width / 2 + left)}" y="${round(y - box.height / 2)}" width="${box.width}" height="${box.height}" rx="8" fill="${colours.box}" stroke="${colours.edge}"/>` +
        `<text x="${round(x + left)}" y="${round(y + 5)}" text-anchor="middle" fill="${colours.text}">${name}</text></g>`,
    ),
    `</g>`,
    `</svg>`,
    "",
  ].join("\n");
}

/** Straight between a bend's neighbours, rounded at the bends. */
function path(points, left) {
  const [first, ...rest] = points.map(({ x, y }) => `${round(x + left)} ${round(y)}`);
  const middle = rest.slice(0, -1).flatMap((point, index) => {
    const next = points[index + 2];
    return [`Q${point} ${round((points[index + 1].x + next.x) / 2 + left)} ${round((points[index + 1].y + next.y) / 2)}`];
  });
  return `M${first}${middle.join("")}L${rest.at(-1)}`;
}

function round(value) {
  return Math.round(value * 10) / 10;
}

/** Imports that do not already follow from another import: the arrows that a picture needs. */
function directImports(name) {
  const { imports } = layers[name];
  return imports.filter((candidate) => !imports.some((other) => other !== candidate && reach(other).has(candidate)));
}

/** Everything that a package imports, directly or not. */
function reach(name, seen = new Set()) {
  for (const other of layers[name].imports.filter((next) => !seen.has(next))) {
    reach(other, seen.add(other));
  }
  return seen;
}
