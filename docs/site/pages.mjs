/** Which files of the repository are pages of the site, under which paths, and how they lie in its menus. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";

/** The repository's root folder, with a slash at its end. */
export const root = fileURLToPath(new URL("../../", import.meta.url)).replaceAll("\\", "/");

/** Where the API reference is written before each build, from the root. */
export const apiFolder = "docs/generated/api";

/** Names of the packages; those that import most stand first. */
export const packages = readdirSync(`${root}packages`).sort((a, b) => reach(b).size - reach(a).size || a.localeCompare(b));
const decisions = readdirSync(`${root}docs/decisions`).filter((file) => file.endsWith(".md") && file !== "README.md");

/** Packages that a package depends on, directly or not. */
function reach(name, seen = new Set()) {
  const { dependencies = {} } = JSON.parse(readFileSync(`${root}packages/${name}/package.json`, "utf8"));
  for (const other of Object.keys(dependencies).flatMap((dependency) => (dependency.startsWith("@marin/") ? dependency.slice(7) : []))) {
    if (!seen.has(other)) reach(other, seen.add(other));
  }
  return seen;
}

/** Files that are pages, from the repository's root, and the file that each is for the site. Each file is shown where it stands: nothing is copied. */
const pages = new Map([
  ...["index", "install", "first-hour", "read-anything", "dedup-a-corpus", "running-a-job", "actors", "adding-an-actor-transport", "adding-an-operator", "adding-a-storage-driver", "adding-a-reader", "architecture"].map((page) => [`docs/${page}.md`, `${page}.md`]),
  ["docs/decisions/README.md", "decisions/index.md"],
  ...decisions.map((file) => [`docs/decisions/${file}`, `decisions/${file}`]),
  ...packages.map((name) => [`packages/${name}/README.md`, `packages/${name}.md`]),
  ["packages/levanter/OPERATORS.md", "operations.md"],
  ["experiments/README.md", "experiments.md"],
  ["infra/README.md", "infrastructure.md"],
  ["bench/README.md", "benchmarks.md"],
  ["bench/RESULTS.md", "benchmark-results.md"],
  ["CONTRIBUTING.md", "contributing.md"],
]);

/** Folders whose links lead to a page. */
const folders = new Map([
  ["", "docs/index.md"],
  ["docs", "docs/index.md"],
  ["README.md", "docs/index.md"],
  ["docs/README.md", "docs/index.md"],
  ...[...pages.keys()].filter((file) => file.endsWith("/README.md")).map((file) => [dirname(file), file]),
]);

/**
 * The site's file for a file of the repository; `undefined` where it is no page.
 *
 * @param {string} file - from the root
 * @returns {string | undefined}
 */
export function siteFile(file) {
  return file.startsWith(`${apiFolder}/`) ? file.slice("docs/generated/".length).replace(/README\.md$/, "index.md") : pages.get(file);
}

/**
 * Where a link of a page leads on the site: another page's path, `undefined` for a file of the repository that is no page, and the link itself
 * where it leads elsewhere or nowhere (VitePress names the latter and fails).
 *
 * @param {string} page - the page, from the repository's root
 * @param {string} link - as written
 */
export function siteLink(page, link) {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link;
  const [path, anchor] = link.split("#");
  const target = relative("", join(dirname(page), decodeURI(path)));
  const file = siteFile(folders.get(target) ?? target);
  if (file !== undefined) return `/${file.replace(/(?:index)?\.md$/, "")}${anchor === undefined ? "" : `#${anchor}`}`;
  return existsSync(root + target) ? undefined : link;
}

/** The site's menu at the side. */
export const sidebar = [
  {
    text: "Begin",
    items: [
      { text: "Install", link: "/install" },
      { text: "The first hour", link: "/first-hour" },
      { text: "Read anything", link: "/read-anything" },
      { text: "Dedup a corpus", link: "/dedup-a-corpus" },
      { text: "Running a job", link: "/running-a-job" },
      { text: "Actors", link: "/actors" },
      { text: "Experiments", link: "/experiments" },
      { text: "Operations", link: "/operations" },
      { text: "Adding an operator", link: "/adding-an-operator" },
      { text: "Adding an actor transport", link: "/adding-an-actor-transport" },
      { text: "Adding a storage driver", link: "/adding-a-storage-driver" },
      { text: "Adding a reader", link: "/adding-a-reader" },
    ],
  },
  {
    text: "How it is built",
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "Decisions", link: "/decisions/" },
      { text: "Infrastructure", link: "/infrastructure" },
      { text: "Benchmarks", link: "/benchmarks" },
      { text: "Contributing", link: "/contributing" },
    ],
  },
  { text: "Packages", items: packages.map((name) => ({ text: name, link: `/packages/${name}` })) },
  { text: "API reference", collapsed: true, items: packages.map((name) => ({ text: name, link: `/api/${name}` })) },
];
