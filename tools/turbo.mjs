/** Runs turbo tasks as the root scripts need them: no telemetry, two tasks at a time on small machines, and all failures, not only the first. */
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { createRequire } from "node:module";
import { repositoryRoot } from "./repository.mjs";

const concurrency = Math.max(1, Math.min(4, availableParallelism()));
const turbo = createRequire(import.meta.url).resolve("turbo/bin/turbo");
const result = spawnSync(process.execPath, [turbo, "run", ...process.argv.slice(2), "--continue=dependencies-successful", "--log-order=grouped", `--concurrency=${concurrency}`], {
  cwd: repositoryRoot,
  stdio: "inherit",
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", TURBO_NO_UPDATE_NOTIFIER: "1" },
});
if (result.error) {
  throw result.error;
}
process.exitCode = result.status ?? 1;
