import { readFileSync } from "node:fs";
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
  return findReferences(path, text)
    .filter(({ specifier, judged }) => judged === "module" && specifier?.startsWith("@marin/") && !allowed.has(specifier.split("/")[1]))
    .map(
      ({ specifier }) =>
        `${path}  marin/declarations  @marin/${name} must not show @marin/${specifier.split("/")[1]} in its types ("${specifier}"). ` +
        `Annotate the exported function or value with a type that @marin/${name} may import.`,
    );
}
