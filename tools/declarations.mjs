import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { layers } from "../layers.mjs";
import { findReferences } from "./layering/references.mjs";
import { listFiles, readManifest, repositoryRoot } from "./repository.mjs";

/**
 * Built declarations of a package (`folder` from the root) that name a package which it does not declare or may not import. TypeScript writes such
 * names itself where an exported value's type is inferred; users of the package could not resolve them.
 */
export function findDeclarationLeaks(folder) {
  const files = listFiles(`${folder}/dist`).filter((file) => /\.d\.[cm]?ts$/.test(file));
  return files.flatMap((path) => judgeDeclaration(path, readFileSync(join(repositoryRoot, path), "utf8"), readManifest(folder)));
}

/** The same for one declaration file at `path` (from the root) of the package with this manifest. */
export function judgeDeclaration(path, text, manifest) {
  const name = manifest.name.slice("@marin/".length);
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  const allowed = new Set([name, ...layers[name].imports.filter((other) => declared[`@marin/${other}`])]);
  const report = (message) => `${path}  marin/declarations  @marin/${name} must not show ${message}`;
  // By the text, not only by its imports: a comment that names another package would send its users to what they do not have.
  const ours = [...text.matchAll(/@marin\/([a-z]+)[\w/-]*/g)]
    .filter(([, other]) => layers[other] !== undefined && !allowed.has(other))
    .map(([specifier, other]) => report(`@marin/${other} in its types ("${specifier}"). Annotate the exported function or value with a type that @marin/${name} may import.`));
  const others = findReferences(path, text)
    .filter(({ specifier, judged }) => judged === "module" && specifier !== undefined && !/^(?:\.|@marin\/)/.test(specifier) && !isBuiltin(specifier))
    .filter(({ specifier }) => declared[packageOf(specifier)] === undefined)
    .map(({ specifier }) => report(`${packageOf(specifier)} in its types ("${specifier}") without declaring it: its users would not have it. Add it to the dependencies.`));
  return [...ours, ...others];
}

/** The package that a specifier names: its first segment, two with a scope. */
function packageOf(specifier) {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
