/**
 * What `.ci/run` does: `pnpm test`, then `pnpm test:slow`. A task that fails is run once more, alone, since machines that others use stall now and
 * then; what it printed the first time is shown all the same, because a test that fails now and then is a fault to mend. Ends with the end of what each
 * failed task printed, and `N passed, N failed`.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { countTests, failedTasks, failureTails } from "./count-tests.mjs";
import { repositoryRoot } from "./repository.mjs";

/** Runs a command, showing what it prints; gives its exit status and all that it printed. */
async function run(command, args) {
  const child = spawn(command, args, { cwd: repositoryRoot, stdio: ["ignore", "pipe", "pipe"] });
  const chunks = [];
  for (const [stream, target] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
    stream.on("data", (chunk) => {
      chunks.push(chunk);
      target.write(chunk);
    });
  }
  const status = await new Promise((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code ?? 1)));
  return { status, log: Buffer.concat(chunks).toString("utf8") };
}

const logs = [];
const notes = [];
let status = 0;
for (const script of ["test", "test:slow"]) {
  const first = await run("npx", ["-y", "pnpm@10", script]);
  logs.push(first.log);
  if (first.status === 0) continue;
  notes.push(...failureTails(first.log));
  const failed = failedTasks(first.log);
  if (failed.length === 0) {
    status = 1;
    continue;
  }
  // Quick tasks that passed are cached, and those that waited for a failed one run now; slow ones are never cached.
  const again = await (script === "test" ? run("npx", ["-y", "pnpm@10", script]) : run(process.execPath, [join(repositoryRoot, "tools", "turbo.mjs"), ...failed]));
  logs.push(again.log);
  if (again.status === 0) notes.push(`--- failed at first, and passed when run again: ${failed.join(", ")}`);
  else status = 1;
}

for (const note of notes) console.log(note);
const { passed, failed } = countTests(logs, status);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = status;
