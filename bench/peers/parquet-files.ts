/** Writes the files that `pnpm bench parquet` reads, by DuckDB: zstd, and a copy in snappy for who has no zstd. */
import { parseArgs } from "node:util";
import { copyRows } from "../parquet/duckdb.js";
import { makeRows } from "../parquet/workload.js";

const { values } = parseArgs({ options: { path: { type: "string", default: "" }, megabytes: { type: "string", default: "1" }, threads: { type: "string" } } });
const rows = makeRows(Number(values.megabytes));
await copyRows(values.path, rows, "zstd");
await copyRows(values.path.replace(/\.parquet$/, ".snappy.parquet"), rows, "snappy");
process.stdout.write(`${JSON.stringify({ rows: rows.length })}\n`, () => process.exit(0));
