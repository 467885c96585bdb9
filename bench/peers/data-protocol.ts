import { parseArgs } from "node:util";

/** What the programs of `pnpm bench data --sections jsonl,pipeline` print. */
export interface DataReport {
  readonly version: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  /** Records that were kept. */
  readonly kept: number;
  /** Characters of their texts. */
  readonly characters: number;
}

/** What the programs are told. */
export interface DataArguments {
  readonly side: string;
  readonly input: string;
  readonly output: string;
}

/** The command line. */
export function dataArguments(): DataArguments {
  const { values } = parseArgs({ options: { side: { type: "string", default: "" }, input: { type: "string", default: "" }, output: { type: "string", default: "" }, threads: { type: "string" } } });
  return values;
}

/** A document of the benchmark's files. */
export interface BenchDocument {
  readonly id: number;
  readonly url: string;
  readonly language: string;
  readonly score: number;
  readonly text: string;
}

/** Which documents every side keeps. */
export function isKept({ language, score }: BenchDocument): boolean {
  return language === "en" && score >= 0.25;
}

/** Times the work and prints what came of it. */
export async function reportData(version: string, work: () => Promise<Pick<DataReport, "kept" | "characters">>): Promise<void> {
  const before = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  const report: DataReport = { version, seconds, cpuSeconds: (user + system) / 1e6, peakBytes: process.resourceUsage().maxRSS * 1024, ...result };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
