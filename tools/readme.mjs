import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { layers } from "../layers.mjs";
import { repositoryRoot } from "./repository.mjs";

const readmePath = join(repositoryRoot, "README.md");
const begin = "<!-- layers: written by `pnpm readme` from layers.mjs -->";
const end = "<!-- /layers -->";

/** The package graph as a picture and a table, in Markdown. */
export function renderLayers() {
  const names = Object.keys(layers).sort((a, b) => layers[b].floor - layers[a].floor);
  const floors = [...new Set(names.map((name) => layers[name].floor))];
  const direct = names.flatMap((name) => directImports(name).map((other) => `  ${name} --> ${other}`));
  return [
    begin,
    "",
    "```mermaid",
    "flowchart TD",
    ...floors.flatMap((floor) => [`  subgraph floor${floor}["floor ${floor}"]`, ...names.filter((name) => layers[name].floor === floor).map((name) => `    ${name}`), "  end"]),
    ...direct,
    "```",
    "",
    "| floor | package | may import | what it is for |",
    "|---|---|---|---|",
    ...names.map((name) => {
      const { floor, imports, purpose } = layers[name];
      const all = imports.length === names.length - 1;
      return `| ${floor} | [${name}](packages/${name}) | ${all ? "all" : imports.join(", ") || "–"} | ${purpose} |`;
    }),
    "",
    end,
  ].join("\n");
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

/** Lines for people when the README's picture is not the one that layers.mjs gives. */
export function findReadmeProblems() {
  return readFileSync(readmePath, "utf8").includes(renderLayers())
    ? []
    : ["README.md  marin/readme  the picture of the package graph differs from layers.mjs: run `pnpm readme`"];
}

/** Writes the picture between its markers. */
export function writeReadme() {
  const text = readFileSync(readmePath, "utf8");
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to === -1) {
    throw new Error(`README.md lacks the markers "${begin}" and "${end}" between which the picture stands.`);
  }
  writeFileSync(readmePath, text.slice(0, from) + renderLayers() + text.slice(to + end.length));
}
