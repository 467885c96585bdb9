import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** What a process that measures hashing or duplicate detection prints, as one JSON line. */
export interface DedupReport {
  /** What was measured, for people. */
  readonly version: string;
  /** Processor seconds of each round. */
  readonly seconds: readonly number[];
  /** Peak resident memory of the process. */
  readonly peakBytes: number;
}

/** Command line of a measuring process: `--work NAME --documents FILE --rounds N --threads N`. */
export function dedupArguments(): { readonly work: string; readonly rounds: number; readonly documents: readonly string[] } {
  const { values } = parseArgs({ options: { work: { type: "string" }, documents: { type: "string" }, rounds: { type: "string" }, threads: { type: "string" } } });
  const documents = JSON.parse(readFileSync(values.documents ?? "", "utf8")) as readonly string[];
  return { work: values.work ?? "", rounds: Number(values.rounds), documents };
}

/** Times `work` after one turn that does not count, and prints the report. */
export function measureDedup(version: string, rounds: number, work: () => unknown): void {
  work();
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    seconds.push((user + system) / 1e6);
  }
  const report: DedupReport = { version, seconds, peakBytes: process.resourceUsage().maxRSS * 1024 };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
