import type { PlanEvent } from "../events.js";
import { printable } from "./format.js";

/** The answer to `--dry-run` for people: one line a step, in order, with what would become of it, why, and where. */
export function planText({ experiment, prefix, cluster, steps }: PlanEvent): string {
  const rows = steps.map(({ step, action, reason, cpu, directory }) => [
    step,
    action === "run" ? "would run" : "cached",
    reason,
    action === "run" ? `${cluster ?? "this process"}, ${cpu} ${cpu === 1 ? "cpu" : "cpus"}` : "",
    directory,
  ]);
  const table = [["step", "", "why", "where", "artifact"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => (row[column] ?? "").length)));
  const lines = table.map((row) => row.map((cell, column) => (column < widths.length ? cell.padEnd(widths[column] ?? 0) : cell)).join("  "));
  return printable(`${experiment} in ${prefix}; nothing was run or written\n${lines.join("\n")}\n`);
}
