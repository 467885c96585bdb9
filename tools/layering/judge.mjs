import { builtinModules } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { layers } from "../../layers.mjs";
import { ownerOf, repositoryRoot } from "../repository.mjs";

const scope = "@marin/";
const builtins = new Set(builtinModules);
const testFile = /\.(?:test|test-d|bench)\.[cm]?[jt]sx?$|(?:^|\/)test\/|^[^/]+\.config\.[cm]?[jt]s$/;

/** Packages that an owner may import, by their short names. */
export function allowedImports(owner) {
  if (owner.kind === "package") {
    return layers[owner.name]?.imports ?? [];
  }
  return owner.kind === "leaf" ? Object.keys(layers) : [];
}

/**
 * Judges one reference found in the file at `path` (absolute). Returns `undefined` when it is fine, else
 * `{ rule, message, importer, target }`; the message names importer, target and what would be right.
 * `root` is the folder that holds `packages/`.
 */
export function judgeReference(path, reference, root = repositoryRoot) {
  const pathFromRoot = toSlashes(relative(root, path));
  const importer = ownerOf(pathFromRoot);
  if (importer === undefined) {
    return undefined;
  }
  const { form, specifier, judged } = reference;
  if (specifier === undefined) {
    const known = reference.folded === undefined ? undefined : judgeReference(path, { ...reference, specifier: reference.folded }, root);
    return known ?? violation("computed-import", importer, `the module that ${reference.text} names`, {
      problem: `must not load a module whose name is computed (${form} of ${reference.text})`,
      right: "Write the specifier as a literal, so that the package graph can be checked; where a name truly comes from outside, disable this rule for the line and say why",
    });
  }
  if (specifier.startsWith(scope)) {
    return judgeName(importer, pathFromRoot, reference, root);
  }
  if (/^(?:\.{1,2}(?:\/|$)|\/|file:)/.test(specifier)) {
    return judgePath(importer, path, reference, root);
  }
  if (judged === "module") {
    return judgeExternal(importer, pathFromRoot, reference, root);
  }
  const inside = /(?:^|\/)packages\/([a-z0-9-]+)\/(?:src|dist)(?:\/|$)/.exec(specifier);
  if (inside && importer.kind !== "root" && layers[inside[1]] && inside[1] !== importer.name) {
    return pathViolation(importer, inside[1], form, specifier);
  }
  return undefined;
}

function judgeName(importer, pathFromRoot, { form, specifier, judged }, root) {
  const [name, ...rest] = specifier.slice(scope.length).split("/");
  const subpath = rest.join("/");
  const target = `${scope}${name}`;
  const known = layers[name] !== undefined;
  if (judged === "text" && (importer.kind !== "package" || !known)) {
    return undefined;
  }
  if (name !== importer.name || importer.kind !== "package") {
    if (!known) {
      return violation("layers", importer, target, {
        problem: `must not import ${target} (${form} "${specifier}"): layers.mjs has no such package`,
        right: allowedText(importer),
      });
    }
    if (!allowedImports(importer).includes(name)) {
      return violation("layers", importer, target, {
        problem: `must not import ${target} (${form} "${specifier}")`,
        right: allowedText(importer),
      });
    }
  }
  if (judged === "text") {
    return undefined;
  }
  if (subpath !== "" && !isExported(root, name, subpath)) {
    return violation("layers", importer, target, {
      problem: `must not reach into ${target} by a deep path (${form} "${specifier}")`,
      right: `Import "${target}" and, where something is missing, export it from packages/${name}/src/index.ts`,
    });
  }
  if (name === importer.name && importer.kind === "package") {
    return undefined;
  }
  return isDeclared(root, importer, target, testFile.test(inOwner(importer, pathFromRoot)))
    ? undefined
    : violation("declared", importer, target, {
        problem: `imports ${target} (${form} "${specifier}") without declaring it`,
        right: `Add "${target}": "workspace:*" to the dependencies in ${join(importer.folder, "package.json")}`,
      });
}

