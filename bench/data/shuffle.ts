import { PeerError, runPeer } from "../processes.js";
import { median } from "../statistics.js";
import type { DataOptions, DataRow } from "./row.js";
import { expectedShuffle, writeShuffleInput } from "./shuffle-input.js";

/** What the programs under `peers/` print for this section. */
export interface ShuffleReport {
  readonly version: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly groups: number;
  readonly rows: number;
  readonly sum: number;
  readonly hot: number;
}

/** The limit of both sides: the JavaScript heap of the one, `memory_limit` of the other. */
const heapMegabytes = 256;

const SIDES = [
  { side: "zephyr, all rows", program: "zephyr-shuffle.ts", flags: ["--form", "rows"] },
  { side: "zephyr, all rows, 2 workers", program: "zephyr-shuffle.ts", flags: ["--form", "rows", "--workers", "2"] },
  { side: "DuckDB, all rows sorted", program: "duckdb-shuffle.ts", flags: ["--form", "rows"] },
  { side: "DuckDB, all rows sorted, 2 threads", program: "duckdb-shuffle.ts", flags: ["--form", "rows", "--workers", "2"] },
  { side: "zephyr, combiner", program: "zephyr-shuffle.ts", flags: ["--form", "sums"] },
  { side: "DuckDB, GROUP BY", program: "duckdb-shuffle.ts", flags: ["--form", "sums"] },
] as const;

/** Reads JSON Lines, brings all rows of a key together, and sums a field of them: with every row travelling, and with sums travelling. */
export async function measure({ scale, rounds, directory }: DataOptions): Promise<DataRow[]> {
  const rows = Math.round(2_000_000 * scale);
  const bytes = await writeShuffleInput(directory, rows);
  const expected = JSON.stringify(expectedShuffle(rows));
  const reports = new Map<string, ShuffleReport[]>();
  const unmeasured = new Map<string, string>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { side, program, flags } of SIDES) {
      if (unmeasured.has(side)) continue;
      try {
        const report = await runPeer<ShuffleReport>(program, ["--directory", directory, ...flags], 1, undefined, [`--max-old-space-size=${String(heapMegabytes)}`]);
        const found = JSON.stringify({ groups: report.groups, rows: report.rows, sum: report.sum, hot: report.hot });
        if (found !== expected) throw new PeerError(`wrong result: ${found} where ${expected} is right`);
        reports.set(side, [...(reports.get(side) ?? []), report]);
      } catch (error) {
        if (!(error instanceof PeerError)) throw error;
        unmeasured.set(side, error.message);
      }
    }
  }
  return SIDES.map(({ side }): DataRow => {
    const reason = unmeasured.get(side);
    if (reason !== undefined) return { section: "shuffle", side, unmeasured: reason };
    const all = reports.get(side) ?? [];
    return {
      section: "shuffle",
      side,
      version: all[0]?.version ?? "",
      megabytes: bytes / 1e6,
      seconds: median(all.map(({ seconds }) => seconds)),
      cpuSeconds: median(all.map(({ cpuSeconds }) => cpuSeconds)),
      peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
    };
  });
}
