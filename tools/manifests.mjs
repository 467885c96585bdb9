import { existsSync, lstatSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { layers } from "../layers.mjs";
import { isCode, leaves, listFiles, readManifest, repositoryRoot, workspaceFolders } from "./repository.mjs";

const exactVersion = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;
const dependencySections = ["dependencies", "devDependencies", "optionalDependencies"];
const installScripts = ["preinstall", "install", "postinstall", "prepare"];
const engines = ">=20.19";
const license = "Apache-2.0";

/** Everything that a package.json, a tsconfig.json or the layout of the repository can get wrong, as lines for people. */
export function findManifestProblems() {
  const problems = [];
  const report = (file, rule, message) => problems.push(`${file}  marin/${rule}  ${message}`);
  const folders = workspaceFolders();
  for (const folder of folders) {
    checkMember(folder, readManifest(folder), report);
  }
  checkRoot(readManifest("."), report);
  checkLayers(folders, report);
  checkLayout(report);
  return problems;
}

function checkMember(folder, manifest, report) {
  const file = `${folder}/package.json`;
  const short = folder.startsWith("packages/") ? folder.slice("packages/".length) : undefined;
  const name = `@marin/${short ?? folder}`;
  const expect = (condition, message) => condition || report(file, "manifest", message);
  expect(manifest.name === name, `"name" must be "${name}", the folder's`);
  expect(manifest.license === license, `"license" must be "${license}"`);
  expect(manifest.type === "module", `"type" must be "module"`);
  expect(manifest.imports === undefined, `"imports" would hide where a module comes from; import by package name or relative path`);
  checkVersions(file, manifest, report);
  checkInstallScripts(file, manifest, report);
  checkWorkspaceDependencies(file, name, short, manifest, report);
  for (const script of short ? ["build", "typecheck", "lint", "test", "test:slow", "test:soak"] : ["typecheck", "lint", ...testScripts(folder)]) {
    expect(manifest.scripts?.[script] !== undefined, `the script "${script}" is missing: \`pnpm ${script}\` would pass over ${name}`);
  }
  if (short === undefined) {
    expect(manifest.private === true, `"private" must be true`);
    return;
  }
  expect(manifest.engines?.node === engines, `"engines.node" must be "${engines}"`);
  expect(manifest.description === layers[short]?.purpose, `"description" must be the purpose in layers.mjs: "${layers[short]?.purpose}"`);
  expect(manifest.exports?.["."] !== undefined, `"exports" must offer "."`);
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    const source = target["@marin/source"];
    const built = typeof source === "string" ? source.replace(/^\.\/src\/(.*)\.ts$/, "./dist/$1") : "";
    const right = Object.keys(target)[0] === "@marin/source" && target.types === `${built}.d.ts` && target.default === `${built}.js`;
    expect(right, `"exports" "${subpath}" must be { "@marin/source": "./src/….ts", "types": "./dist/….d.ts", "default": "./dist/….js" }, in this order`);
    expect(typeof source === "string" && existsSync(join(repositoryRoot, folder, source)), `"exports" "${subpath}" names a source that does not exist`);
  }
  for (const required of ["README.md", "tsconfig.json", "tsconfig.build.json", "vitest.config.mjs"]) {
    expect(existsSync(join(repositoryRoot, folder, required)), `${folder}/${required} is missing`);
  }
}

/** The scripts that the tests found in a folder ask for. */
function testScripts(folder) {
  const kinds = listFiles(folder).map((file) => /(?:\.(slow|soak))?\.test\.[cm]?[jt]s$/.exec(file));
  return [...new Set(kinds.filter(Boolean).map(([, kind]) => (kind ? `test:${kind}` : "test")))];
}

function checkVersions(file, manifest, report) {
  for (const section of dependencySections) {
    for (const [name, version] of Object.entries(manifest[section] ?? {})) {
      const fine = name.startsWith("@marin/") ? version === "workspace:*" : exactVersion.test(version);
      if (!fine) {
        report(file, "exact-version", `${section} must pin ${name} exactly (${name.startsWith("@marin/") ? '"workspace:*"' : '"1.2.3"'}), not "${version}"`);
      }
    }
  }
}

