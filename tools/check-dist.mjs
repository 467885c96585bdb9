/**
 * Imports every built package as its users do, by name and without the source condition, and names what does not load; and reads all built
 * declarations once more, whichever build they come from: those of levanter and zephyr name iris and no other package of ours.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { layers } from "../layers.mjs";
import { findDeclarationLeaks } from "./declarations.mjs";
import { repositoryRoot } from "./repository.mjs";

let failures = 0;
for (const name of Object.keys(layers)) {
  const program = `const loaded = await import("@marin/${name}"); console.log("@marin/${name}: " + Object.keys(loaded).length + " exports");`;
  const { status } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: join(repositoryRoot, "packages", name),
    stdio: "inherit",
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (status !== 0) {
    failures += 1;
    console.error(`packages/${name}/dist  marin/dist  the built @marin/${name} does not load in plain Node`);
  }
  for (const leak of findDeclarationLeaks(`packages/${name}`)) {
    failures += 1;
    console.error(leak);
  }
}
process.exitCode = failures === 0 ? 0 : 1;
