import { join } from "node:path";
import { ESLint } from "eslint";
import { beforeAll, describe, expect, it } from "vitest";
import { layers } from "../../layers.mjs";
import { repositoryRoot } from "../repository.mjs";
import { findDirectiveProblems } from "./directives.mjs";
import { judgeReference } from "./judge.mjs";
import { findReferences } from "./references.mjs";

/** Real lint of a source that lies nowhere, with the repository's own configuration; types are not needed to judge imports. */
let eslint;
beforeAll(() => {
  eslint = new ESLint({
    cwd: repositoryRoot,
    overrideConfig: [{ files: ["**/*.{ts,mts,cts,tsx}"], languageOptions: { parserOptions: { projectService: false, project: null } } }],
    ruleFilter: ({ ruleId }) => ruleId.startsWith("marin/") || ruleId.startsWith("boundaries/"),
  });
});

async function lint(file, text) {
  const [result] = await eslint.lintText(text, { filePath: join(repositoryRoot, file) });
  return result.messages.map(({ ruleId, message }) => ({ ruleId, message }));
}

/** Every form in which a module can name another, written for the specifier `to`. */
const forms = {
  import: (to) => `import { x } from "${to}"; console.log(x);`,
  "import for its effects": (to) => `import "${to}";`,
  "import default": (to) => `import x from "${to}"; console.log(x);`,
  "import namespace": (to) => `import * as x from "${to}"; console.log(x);`,
  "import type": (to) => `import type { X } from "${to}"; export type Y = X;`,
  "import with an inline type": (to) => `import { type X } from "${to}"; export type Y = X;`,
  "re-export": (to) => `export { x } from "${to}";`,
  "re-export of everything": (to) => `export * from "${to}";`,
  "re-export of a type": (to) => `export type { X } from "${to}";`,
  "inline import type": (to) => `export type Y = import("${to}").X;`,
  "typeof an inline import type": (to) => `export type Y = typeof import("${to}");`,
  "import = require": (to) => `import x = require("${to}"); console.log(x);`,
  require: (to) => `const x = require("${to}"); console.log(x);`,
  "createRequire under another name": (to) => `import { createRequire } from "node:module"; const load = createRequire(import.meta.url); load("${to}");`,
  "createRequire called at once": (to) => `import { createRequire } from "node:module"; createRequire(import.meta.url)("${to}");`,
  "require.resolve": (to) => `console.log(require.resolve("${to}"));`,
  "dynamic import": (to) => `await import("${to}");`,
  "dynamic import of a template": (to) => `await import(\`${to}\`);`,
  "import.meta.resolve": (to) => `import.meta.resolve("${to}");`,
  "vi.mock": (to) => `import { vi } from "vitest"; vi.mock("${to}");`,
  "vi.mock of an import": (to) => `import { vi } from "vitest"; vi.mock(import("${to}"));`,
  "vi.doMock": (to) => `import { vi } from "vitest"; vi.doMock("${to}");`,
  "vi.importActual": (to) => `import { vi } from "vitest"; await vi.importActual("${to}");`,
  "dynamic import of joined texts": (to) => `await import("${to.slice(0, 4)}" + ("${to.slice(4, 8)}" + \`${to.slice(8)}\`));`,
  "require of a template with texts": (to) => `require(\`\${"${to.slice(0, 5)}"}${to.slice(5)}\`);`,
  "import.meta.resolve of joined texts": (to) => `import.meta.resolve("${to.slice(0, 5)}" + "${to.slice(5)}");`,
  "createRequire under another name, of joined texts": (to) => `import { createRequire as make } from "node:module"; const load = make(import.meta.url); load("${to.slice(0, 5)}" + "${to.slice(5)}");`,
  "triple-slash types": (to) => `/// <reference types="${to}" />\nexport const x = 1;`,
  "augmented module": (to) => `declare module "${to}" { interface X { y: number } }\nexport {};`,
  "name in a variable": (to) => `export const name = "${to}";`,
};

