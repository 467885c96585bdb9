import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { relative } from "node:path/posix";
import { layers } from "../layers.mjs";
import { renderPackageGraph } from "./package-graph.mjs";
import { repositoryRoot } from "./repository.mjs";

const picture = "docs/package-graph.svg";
/** Pages that show the graph, and the folder that their links start from. */
const pages = [
  { page: "README.md", folder: "." },
  { page: "docs/architecture.md", folder: "docs" },
];
const begin = "<!-- layers: written by `pnpm readme` from layers.mjs -->";
const end = "<!-- /layers -->";

/** The package graph as a picture and a table, in Markdown, for a page in `folder`. */
function renderLayers(folder) {
  const names = Object.keys(layers).sort((a, b) => layers[b].floor - layers[a].floor);
  return [
    begin,
    "",
    `![The package graph, floor by floor; the table below says the same in words](${relative(folder, picture)})`,
    "",
    "| floor | package | may import | what it is for |",
    "|---|---|---|---|",
    ...names.map((name) => {
      const { floor, imports, purpose } = layers[name];
      const all = imports.length === names.length - 1;
      return `| ${floor} | [${name}](${relative(folder, `packages/${name}`)}) | ${all ? "all" : imports.join(", ") || "–"} | ${purpose} |`;
    }),
    "",
    end,
  ].join("\n");
}

/** Lines for people when a page's table or the picture is not what layers.mjs gives. */
export function findReadmeProblems() {
  const stale = pages.filter(({ page, folder }) => !readFileSync(join(repositoryRoot, page), "utf8").includes(renderLayers(folder))).map(({ page }) => page);
  const path = join(repositoryRoot, picture);
  if (!existsSync(path) || readFileSync(path, "utf8") !== renderPackageGraph()) stale.push(picture);
  return stale.map((file) => `${file}  marin/readme  the picture of the package graph differs from layers.mjs: run \`pnpm readme\``);
}

/** Writes the picture, and the table between the markers of each page. */
export function writeReadme() {
  writeFileSync(join(repositoryRoot, picture), renderPackageGraph());
  for (const { page, folder } of pages) {
    const path = join(repositoryRoot, page);
    const text = readFileSync(path, "utf8");
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from === -1 || to === -1) {
      throw new Error(`${page} lacks the markers "${begin}" and "${end}" between which the picture stands.`);
    }
    writeFileSync(path, text.slice(0, from) + renderLayers(folder) + text.slice(to + end.length));
  }
}
