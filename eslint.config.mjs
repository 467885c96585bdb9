import { fileURLToPath } from "node:url";
import js from "@eslint/js";
import boundaries from "eslint-plugin-boundaries";
import tseslint from "typescript-eslint";
import { layers } from "./layers.mjs";
import marin from "./tools/eslint-rules/index.mjs";
import { leaves } from "./tools/repository.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));
const packageNames = Object.keys(layers);
const allCode = "**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}";
const tests = ["**/*.test.{ts,mts,mjs}", "**/test/**"];

/** The graph of layers.mjs as policies of eslint-plugin-boundaries. Whatever no policy allows is refused. */
const policies = [
  ...packageNames.map((name) => ({
    from: { element: { type: name } },
    allow: { to: { element: { types: { anyOf: [name, ...layers[name].imports] } } } },
  })),
  ...leaves.map((name) => ({
    from: { element: { type: name } },
    allow: { to: { element: { types: { anyOf: [name, ...packageNames] } } } },
  })),
  { allow: { to: { module: { origin: ["external", "core"] } } } },
];

export default tseslint.config(
  // packages/dupekit/assembly is AssemblyScript, which its own compiler checks.
  { ignores: ["packages/dupekit/assembly/", "**/node_modules/", "**/dist/", "**/coverage/", "**/.turbo/", "**/.marin/", "**/.iris/", "**/.examples/", "docs/generated/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    files: [allCode],
    plugins: { marin, boundaries },
    settings: {
      "boundaries/root-path": root,
      "boundaries/elements": [
        ...packageNames.map((name) => ({ type: name, pattern: `packages/${name}` })),
        ...leaves.map((name) => ({ type: name, pattern: name })),
      ],
      "boundaries/dependency-nodes": ["require", "import", "dynamic-import", "export"],
      "boundaries/additional-dependency-nodes": [
        { name: "vi.mock", kind: "value", selector: "CallExpression[callee.object.name=vi][callee.property.name=/^(mock|doMock|unmock|doUnmock|importActual|importMock)$/] > Literal" },
        { name: "new URL", kind: "value", selector: "NewExpression[callee.name=URL] > Literal" },
        { name: "import.meta.resolve", kind: "value", selector: "CallExpression[callee.object.type=MetaProperty][callee.property.name=resolve] > Literal" },
        { name: "inline import type", kind: "type", selector: "TSImportType Literal" },
        { name: "import = require", kind: "value", selector: "TSExternalModuleReference > Literal" },
      ],
      "import/resolver": {
        typescript: { project: `${root}tsconfig.base.json`, noWarnOnMultipleProjects: true, conditionNames: ["@marin/source", "types", "import", "require", "node", "default"] },
      },
    },
    rules: {
      "marin/layers": "error",
      "marin/declared": "error",
      "marin/computed-import": "error",
      "marin/justified-disable": "error",
      "boundaries/dependencies": ["error", { default: "disallow", policies }],
      "max-lines": ["error", 500],
      "no-loss-of-precision": "off",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-warning-comments": ["error", { terms: ["todo", "fixme", "xxx", "hack"], location: "start" }],
    },
  },
  {
    files: ["**/*.{ts,mts,cts,tsx}"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/prefer-promise-reject-errors": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/no-unnecessary-type-assertion": "off",
      "no-restricted-syntax": ["error", { selector: "ExportAllDeclaration", message: "Export by name: what a package offers is a decision." }],
    },
  },
  {
    files: ["packages/*/src/**/*.ts"],
    ignores: [...tests, "packages/marin/src/cli/**"],
    rules: {
      "no-console": "error",
      "no-restricted-syntax": [
        "error",
        { selector: "ExportAllDeclaration", message: "Export by name: what a package offers is a decision." },
        { selector: "ExportDefaultDeclaration", message: "Export by name." },
      ],
    },
  },
  {
    files: tests,
    rules: {
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/unbound-method": "off",
      "no-restricted-properties": [
        "error",
        ...["it", "test", "describe"].flatMap((object) => ["only", "skip", "todo"].map((property) => ({ object, property, message: "Every test runs." }))),
      ],
    },
  },
  {
    files: ["**/*.{js,mjs,cjs,jsx}"],
    languageOptions: { globals: Object.fromEntries(["process", "console", "Buffer", "URL", "setTimeout", "clearTimeout", "performance", "AbortController", "TextDecoder", "TextEncoder"].map((name) => [name, "readonly"])) },
  },
  { files: ["**/*.cjs"], languageOptions: { sourceType: "commonjs", globals: { require: "readonly", module: "writable", exports: "writable", __dirname: "readonly", __filename: "readonly" } } },
);
