/**
 * Prints the end of what each failed task printed, then `N passed, N failed`, for a log of turbo and vitest:
 * `node tools/count-tests.mjs <log> <exit status of the runs>`.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";

/**
 * Adds up vitest's totals. A turbo task that failed without a failed test of its own (types, lint, manifests, a file that did not load) counts as
 * one failure, and so does a failed run that names none.
 */
export function countTests(log, status) {
  let passed = 0;
  let failed = 0;
  const tasksWithFailedTests = new Set();
  const failedTasks = new Set();
  for (const line of stripVTControlCharacters(log).split(/\r?\n/)) {
    const totals = /^(?:(\S+): )?\s*Tests\s+(.*)\(\d+\)\s*$/.exec(line);
    if (totals) {
      passed += Number(/(\d+) passed/.exec(totals[2])?.[1] ?? 0);
      const failures = Number(/(\d+) failed/.exec(totals[2])?.[1] ?? 0);
      failed += failures;
      if (failures > 0 && totals[1]) {
        tasksWithFailedTests.add(totals[1].replace(":", "#"));
      }
    }
    for (const task of /^Failed:\s+(\S.*)$/.exec(line)?.[1].split(/,\s*/) ?? []) {
      failedTasks.add(task);
    }
  }
  for (const task of failedTasks) {
    failed += tasksWithFailedTests.has(task) ? 0 : 1;
  }
  return { passed, failed: status !== 0 && failed === 0 ? 1 : failed };
}

const TAIL_LINES = 80;
const TAIL_CHARACTERS = 8_000;

/** The last lines of each failed task, where vitest tells its failures, so that whoever sees only the end of a long log sees why it failed. */
export function failureTails(log) {
  const lines = stripVTControlCharacters(log).split(/\r?\n/);
  const failed = [...new Set(lines.flatMap((line) => /^Failed:\s+(\S.*)$/.exec(line)?.[1].split(/,\s*/) ?? []))];
  return failed.map((task) => {
    const prefix = `${task.replace("#", ":")}: `;
    const tail = lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length)).filter((line) => line.trim() !== "").slice(-TAIL_LINES);
    return `--- the end of ${task}\n${tail.join("\n").slice(-Math.floor(TAIL_CHARACTERS / failed.length))}`;
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const log = readFileSync(process.argv[2], "utf8");
  for (const tail of failureTails(log)) console.log(tail);
  const { passed, failed } = countTests(log, Number(process.argv[3] ?? 0));
  console.log(`${passed} passed, ${failed} failed`);
}
