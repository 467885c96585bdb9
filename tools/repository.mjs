import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder, absolute. */
export const repositoryRoot = dirname(dirname(fileURLToPath(import.meta.url)));

/** Workspace members beside `packages/*`. They may use every package by its public name; no package may use them. */
export const leaves = ["experiments", "infra", "bench", "docs"];

const codePattern = /\.(?:[cm]?[jt]s|[jt]sx)$/;
const ignoredFolders = new Set(["node_modules", "dist", "coverage", ".turbo", ".git", ".marin", ".iris", ".examples", "generated"]);

/** The path from the root, with forward slashes. */
export function repositoryPath(absolutePath) {
  return relative(repositoryRoot, absolutePath).split(sep).join("/");
}

/**
 * Who owns a file, by its path from the root: a package (`{ kind: "package", name: "iris" }`), another member of the workspace
 * (`{ kind: "leaf", name: "experiments" }`), the root itself (`{ kind: "root", name: "root" }`), or nobody (`undefined`) when it lies outside.
 */
export function ownerOf(pathFromRoot) {
  if (pathFromRoot === ".." || pathFromRoot.startsWith("../") || /^(?:[A-Za-z]:)?\//.test(pathFromRoot)) {
    return undefined;
  }
  const [first, second] = pathFromRoot.split("/");
  if (first === "packages" && second) {
    return { kind: "package", name: second, folder: `packages/${second}` };
  }
  if (leaves.includes(first)) {
    return { kind: "leaf", name: first, folder: first };
  }
  return { kind: "root", name: "root", folder: "" };
}

/** Reads `<folder>/package.json`; `undefined` when there is none. */
export function readManifest(folder) {
  const path = join(repositoryRoot, folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Folders of all workspace members that have a manifest, from the root. */
export function workspaceFolders() {
  const packages = readdirSync(join(repositoryRoot, "packages")).map((name) => `packages/${name}`);
  return [...packages, ...leaves].filter((folder) => existsSync(join(repositoryRoot, folder, "package.json")));
}

/** Every file below `folder` (from the root), without what is built or installed, as sorted paths from the root. */
export function listFiles(folder = ".") {
  const found = [];
  const visit = (absolute) => {
    for (const entry of readdirSync(absolute, { withFileTypes: true })) {
      const path = join(absolute, entry.name);
      if (entry.isDirectory()) {
        if (!ignoredFolders.has(entry.name)) {
          visit(path);
        }
      } else {
        found.push(repositoryPath(path));
      }
    }
  };
  const start = join(repositoryRoot, folder);
  if (existsSync(start) && statSync(start).isDirectory()) {
    visit(start);
  }
  return found.sort();
}

/** Whether a file holds TypeScript or JavaScript. */
export function isCode(path) {
  return codePattern.test(path);
}
