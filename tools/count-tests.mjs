/** Prints `N passed, N failed` for a log of turbo and vitest: `node tools/count-tests.mjs <log> <exit status of the runs>`. */
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

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { passed, failed } = countTests(readFileSync(process.argv[2], "utf8"), Number(process.argv[3] ?? 0));
  console.log(`${passed} passed, ${failed} failed`);
}
