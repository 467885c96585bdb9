import type { DataReport } from "../peers/data-protocol.js";
import { runPeer } from "../processes.js";
import { writeDocuments } from "./documents.js";
import type { DataOptions, DataRow } from "./row.js";
import { resultOf, runSides } from "./sides.js";

const SIDES = [
  ["in this process", "0"],
  ["1 thread", "1-thread"],
  ["2 threads", "2-thread"],
  ["1 process", "1-process"],
  ["2 processes", "2-process"],
] as const;

/** For the help. */
export const summary = "800 MB of JSON Lines in parts of 8 MiB, filtered, their words counted, and added up: in this process, and by workers, whose start counts";

/** The target is 1.4 times the speed with two workers instead of one. */
export async function measure({ scale, rounds, directory }: DataOptions): Promise<DataRow[]> {
  const { path, bytes, expected } = await writeDocuments(directory, "documents.jsonl", 800e6 * scale);
  const sides = SIDES.map(([side, name]) => ({ side, run: () => runPeer<DataReport>("data-workers.ts", ["--side", name, "--input", path], 2) }));
  const rows = await runSides("workers", sides, rounds, { megabytes: bytes / 1e6, expected, found: resultOf });
  return rows.map((row) => (row.side.includes("process") && row.side !== "in this process" && "megabytes" in row ? withoutProcessor(row) : row));
}

/** What worker processes take is not seen by the one that is measured. */
function withoutProcessor({ section, side, version, megabytes, seconds }: Extract<DataRow, { readonly megabytes: number }>): DataRow {
  return { section, side, ...(version === undefined ? {} : { version }), megabytes, seconds };
}
