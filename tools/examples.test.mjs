import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listFiles, repositoryRoot } from "./repository.mjs";

/**
 * The TypeScript blocks of a page, in order, each with what it says it prints: the comment lines at its end.
 *
 * @param {string} markdown
 */
function examplesIn(markdown) {
  return [...markdown.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code]) => {
    const lines = code.trimEnd().split("\n");
    const lastStatement = lines.findLastIndex((line) => !line.startsWith("//"));
    return { code, printed: lines.slice(lastStatement + 1).map((line) => line.slice(3)) };
  });
}

let workingDirectory;
beforeAll(() => {
  workingDirectory = mkdtempSync(join(tmpdir(), "marin-examples-"));
});
afterAll(() => rmSync(workingDirectory, { recursive: true, force: true }));

/** Runs an example inside a member of the workspace, so that package names resolve as they do for it, and compares what it prints. */
function check(member, { code, printed }) {
  expect(printed.length, "the block ends with what it prints, as comments").toBeGreaterThan(0);
  const folder = join(repositoryRoot, member, ".examples");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "readme.mts");
  try {
    writeFileSync(file, code);
    const loader = pathToFileURL(join(repositoryRoot, "node_modules/tsx/dist/loader.mjs")).href;
    const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=@marin/source", "--import", loader, file], {
      cwd: workingDirectory,
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
    });
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toEqual(printed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the first example of each package's README", () => {
  it.each(readdirSync(join(repositoryRoot, "packages")))("%s runs and prints what it says", { timeout: 120_000 }, (name) => {
    const [first] = examplesIn(readFileSync(join(repositoryRoot, "packages", name, "README.md"), "utf8"));
    expect(first, "a block of TypeScript").toBeDefined();
    check(`packages/${name}`, first);
  });
});

describe("every example of the documentation", () => {
  const pages = listFiles("docs").filter((file) => file.endsWith(".md"));
  const examples = pages.flatMap((page) => examplesIn(readFileSync(join(repositoryRoot, page), "utf8")).map((example, index) => ({ name: `${page}, number ${index + 1},`, example })));
  it.each(examples)("$name runs and prints what it says", { timeout: 120_000 }, ({ example }) => check("docs", example));
});
