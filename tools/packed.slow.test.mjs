import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, expect, it } from "vitest";
import { layers } from "../layers.mjs";
import { readManifest, repositoryRoot } from "./repository.mjs";

const names = Object.keys(layers);
const tutorials = join(repositoryRoot, "experiments/tutorials");
const tenLines = readFileSync(join(tutorials, "ten-lines.ts"), "utf8");
/** A folder outside the repository, with nothing in it but what a user installs. */
let project;

/** Runs a command in `folder`, without what the test's own process was started with. */
function run(command, args, folder = project) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:NODE_OPTIONS|VITEST.*|npm_config_.*|npm_package_.*)$/i.test(name)));
  return spawnSync(command, args, { cwd: folder, encoding: "utf8", env: { ...env, NO_COLOR: "1", FORCE_COLOR: "0" }, shell: process.platform === "win32" && command !== process.execPath });
}

function succeed(command, args, folder) {
  const { status, stdout, stderr, error } = run(command, args, folder);
  expect(status, `${command} ${args.join(" ")}\n${stdout ?? ""}${stderr ?? ""}${error ?? ""}`).toBe(0);
  return stdout;
}

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "marin-packed-"));
  const archives = Object.fromEntries(
    names.map((name) => {
      const { name: full, version } = readManifest(`packages/${name}`);
      succeed("pnpm", ["pack", "--pack-destination", project], join(repositoryRoot, "packages", name));
      return [full, `file:./marin-${name}-${version}.tgz`];
    }),
  );
  const { typescript, "@types/node": nodeTypes } = readManifest(".").devDependencies;
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "outside", private: true, type: "module", dependencies: archives, devDependencies: { typescript, "@types/node": nodeTypes } }));
  // The packages name each other by version; here those versions are the archives. Nothing needs an install script.
  writeFileSync(join(project, "pnpm-workspace.yaml"), JSON.stringify({ overrides: archives, onlyBuiltDependencies: [] }));
  succeed("pnpm", ["install", "--no-frozen-lockfile", "--prefer-offline"]);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

it("the packed packages hold what was built, and no tests", () => {
  for (const name of names) {
    const files = readdirSync(join(project, "node_modules/@marin", name), { recursive: true }).map(String);
    expect(files).toContain(join("dist", "index.js"));
    expect(files.filter((file) => /\.test\.|tsbuildinfo$/.test(file)), name).toEqual([]);
  }
});

it("they load by name in plain Node", () => {
  writeFileSync(join(project, "load.mjs"), names.map((name) => `console.log(Object.keys(await import("@marin/${name}")).length > 0);`).join("\n"));
  expect(succeed(process.execPath, ["load.mjs"]).trim().split("\n")).toEqual(names.map(() => "true"));
});

it("their types, and ten-lines, satisfy a strict project", () => {
  writeFileSync(join(project, "ten-lines.ts"), tenLines);
  writeFileSync(join(project, "all.ts"), names.map((name) => `export * as ${name} from "@marin/${name}";`).join("\n"));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: { strict: true, noEmit: true, module: "nodenext", target: "es2023", types: ["node"] }, files: ["all.ts", "ten-lines.ts"] }));
  const { stdout } = run(process.execPath, [join(project, "node_modules/typescript/bin/tsc"), "-p", "."]);
  // Declarations of third parties are theirs to mend.
  const ours = stdout.split("\n").filter((line) => line !== "" && !line.startsWith(" ") && (!/^node_modules\//.test(line) || line.includes("@marin")));
  expect(ours).toEqual([]);
});

it("ten-lines trains a model there, from what was built, and leaves no process behind", () => {
  mkdirSync(join(project, "work"));
  cpSync(join(tutorials, "ten-lines-texts"), join(project, "ten-lines-texts"), { recursive: true });
  const { outputText } = ts.transpileModule(tenLines, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 } });
  writeFileSync(join(project, "ten-lines.mjs"), outputText);
  const printed = succeed(process.execPath, [join(project, "ten-lines.mjs")], join(project, "work"));
  expect(printed).toMatch(/SUCCEEDED/);
  expect(printed).toMatch(/loss\D*\d+\.\d+/);
  const left = run("ps", ["-eo", "pid,args"]).stdout.split("\n").filter((line) => line.includes(project));
  expect(left).toEqual([]);
});
