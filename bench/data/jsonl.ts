import type { DataReport } from "../peers/data-protocol.js";
import { runPeer } from "../processes.js";
import { writeDocuments } from "./documents.js";
import type { DataOptions, DataRow } from "./row.js";
import { resultOf, runSides } from "./sides.js";

const SIDES = [
  ["zephyr, Dataset.fromFiles().filter()", "dataset"],
  ["zephyr, JsonlReader", "reader"],
  ["node:readline and JSON.parse", "readline"],
  ["DuckDB, read_json, no row leaves it", "duckdb"],
] as const;

/** For the help. */
export const summary = "200 MB of JSON Lines read, parsed and filtered in one process";

/** Reads documents of 2 kB and keeps those of a language and a score. */
export async function measure({ scale, rounds, directory }: DataOptions): Promise<DataRow[]> {
  const { path, bytes, expected } = await writeDocuments(directory, "documents.jsonl", 200e6 * scale);
  const sides = SIDES.map(([side, name]) => ({ side, run: () => runPeer<DataReport>("data-jsonl.ts", ["--side", name, "--input", path], 1) }));
  return runSides("jsonl", sides, rounds, { megabytes: bytes / 1e6, expected, found: resultOf });
}
