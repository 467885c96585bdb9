import { runPeer } from "../processes.js";
import type { DataOptions, DataRow } from "./row.js";
import { expectedShuffle, writeShuffleInput } from "./shuffle-input.js";
import { runSides } from "./sides.js";

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
  const sides = SIDES.map(({ side, program, flags }) => ({
    side,
    run: () => runPeer<ShuffleReport>(program, ["--directory", directory, ...flags], 1, undefined, [`--max-old-space-size=${String(heapMegabytes)}`]),
  }));
  const found = ({ groups, rows: read, sum, hot }: ReturnType<typeof expectedShuffle>): string => `${String(groups)} groups of ${String(read)} rows, sum ${String(sum)}, the largest of ${String(hot)}`;
  return runSides("shuffle", sides, rounds, { megabytes: bytes / 1e6, expected: found(expectedShuffle(rows)), found });
}