function checkInstallScripts(file, manifest, report) {
  for (const script of installScripts) {
    if (manifest.scripts?.[script] !== undefined) {
      report(file, "install-script", `"${script}" would run code on every machine that installs; nothing here needs it`);
    }
  }
}

function checkWorkspaceDependencies(file, name, short, manifest, report) {
  const allowed = short ? (layers[short]?.imports ?? []) : Object.keys(layers);
  for (const section of [...dependencySections, "peerDependencies"]) {
    for (const target of Object.keys(manifest[section] ?? {}).filter((dependency) => dependency.startsWith("@marin/"))) {
      if (!allowed.includes(target.slice("@marin/".length))) {
        const only = allowed.length > 0 ? `may depend only on ${allowed.map((other) => `@marin/${other}`).join(", ")}` : "may depend on no other package";
        report(file, "layers", `${name} must not depend on ${target} (${section}). ${name} ${only} (layers.mjs)`);
      }
    }
  }
}

function checkRoot(manifest, report) {
  const expect = (condition, message) => condition || report("package.json", "manifest", message);
  expect(manifest.private === true, `"private" must be true`);
  expect(manifest.license === license && manifest.engines?.node === engines, `"license" must be "${license}" and "engines.node" "${engines}"`);
  expect(manifest.dependencies === undefined, `the root has development tools only; what a package needs stands in its own package.json`);
  checkVersions("package.json", manifest, report);
  checkInstallScripts("package.json", manifest, report);
  for (const name of Object.keys(manifest.devDependencies ?? {}).filter((dependency) => dependency.startsWith("@marin/"))) {
    report("package.json", "layers", `the root must not depend on ${name}: every package could then import it undeclared`);
  }
}

function checkLayers(folders, report) {
  const names = folders.filter((folder) => folder.startsWith("packages/")).map((folder) => folder.slice("packages/".length));
  for (const folder of readdirSync(join(repositoryRoot, "packages"))) {
    if (layers[folder] === undefined && lstatSync(join(repositoryRoot, "packages", folder)).isDirectory()) {
      report(`packages/${folder}`, "layers", `layers.mjs does not know ${folder}`);
    }
  }
  for (const [name, { floor, imports }] of Object.entries(layers)) {
    if (!names.includes(name)) {
      report("layers.mjs", "layers", `packages/${name}/package.json does not exist`);
    }
    for (const other of imports) {
      if (!(layers[other]?.floor < floor)) {
        report("layers.mjs", "layers", `${name} (floor ${floor}) must not import ${other} (floor ${layers[other]?.floor}): imports go down only`);
      }
    }
  }
}

/** What the rules rely on: one eslint configuration, no aliases, no links, one naming of files. */
function checkLayout(report) {
  for (const required of ["packages", "experiments", "infra", "docs", "turbo.json", "pnpm-workspace.yaml", "tsconfig.base.json", "README.md", "LICENSE", "CONTRIBUTING.md"]) {
    if (!existsSync(join(repositoryRoot, required))) {
      report(required, "layout", "is missing from the root");
    }
  }
  for (const file of ["packages", ...leaves].flatMap((folder) => listFiles(folder))) {
    const base = file.slice(file.lastIndexOf("/") + 1);
    if (/^(?:\.eslintrc.*|eslint\.config\..*)$/.test(base)) {
      report(file, "layout", "a second eslint configuration would replace the root's for this folder");
    }
    if (lstatSync(join(repositoryRoot, file)).isSymbolicLink()) {
      report(file, "layout", "a symbolic link can lead into another package unseen");
    }
    if (isCode(base) && !/^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(base)) {
      report(file, "layout", "code files are named in kebab-case");
    }
    if (/^tsconfig.*\.json$/.test(base) && /"(?:paths|baseUrl|references|rootDirs)"/.test(readFileSync(join(repositoryRoot, file), "utf8"))) {
      report(file, "layers", "paths, baseUrl, rootDirs and references can reach into other packages; import packages by name");
    }
  }
}
