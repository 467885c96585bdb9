/** Builds the package in the working directory into a fresh `dist/` and refuses declarations that its users could not resolve. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { findDeclarationLeaks } from "./declarations.mjs";
import { repositoryPath } from "./repository.mjs";

const folder = process.cwd();
rmSync(join(folder, "dist"), { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const { status } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: folder, stdio: "inherit" });
const leaks = status === 0 ? findDeclarationLeaks(repositoryPath(folder)) : [];
for (const leak of leaks) {
  console.error(leak);
}
process.exitCode = status === 0 && leaks.length === 0 ? 0 : 1;
