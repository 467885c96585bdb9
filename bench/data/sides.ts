import type { DataReport } from "../peers/data-protocol.js";
import { PeerError } from "../processes.js";
import { median } from "../statistics.js";
import type { DataRow } from "./row.js";

/** What is measured of a side, whatever it did. */
type Measured = Pick<DataReport, "version" | "seconds" | "cpuSeconds" | "peakBytes">;

/** One side of a comparison: it runs once, in a process of its own. */
export interface Side<R extends Measured = DataReport> {
  readonly side: string;
  readonly run: () => Promise<R>;
}

/** What sides are measured against. */
interface Expected<R> {
  readonly megabytes: number;
  /** What every side must come to. */
  readonly expected: string;
  /** What a side has come to. */
  readonly found: (report: R) => string;
}

/** Runs all sides in turn, so many rounds. A side whose result is not `expected` is told so instead of measured. */
export async function runSides<R extends Measured>(section: string, sides: readonly Side<R>[], rounds: number, { megabytes, expected, found: foundBy }: Expected<R>): Promise<DataRow[]> {
  const reports = new Map<string, R[]>();
  const unmeasured = new Map<string, string>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { side, run } of sides) {
      if (unmeasured.has(side)) continue;
      try {
        const report = await run();
        const found = foundBy(report);
        if (found !== expected) throw new PeerError(`wrong result: ${found} where ${expected} is right`);
        reports.set(side, [...(reports.get(side) ?? []), report]);
      } catch (error) {
        if (!(error instanceof PeerError)) throw error;
        unmeasured.set(side, error.message);
      }
    }
  }
  return sides.map(({ side }): DataRow => {
    const reason = unmeasured.get(side);
    if (reason !== undefined) return { section, side, unmeasured: reason };
    const all = reports.get(side) ?? [];
    return {
      section,
      side,
      version: all[0]?.version ?? "",
      megabytes,
      seconds: median(all.map(({ seconds }) => seconds)),
      cpuSeconds: median(all.map(({ cpuSeconds }) => cpuSeconds)),
      peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
      note: `${(megabytes / median(all.map(({ cpuSeconds }) => cpuSeconds))).toFixed(0)} MB per second of processor`,
    };
  });
}

/** What a side has come to, of documents. */
export function resultOf({ kept, characters }: Pick<DataReport, "kept" | "characters">): string {
  return `${String(kept)} documents, ${String(characters)} characters`;
}
