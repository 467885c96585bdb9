import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A line of a run's metrics. */
export interface MetricsLine {
  readonly step: number;
  readonly loss: number;
  readonly learningRate: number;
  readonly validation?: { readonly tokens: number; readonly loss: number; readonly bitsPerByte: number };
  readonly emaValidation?: { readonly loss: number };
  readonly [name: string]: unknown;
}

/** The lines of a run's metrics, in order. */
export async function metricsOf(run: string): Promise<MetricsLine[]> {
  const lines = (await readFile(join(run, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as MetricsLine);
}

/** The same without speeds and times, which no two runs share. */
export async function numbersOf(run: string): Promise<object[]> {
  const isTime = (name: string): boolean => name === "tokensPerSecond" || name.startsWith("throughput/");
  return (await metricsOf(run)).map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !isTime(name))));
}
