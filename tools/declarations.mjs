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
  const name = folder.slice("packages/".length);
  const manifest = readManifest(folder);
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  const allowed = new Set([name, ...layers[name].imports.filter((other) => declared[`@marin/${other}`])]);
  const problems = [];
  for (const path of listFiles(`${folder}/dist`).filter((file) => file.endsWith(".d.ts"))) {
    for (const { specifier, judged } of findReferences(path, readFileSync(join(repositoryRoot, path), "utf8"))) {
      const target = judged === "module" && specifier?.startsWith("@marin/") ? specifier.split("/")[1] : undefined;
      if (target !== undefined && !allowed.has(target)) {
        problems.push(
          `${path}  marin/declarations  @marin/${name} must not show @marin/${target} in its types ("${specifier}"). ` +
            `Annotate the exported function or value with a type that @marin/${name} may import.`,
        );
      }
    }
  }
  return problems;
}
