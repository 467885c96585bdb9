import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryRoot } from "./repository.mjs";

/**
 * The first TypeScript block of a README, and what it says it prints: the comment lines at its end.
 *
 * @param {string} markdown
 */
function exampleIn(markdown) {
  const code = /^```ts\n([\s\S]*?)^```/m.exec(markdown)?.[1];
  if (code === undefined) return undefined;
  const lines = code.trimEnd().split("\n");
  const lastStatement = lines.findLastIndex((line) => !line.startsWith("//"));
  return { code, printed: lines.slice(lastStatement + 1).map((line) => line.slice(3)) };
}

const packages = readdirSync(join(repositoryRoot, "packages"));
let workingDirectory;
beforeAll(() => {
  workingDirectory = mkdtempSync(join(tmpdir(), "marin-examples-"));
});
afterAll(() => rmSync(workingDirectory, { recursive: true, force: true }));

describe("the example of each package's README", () => {
  it.each(packages)("%s runs and prints what it says", { timeout: 120_000 }, (name) => {
    const directory = join(repositoryRoot, "packages", name);
    const example = exampleIn(readFileSync(join(directory, "README.md"), "utf8"));
    expect(example?.printed.length, "the block ends with what it prints, as comments").toBeGreaterThan(0);
    // Inside the package, so that its own name and dependencies resolve as they do for the package itself.
    const folder = join(directory, ".examples");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, "readme.mts");
    try {
      writeFileSync(file, example.code);
      const loader = pathToFileURL(join(repositoryRoot, "node_modules/tsx/dist/loader.mjs")).href;
      const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=@marin/source", "--import", loader, file], {
        cwd: workingDirectory,
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
      });
      expect(stderr).toBe("");
      expect(stdout.trimEnd().split("\n")).toEqual(example.printed);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
