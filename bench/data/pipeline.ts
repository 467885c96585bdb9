import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DataReport } from "../peers/data-protocol.js";
import { findPython, PeerError, runPeer } from "../processes.js";
import { writeDocuments } from "./documents.js";
import type { DataOptions, DataRow } from "./row.js";
import { resultOf, runSides } from "./sides.js";

/** For the help. */
export const summary = "200 MB of JSON Lines, packed with gzip, filtered and mapped to Parquet with zstd";

/** From packed JSON Lines to Parquet. What each side wrote is read back and must be the same. */
export async function measure({ scale, rounds, directory }: DataOptions): Promise<DataRow[]> {
  const { path, bytes, expected } = await writeDocuments(directory, "documents.jsonl.gz", 200e6 * scale);
  const named = process.env["MARIN_BENCH_PYTHON"];
  const search = await findPython("datatrove", named === undefined ? [] : [named], 'install it, python3 -m venv ~/marin-bench and ~/marin-bench/bin/pip install datatrove pyarrow orjson regex, and set MARIN_BENCH_PYTHON=~/marin-bench/bin/python');
  const output = join(directory, "out", "documents.parquet");
  const checked = async (file: string, args: readonly string[], python?: string): Promise<DataReport> => {
    await rm(join(directory, "out"), { recursive: true, force: true });
    await mkdir(join(directory, "out"));
    const report = await runPeer<DataReport>(file, ["--input", path, "--output", output, ...args], 1, python);
    const { kept, characters } = await runPeer<DataReport>("data-pipeline.ts", ["--side", "check", "--output", output], 1);
    return { ...report, kept, characters };
  };
  const sides = [
    { side: "zephyr", run: () => checked("data-pipeline.ts", ["--side", "zephyr"]) },
    { side: "DuckDB", run: () => checked("data-pipeline.ts", ["--side", "duckdb"]) },
    // The level of datatrove's files, which it lets nobody choose.
    { side: "zephyr, zstd level 1", run: () => checked("data-pipeline.ts", ["--side", "zephyr-1"]) },
    { side: "DuckDB, zstd level 1", run: () => checked("data-pipeline.ts", ["--side", "duckdb-1"]) },
    { side: "datatrove", run: () => ("reason" in search ? Promise.reject(new PeerError(search.reason)) : checked("data_pipeline.py", [], search.python)) },
  ];
  return runSides("pipeline", sides, rounds, { megabytes: bytes / 1e6, expected, found: resultOf });
}
