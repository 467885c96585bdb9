import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { repositoryRoot } from "./repository.mjs";

// Two checks, each a process that parses the whole repository: a second on a free machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A copy of the repository's own files, in which `node tools/check.mjs` runs for real. */
let copy;
/** The problems that appear with the faults below, all planted at once: each check parses the whole repository. */
let problems;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "marin-check-"));
  const skipped = new Set(["node_modules", "dist", ".turbo", ".git", ".marin", "coverage"]);
  cpSync(repositoryRoot, copy, { recursive: true, filter: (source) => !skipped.has(basename(source)) });
  symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"), "junction");
  const clean = new Set(check());
  for (const [file, change] of Object.entries(faults)) {
    const path = join(copy, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, change(existsSync(path) ? readFileSync(path, "utf8") : ""));
  }
  problems = check().filter((line) => !clean.has(line));
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** The lines that the check prints for what is wrong. */
function check() {
  const { stderr, status } = spawnSync(process.execPath, [join(copy, "tools/check.mjs")], { encoding: "utf8" });
  const lines = stderr.split("\n").filter(Boolean);
  expect(status).toBe(lines.length === 0 ? 0 : 1);
  return lines;
}

const editJson = (edit) => (text) => {
  const value = JSON.parse(text);
  edit(value);
  return JSON.stringify(value, null, 2);
};

/** What is done to a manifest, and what the check says to it. */
const manifestFaults = [
  ["a dependency upward", (m) => (m.dependencies["@marin/levanter"] = "workspace:*"), "marin/layers  @marin/zephyr must not depend on @marin/levanter (dependencies). @marin/zephyr may depend only on @marin/iris (layers.mjs)"],
  ["a development dependency upward", (m) => (m.devDependencies = { "@marin/marin": "workspace:*" }), "marin/layers  @marin/zephyr must not depend on @marin/marin (devDependencies)"],
  ["a package under another name", (m) => (m.dependencies.lev = "workspace:@marin/levanter@*"), "marin/exact-version  dependencies must pin lev exactly"],
  ["a folder as a dependency", (m) => (m.dependencies.lever = "link:../levanter"), "marin/exact-version  dependencies must pin lever exactly"],
  ["a range", (m) => (m.dependencies.zod = "^4.6.7"), 'marin/exact-version  dependencies must pin zod exactly ("1.2.3"), not "^4.6.7"'],
  ["an import map", (m) => (m.imports = { "#lev": "../levanter/src/index.ts" }), 'marin/manifest  "imports" would hide where a module comes from'],
  ["an install script", (m) => (m.scripts.postinstall = "node x.js"), "marin/install-script"],
  ["no source condition", (m) => delete m.exports["."]["@marin/source"], 'marin/manifest  "exports" "." must be'],
  ["another name", (m) => (m.name = "zephyr"), 'marin/manifest  "name" must be "@marin/zephyr"'],
  ["another licence", (m) => (m.license = "MIT"), 'marin/manifest  "license" must be "Apache-2.0"'],
  ["a missing script", (m) => delete m.scripts.lint, 'marin/manifest  the script "lint" is missing'],
];

/** What each file becomes, from what it held (nothing where there is none). */
const faults = {
  "packages/zephyr/src/planted.ts": () => '/* eslint-disable */\nimport type { X } from "@marin/levanter";\nexport type Y = X;\n',
  "packages/levanter/package.json": editJson((manifest) => delete manifest.dependencies["@marin/iris"]),
  "packages/zephyr/package.json": editJson((manifest) => manifestFaults.forEach(([, edit]) => edit(manifest))),
  "packages/zephyr/eslint.config.mjs": () => "export default [];\n",
  "packages/zephyr/src/BadName.ts": () => "export const x = 1;\n",
  "packages/zephyr/tsconfig.paths.json": () => '{ "compilerOptions": { "paths": { "lev": ["../levanter/src/index.ts"] } } }\n',
  "docs/planted.md": () => "See [nothing](nowhere.md).\n\n<!-- ../layers.mjs -->\n```js\nexport const layers = {};\n```\n",
  "packages/extra/package.json": () => '{ "name": "@marin/extra" }\n',
  "package.json": editJson((manifest) => (manifest.devDependencies["@marin/levanter"] = "workspace:*")),
  "layers.mjs": (text) => text.replace('floor: 3, imports: ["fray"', 'floor: 3, imports: ["levanter", "fray"'),
};

describe("an import planted in a source file", () => {
  it("is named with rule, file, importer, target and what is allowed, even under a disabling comment", () => {
    expect(problems.filter((line) => line.startsWith("packages/zephyr/src/planted.ts"))).toEqual([
      'packages/zephyr/src/planted.ts:2:24  marin/layers  @marin/zephyr must not import @marin/levanter (import type "@marin/levanter"). @marin/zephyr may import only @marin/iris (layers.mjs).',
      "packages/zephyr/src/planted.ts:1:1  marin/justified-disable  Name the rules that this comment disables.",
    ]);
  });

  it("is refused without a dependency in package.json", () => {
    const ofLevanter = problems.filter((line) => line.startsWith("packages/levanter/src/"));
    expect(ofLevanter[0]).toMatch(/^packages\/levanter\/src\/.* {2}marin\/declared {2}@marin\/levanter imports @marin\/iris .*without declaring it\. Add "@marin\/iris": "workspace:\*" to the dependencies in/);
  });
});

describe("a manifest", () => {
  it.each(manifestFaults)("with %s is refused", (what, edit, message) => {
    expect(problems.join("\n")).toContain(`packages/zephyr/package.json  ${message}`);
  });
});

describe("the layout", () => {
  it.each([
    "packages/zephyr/eslint.config.mjs  marin/layout  a second eslint configuration",
    "packages/zephyr/src/BadName.ts  marin/layout  code files are named in kebab-case",
    "packages/zephyr/tsconfig.paths.json  marin/layers  paths, baseUrl, rootDirs and references can reach into other packages",
    'docs/planted.md  marin/links  "nowhere.md" leads nowhere',
    "docs/planted.md  marin/links  the block after <!-- ../layers.mjs --> is not what the file holds",
    "packages/extra  marin/layers  layers.mjs does not know extra",
    "package.json  marin/layers  the root must not depend on @marin/levanter",
  ])("is refused: %s", (message) => expect(problems.join("\n")).toContain(message));
});

describe("layers.mjs", () => {
  it("is refused with an import that goes up, and the README's picture no longer fits", () => {
    expect(problems).toContain("layers.mjs  marin/layers  iris (floor 3) must not import levanter (floor 4): imports go down only");
    expect(problems).toContain("README.md  marin/readme  the picture of the package graph differs from layers.mjs: run `pnpm readme`");
  });
});
