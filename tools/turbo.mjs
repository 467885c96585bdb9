/** Runs turbo tasks as the root scripts need them: no telemetry, no more tasks at once than cores, and all failures, not only the first. */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { createRequire } from "node:module";
import { repositoryRoot } from "./repository.mjs";

const tasks = process.argv.slice(2);
// The long tests take the whole machine, one package after the other.
const concurrency = tasks.some((task) => /(:slow|:soak)$/.test(task)) ? 1 : Math.min(4, availableParallelism());
const turbo = createRequire(import.meta.url).resolve("turbo/bin/turbo");
const result = spawnSync(process.execPath, [turbo, "run", ...tasks, "--continue=dependencies-successful", "--log-order=grouped", `--concurrency=${concurrency}`], {
  cwd: repositoryRoot,
  stdio: "inherit",
  // A result is cached for the Node that it was found with.
  env: { ...process.env, MARIN_NODE_VERSION: process.version, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", TURBO_NO_UPDATE_NOTIFIER: "1" },
});
if (result.error) {
  throw result.error;
}
process.exitCode = result.status ?? 1;