function judgePath(importer, path, { form, specifier, judged }, root) {
  const local = specifier.startsWith("file:") ? safeFileUrl(specifier) : specifier;
  if (local === undefined) {
    return undefined;
  }
  const targetPath = toSlashes(relative(root, resolve(dirname(path), local)));
  const target = ownerOf(targetPath);
  if (target !== undefined && target.folder === importer.folder) {
    return undefined;
  }
  if (judged === "text") {
    return importer.kind !== "root" && target?.kind === "package" && layers[target.name] ? pathViolation(importer, target.name, form, specifier) : undefined;
  }
  if (target?.kind === "package") {
    return pathViolation(importer, target.name, form, specifier);
  }
  const isOwnConfig = /^[^/]+\.config\.[cm]?[jt]s$/.test(inOwner(importer, toSlashes(relative(root, path))));
  if (target?.kind === "root" && isOwnConfig) {
    return undefined;
  }
  const name = target ? (target.kind === "root" ? `the root's ${targetPath}` : target.name) : `"${specifier}", outside the repository`;
  return violation("layers", importer, name, {
    problem: `must not import ${name} by a path that leaves its folder (${form} "${specifier}")`,
    right: allowedText(importer),
  });
}

function judgeExternal(importer, pathFromRoot, { form, specifier, typeOnly }, root) {
  const name = specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : specifier.split("/")[0];
  if (specifier.startsWith("node:") || specifier.startsWith("data:") || builtins.has(name) || importer.kind === "root" || name.startsWith("#")) {
    return undefined;
  }
  const isTest = testFile.test(inOwner(importer, pathFromRoot));
  if (isDeclared(root, importer, name, isTest) || (isTest && isDeclared(root, { folder: "." }, name, true))) {
    return undefined;
  }
  if (typeOnly && isDeclared(root, importer, name, true)) {
    return undefined;
  }
  return violation("declared", importer, name, {
    problem: `imports ${name} (${form} "${specifier}") without declaring it`,
    right: `Add it to ${join(importer.folder, "package.json")}: to the dependencies with an exact version, or to the optional peerDependencies where the user installs it`,
  });
}

function pathViolation(importer, targetName, form, specifier) {
  const target = `${scope}${targetName}`;
  const byName = allowedImports(importer).includes(targetName);
  return violation("layers", importer, target, {
    problem: `must not reach into ${target} by a path (${form} "${specifier}")`,
    right: byName ? `Import "${target}" by its name` : allowedText(importer),
  });
}

function allowedText(importer) {
  const names = allowedImports(importer).map((name) => scope + name);
  const who = importer.kind === "package" ? scope + importer.name : importer.name;
  return names.length === 0 ? `${who} may import no other package (layers.mjs)` : `${who} may import only ${names.join(", ")} (layers.mjs)`;
}

function violation(rule, importer, target, { problem, right }) {
  const who = importer.kind === "package" ? scope + importer.name : importer.name;
  return { rule, importer: who, target, message: `${who} ${problem}. ${right}.` };
}

function manifest(root, folder) {
  const path = join(root, folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

function isDeclared(root, importer, name, includeDevelopment) {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest(root, importer.folder);
  return [dependencies, peerDependencies, optionalDependencies, includeDevelopment ? devDependencies : undefined].some((section) => section?.[name] !== undefined);
}

function isExported(root, name, subpath) {
  return manifest(root, `packages/${name}`).exports?.[`./${subpath}`] !== undefined;
}

function inOwner(importer, pathFromRoot) {
  return importer.folder === "" ? pathFromRoot : pathFromRoot.slice(importer.folder.length + 1);
}

function safeFileUrl(specifier) {
  try {
    return fileURLToPath(specifier);
  } catch {
    return undefined;
  }
}

function toSlashes(path) {
  return path.split(sep).join("/");
}
