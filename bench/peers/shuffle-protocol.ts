import { parseArgs } from "node:util";
import type { ShuffleReport } from "../data/shuffle.js";

/** What the programs of `pnpm bench data --sections shuffle` are told. */
export interface ShuffleArguments {
  /** Where the files are. */
  readonly directory: string;
  /** Whether every row travels, or sums do. */
  readonly form: "rows" | "sums";
  /** Workers or threads. */
  readonly workers: number;
}

/** The command line. */
export function shuffleArguments(): ShuffleArguments {
  const { values } = parseArgs({ options: { directory: { type: "string" }, form: { type: "string", default: "rows" }, workers: { type: "string", default: "1" }, threads: { type: "string" } } });
  return { directory: values.directory ?? ".", form: values.form === "sums" ? "sums" : "rows", workers: Number(values.workers) };
}

/** Times the work and prints what came of it. */
export async function reportShuffle(version: string, work: () => Promise<Pick<ShuffleReport, "groups" | "rows" | "sum" | "hot">>): Promise<void> {
  const before = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  const report: ShuffleReport = { version, seconds, cpuSeconds: (user + system) / 1e6, peakBytes: process.resourceUsage().maxRSS * 1024, ...result };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