describe("an import from zephyr to levanter", () => {
  for (const [form, write] of Object.entries(forms)) {
    it(`is refused as ${form}, naming rule, importer, target and what is allowed`, async () => {
      const messages = await lint("packages/zephyr/src/planted.test.ts", write("@marin/levanter"));
      const refusal = messages.find(({ ruleId }) => ruleId === "marin/layers");
      expect(refusal?.message).toMatch(/^@marin\/zephyr must not import @marin\/levanter \(.*\. @marin\/zephyr may import only @marin\/iris \(layers\.mjs\)\.$/);
    });
  }

  it("is refused by eslint-plugin-boundaries too, which goes by the resolved file", async () => {
    for (const form of ["import", "import type", "re-export", "dynamic import", "inline import type", "import = require", "require"]) {
      const messages = await lint("packages/marin/src/planted.ts", forms[form]("../../iris/src/index.js"));
      expect(messages.map(({ ruleId }) => ruleId), form).toContain("marin/layers");
      const upward = await lint("packages/iris/src/planted.ts", forms[form]("../../levanter/src/index.js"));
      expect(upward.map(({ ruleId }) => ruleId), form).toContain("boundaries/dependencies");
    }
  });
});

/** Specifiers that stand for each forbidden target of issue and architecture: [importer, specifier, target named]. */
const targets = [
  ["levanter", "@marin/rigging", "@marin/rigging"],
  ["levanter", "@marin/zephyr", "@marin/zephyr"],
  ["levanter", "@marin/dupekit", "@marin/dupekit"],
  ["levanter", "@marin/finestore", "@marin/finestore"],
  ["zephyr", "@marin/dupekit", "@marin/dupekit"],
  ["zephyr", "@marin/finestore", "@marin/finestore"],
  ["zephyr", "@marin/marin", "@marin/marin"],
  ["iris", "@marin/marin", "@marin/marin"],
  ["iris", "@marin/levanter", "@marin/levanter"],
  ["ducky", "@marin/rigging", "@marin/rigging"],
  ["iris", "@marin/experiments", "@marin/experiments"],
  ["iris", "@marin/no-such-package", "@marin/no-such-package"],
  ["zephyr", "../../levanter/src/index.js", "@marin/levanter"],
  ["zephyr", "../../../packages/levanter/src/index.js", "@marin/levanter"],
  ["zephyr", "@marin/levanter/src/trainer.js", "@marin/levanter"],
  ["zephyr", "@marin/iris/src/index.js", "@marin/iris"],
  ["zephyr", "@marin/iris/dist/index.js", "@marin/iris"],
  ["zephyr", "../../iris/src/index.js", "@marin/iris"],
  ["marin", "../../iris/src/index.js", "@marin/iris"],
  ["marin", "@marin/iris/src/job.js", "@marin/iris"],
  ["zephyr", join(repositoryRoot, "packages/levanter/src/index.ts").replaceAll("\\", "/"), "@marin/levanter"],
];

describe("every forbidden target in every form of a module specifier", () => {
  /** Forms whose text may be something else than a module: judged for the graph, not for what exists or is exported. */
  const textForms = ["augmented module", "name in a variable", "import.meta.resolve of joined texts", "createRequire under another name, of joined texts"];
  const specifierForms = Object.entries(forms).filter(([form]) => !textForms.includes(form));
  for (const [importer, specifier, target] of targets) {
    it(`${importer} to ${specifier.replace(repositoryRoot, "<root>")}`, () => {
      const path = join(repositoryRoot, `packages/${importer}/src/planted.test.ts`);
      for (const [form, write] of specifierForms) {
        const violations = findReferences(path, write(specifier)).map((reference) => judgeReference(path, reference)).filter((found) => found?.rule === "layers");
        expect(violations, form).not.toHaveLength(0);
        expect(violations[0], form).toMatchObject({ importer: `@marin/${importer}`, target });
        expect(violations[0].message).toContain(`@marin/${importer} must not`);
        expect(violations[0].message).toContain(target);
      }
    });
  }
});

describe("a path into another package", () => {
  const cases = {
    "new URL": 'new URL("../../levanter/src/index.ts", import.meta.url);',
    "new URL of joined texts": 'new URL("../../lev" + "anter/src/index.ts", import.meta.url);',
    "a worker's file": 'import { Worker } from "node:worker_threads"; new Worker("../../levanter/src/worker.ts");',
    "a path in a string": 'export const where = "../../levanter/src/index.ts";',
    "a path from the root in a string": 'export const where = "packages/levanter/src/index.ts";',
    "a triple-slash path": '/// <reference path="../../levanter/src/index.ts" />\nexport {};',
    "import.meta.glob": 'import.meta.glob("../../levanter/src/*.ts");',
  };
  for (const [form, text] of Object.entries(cases)) {
    it(`is refused as ${form}`, async () => {
      const messages = await lint("packages/zephyr/src/planted.ts", text);
      expect(messages.find(({ ruleId }) => ruleId === "marin/layers")?.message).toMatch(/@marin\/zephyr must not reach into @marin\/levanter/);
    });
  }

  it("is refused in a legal direction as well, pointing to the name", async () => {
    const [message] = await lint("packages/marin/src/planted.ts", 'import { x } from "../../iris/src/internal.js"; console.log(x);');
    expect(message?.message).toBe('@marin/marin must not reach into @marin/iris by a path (import "../../iris/src/internal.js"). Import "@marin/iris" by its name.');
  });

  it("is refused to files of the root and outside the repository", async () => {
    for (const specifier of ["../../../layers.mjs", "../../../tools/repository.mjs", "../../../../elsewhere.js", "../../../experiments/tutorials/first-lm.js"]) {
      const messages = await lint("packages/iris/src/planted.ts", `import "${specifier}";`);
      expect(messages.map(({ ruleId }) => ruleId), specifier).toContain("marin/layers");
    }
  });
});

describe("where it is planted does not matter", () => {
  const files = ["src/planted.ts", "src/planted.test.ts", "src/planted.slow.test.ts", "src/planted.mts", "src/planted.cts", "src/planted.tsx", "src/planted.mjs", "src/planted.js", "test/planted.ts", "scripts/planted.mjs", "planted.ts", "vitest.config.mjs", "planted.config.ts"];
  for (const file of files) {
    it(file, async () => {
      const messages = await lint(`packages/zephyr/${file}`, 'import { x } from "@marin/levanter"; console.log(x);');
      expect(messages.filter(({ ruleId }) => ruleId === "marin/layers")).toHaveLength(1);
    });
  }
  it("src/planted.cjs", async () => {
    const messages = await lint("packages/zephyr/src/planted.cjs", 'const x = require("@marin/levanter"); console.log(x);');
    expect(messages.filter(({ ruleId }) => ruleId === "marin/layers")).toHaveLength(1);
  });
  it("a JSDoc type in JavaScript", async () => {
    const messages = await lint("packages/zephyr/src/planted.mjs", '/** @type {import("@marin/levanter").X} */\nexport const x = 1;');
    expect(messages.filter(({ ruleId }) => ruleId === "marin/layers")).toHaveLength(1);
  });
});

describe("a computed module", () => {
  for (const text of ['await import("@marin/" + process.argv[2]);', "const name = `@marin/${process.argv[2]}`; await import(name);", "await import(`../../${process.argv[2]}/src/index.js`);", "require(process.argv[2]);"]) {
    it(`is refused: ${text}`, async () => {
      const messages = await lint("packages/zephyr/src/planted.ts", text);
      expect(messages.find(({ ruleId }) => ruleId === "marin/computed-import")?.message).toMatch(/^@marin\/zephyr must not load a module whose name is computed/);
    });
  }
  it("passes with a reason, and not without", async () => {
    const load = "await import(process.argv[2]);";
    expect(await lint("packages/zephyr/src/planted.ts", `// eslint-disable-next-line marin/computed-import -- the user names the module\n${load}`)).toEqual([]);
    expect(await lint("packages/zephyr/src/planted.ts", `// eslint-disable-next-line marin/computed-import\n${load}`)).toMatchObject([{ ruleId: "marin/justified-disable" }]);
  });
});

describe("what is declared", () => {
  it("an allowed package that package.json does not name is refused", async () => {
    // The graph lets iris import ducky; the judge reads the manifests of the root it is given.
    const path = join(repositoryRoot, "nowhere/packages/iris/src/planted.ts");
    const [reference] = findReferences(path, 'import { x } from "@marin/ducky";');
    expect(judgeReference(path, reference, join(repositoryRoot, "nowhere"))).toMatchObject({
      rule: "declared",
      importer: "@marin/iris",
      target: "@marin/ducky",
      message: expect.stringContaining('Add "@marin/ducky": "workspace:*" to the dependencies in'),
    });
  });
  it("an npm package that package.json does not name is refused, even where the root has it", async () => {
    const messages = await lint("packages/zephyr/src/planted.ts", 'import ts from "typescript"; console.log(ts);');
    expect(messages).toMatchObject([{ ruleId: "marin/declared", message: expect.stringContaining("@marin/zephyr imports typescript") }]);
  });
});

describe("a comment cannot switch the graph off", () => {
  for (const comment of ["/* eslint-disable */", "/* eslint-disable marin/layers -- because */", "// eslint-disable-next-line boundaries/dependencies -- because", "/* eslint-disable marin/justified-disable, marin/layers -- because */", "/* eslint marin/layers: 0 */"]) {
    it(comment, () => {
      expect(findDirectiveProblems("planted.ts", `${comment}\nimport "@marin/levanter";`)).toHaveLength(1);
    });
  }
});

it("comments written inside strings are strings", () => {
  expect(findDirectiveProblems("planted.ts", 'export const text = "/* eslint-disable */";')).toEqual([]);
});

describe("legal code passes", () => {
  it("every import that layers.mjs allows and package.json declares, in the usual forms", async () => {
    for (const form of ["import", "import type", "re-export", "inline import type", "dynamic import"]) {
      expect(await lint("packages/levanter/src/planted.ts", forms[form]("@marin/iris")), form).toEqual([]);
      for (const name of Object.keys(layers).filter((other) => other !== "marin")) {
        expect(await lint("packages/marin/src/planted.ts", forms[form](`@marin/${name}`)), `${form} ${name}`).toEqual([]);
      }
    }
  });
  it("own files, node's modules, declared packages, tools in tests, words that only look alike", async () => {
    const text = [
      'import { readFile } from "node:fs/promises";',
      'import { z } from "zod";',
      'import { it } from "vitest";',
      'import { x } from "./engine/types.js";',
      'import { y } from "../test/fixtures.js";',
      'console.log(readFile, z, it, x, y, new URL("../test/reference/ops.json", import.meta.url));',
      'throw new Error("Start the job with @marin/marin, or see packages/marin/README.md.");',
      "/** See `@marin/marin` and import { Experiment } from \"@marin/marin\". */",
      'export const key = Symbol.for("@marin/levanter/context");',
    ].join("\n");
    expect(await lint("packages/levanter/src/planted.test.ts", text)).toEqual([]);
  });
  it("a package's own configuration reads the root's", async () => {
    expect(await lint("packages/levanter/vitest.config.mjs", 'export { default } from "../../vitest.config.mjs";')).toEqual([]);
  });
});
