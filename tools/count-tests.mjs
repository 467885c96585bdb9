/** Reads the logs of turbo and vitest: how many tests passed and failed, and what the failed tasks printed. */
import { stripVTControlCharacters } from "node:util";

/** The log's lines without colours. */
function linesOf(log) {
  return stripVTControlCharacters(log).split(/\r?\n/);
}

/** Names of the tasks that turbo lists as failed, such as `@marin/iris#test`. */
export function failedTasks(log) {
  return [...new Set(linesOf(log).flatMap((line) => /^Failed:\s+(\S.*)$/.exec(line)?.[1].split(/,\s*/) ?? []))];
}

/**
 * Adds up vitest's totals over the logs of one run, in their order: of a task that ran twice the last run counts. A task of a failed run that failed without
 * a failed test of its own (types, lint, manifests, a file that did not load) counts as one failure, and so does a failed run that names none.
 */
export function countTests(logs, status) {
  const totals = new Map();
  for (const log of logs) {
    for (const line of linesOf(log)) {
      const [, task = "", counts] = /^(?:(\S+): )?\s*Tests\s+(.*)\(\d+\)\s*$/.exec(line) ?? [];
      if (counts === undefined) continue;
      const count = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(counts)?.[1] ?? 0);
      totals.set(task.replace(":", "#"), { passed: count("passed"), failed: count("failed") });
    }
  }
  const sum = (kind) => [...totals.values()].reduce((total, counts) => total + counts[kind], 0);
  const failed = sum("failed");
  if (status === 0) return { passed: sum("passed"), failed };
  const others = new Set(logs.flatMap(failedTasks).filter((task) => (totals.get(task)?.failed ?? 0) === 0));
  return { passed: sum("passed"), failed: Math.max(1, failed + others.size) };
}

const TAIL_LINES = 80;
const TAIL_CHARACTERS = 8_000;

/** The last lines of each failed task, where vitest tells its failures, so that whoever sees only the end of a long log sees why it failed. */
export function failureTails(log) {
  const lines = linesOf(log);
  const failed = failedTasks(log);
  return failed.map((task) => {
    const prefix = `${task.replace("#", ":")}: `;
    const tail = lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length)).filter((line) => line.trim() !== "").slice(-TAIL_LINES);
    return `--- the end of ${task}\n${tail.join("\n").slice(-Math.floor(TAIL_CHARACTERS / failed.length))}`;
  });
}
