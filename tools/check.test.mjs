import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { repositoryRoot } from "./repository.mjs";

// Each check is a process that parses the whole repository: a second on a free machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A copy of the repository's own files, in which `node tools/check.mjs` runs for real. */
let copy;
let clean;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "marin-check-"));
  const skipped = new Set(["node_modules", "dist", ".turbo", ".git", ".marin", "coverage"]);
  cpSync(repositoryRoot, copy, { recursive: true, filter: (source) => !skipped.has(basename(source)) });
  symlinkSync(join(repositoryRoot, "node_modules"), join(copy, "node_modules"), "junction");
  clean = new Set(check());
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** The lines that the check prints for what is wrong. */
function check() {
  const { stderr, status } = spawnSync(process.execPath, [join(copy, "tools/check.mjs")], { encoding: "utf8" });
  const lines = stderr.split("\n").filter(Boolean);
  expect(status).toBe(lines.length === 0 ? 0 : 1);
  return lines;
}

/** Problems that appear when files have the content that their function makes of the present one (empty where there is none). */
function plantAll(changes) {
  const before = Object.keys(changes).map((path) => [join(copy, path), existsSync(join(copy, path)) ? readFileSync(join(copy, path), "utf8") : undefined]);
  try {
    Object.values(changes).forEach((change, index) => {
      const [path, text] = before[index];
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, change(text ?? ""));
    });
    return check().filter((line) => !clean.has(line));
  } finally {
    for (const [path, text] of before) {
      if (text === undefined) {
        rmSync(path);
      } else {
        writeFileSync(path, text);
      }
    }
  }
}

function plant(path, change) {
  return plantAll({ [path]: change });
}

const editJson = (edit) => (text) => {
  const value = JSON.parse(text);
  edit(value);
  return JSON.stringify(value, null, 2);
};

describe("an import planted in a source file", () => {
  it("is named with rule, file, importer, target and what is allowed, even under a disabling comment", () => {
    const problems = plant("packages/zephyr/src/planted.ts", () => '/* eslint-disable */\nimport type { X } from "@marin/levanter";\nexport type Y = X;\n');
    expect(problems).toEqual([
      'packages/zephyr/src/planted.ts:2:24  marin/layers  @marin/zephyr must not import @marin/levanter (import type "@marin/levanter"). @marin/zephyr may import only @marin/iris (layers.mjs).',
      "packages/zephyr/src/planted.ts:1:1  marin/justified-disable  Name the rules that this comment disables.",
    ]);
  });

  it("is refused without a dependency in package.json", () => {
    const problems = plant("packages/levanter/package.json", editJson((manifest) => delete manifest.dependencies["@marin/iris"]));
    expect(problems[0]).toMatch(/^packages\/levanter\/src\/.* {2}marin\/declared {2}@marin\/levanter imports @marin\/iris .*without declaring it\. Add "@marin\/iris": "workspace:\*" to the dependencies in/);
  });
});

describe("a manifest", () => {
  const file = "packages/zephyr/package.json";
  const cases = [
    ["a dependency upward", (m) => (m.dependencies["@marin/levanter"] = "workspace:*"), "marin/layers  @marin/zephyr must not depend on @marin/levanter (dependencies). @marin/zephyr may depend only on @marin/iris (layers.mjs)"],
    ["a development dependency upward", (m) => (m.devDependencies = { "@marin/marin": "workspace:*" }), "marin/layers  @marin/zephyr must not depend on @marin/marin (devDependencies)"],
    ["a package under another name", (m) => (m.dependencies.lev = "workspace:@marin/levanter@*"), "marin/exact-version  dependencies must pin lev exactly"],
    ["a folder as a dependency", (m) => (m.dependencies.lev = "link:../levanter"), "marin/exact-version  dependencies must pin lev exactly"],
    ["a range", (m) => (m.dependencies.zod = "^4.6.7"), 'marin/exact-version  dependencies must pin zod exactly ("1.2.3"), not "^4.6.7"'],
    ["an import map", (m) => (m.imports = { "#lev": "../levanter/src/index.ts" }), 'marin/manifest  "imports" would hide where a module comes from'],
    ["an install script", (m) => (m.scripts.postinstall = "node x.js"), "marin/install-script"],
    ["no source condition", (m) => delete m.exports["."]["@marin/source"], 'marin/manifest  "exports" "." must be'],
    ["another name", (m) => (m.name = "zephyr"), 'marin/manifest  "name" must be "@marin/zephyr"'],
    ["another licence", (m) => (m.license = "MIT"), 'marin/manifest  "license" must be "Apache-2.0"'],
    ["a missing script", (m) => delete m.scripts.lint, 'marin/manifest  the script "lint" is missing'],
  ];
  it("is refused with each of these faults, all named at once", () => {
    const problems = plant(file, editJson((manifest) => cases.forEach(([, edit]) => edit(manifest)))).join("\n");
    for (const [what, , message] of cases) {
      expect(problems, what).toContain(`${file}  ${message}`);
    }
  });
});

describe("the layout", () => {
  it("is refused with each of these files, all named at once", () => {
    const problems = plantAll({
      "packages/zephyr/eslint.config.mjs": () => "export default [];\n",
      "packages/zephyr/src/BadName.ts": () => "export const x = 1;\n",
      "packages/zephyr/tsconfig.paths.json": () => '{ "compilerOptions": { "paths": { "lev": ["../levanter/src/index.ts"] } } }\n',
      "docs/planted.md": () => "See [nothing](nowhere.md).\n\n<!-- ../layers.mjs -->\n```js\nexport const layers = {};\n```\n",
      "packages/extra/package.json": () => '{ "name": "@marin/extra" }\n',
      "package.json": editJson((manifest) => (manifest.devDependencies["@marin/levanter"] = "workspace:*")),
    }).join("\n");
    expect(problems).toContain("packages/zephyr/eslint.config.mjs  marin/layout  a second eslint configuration");
    expect(problems).toContain("packages/zephyr/src/BadName.ts  marin/layout  code files are named in kebab-case");
    expect(problems).toContain("packages/zephyr/tsconfig.paths.json  marin/layers  paths, baseUrl, rootDirs and references can reach into other packages");
    expect(problems).toContain('docs/planted.md  marin/links  "nowhere.md" leads nowhere');
    expect(problems).toContain("docs/planted.md  marin/links  the block after <!-- ../layers.mjs --> is not what the file holds");
    expect(problems).toContain("packages/extra  marin/layers  layers.mjs does not know extra");
    expect(problems).toContain("package.json  marin/layers  the root must not depend on @marin/levanter");
  });
});

describe("layers.mjs", () => {
  it("is refused with an import that goes up, and the README's picture no longer fits", () => {
    const problems = plant("layers.mjs", (text) => text.replace('floor: 3, imports: ["fray"', 'floor: 3, imports: ["levanter", "fray"'));
    expect(problems).toContain("layers.mjs  marin/layers  iris (floor 3) must not import levanter (floor 4): imports go down only");
    expect(problems).toContain("README.md  marin/readme  the picture of the package graph differs from layers.mjs: run `pnpm readme`");
  });
});
