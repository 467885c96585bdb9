import type { Row } from "./workload.js";

/** What one library does with the workload. */
export interface Side {
  readonly version: string;
  /** Hands over each row of a file as an object; only these columns where they are given. */
  read?(path: string, columns: readonly string[] | undefined, each: (row: Readonly<Record<string, unknown>>) => void): Promise<void>;
  /** Writes rows to a zstd file with the benchmark's row groups. */
  write?(path: string, rows: readonly Row[]): Promise<void>;
}

/** The libraries, loaded when they are measured. */
export const SIDES = {
  zephyr: { summary: "ParquetReader, one record at a time; ParquetWriter", load: () => import("./zephyr.js") },
  duckdb: { summary: "@duckdb/node-api, one thread: stream() as JavaScript rows; COPY from a table function that is fed with JavaScript rows", load: () => import("./duckdb.js") },
  hyparquet: { summary: "hyparquet, hyparquet-writer, with the same native zstd", load: () => import("./hyparquet.js") },
  "parquet-wasm": { summary: "parquet-wasm and apache-arrow", load: () => import("./parquet-wasm.js") },
  "parquetjs-lite": { summary: "parquetjs-lite, a copy of the file in snappy: it has no zstd", load: () => import("./parquetjs-lite.js") },
  polars: { summary: "nodejs-polars, a whole file in memory; a native library", load: () => import("./polars.js") },
} as const satisfies Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<{ readonly side: Side }> }>>;

export type SideName = keyof typeof SIDES;
export const SIDE_NAMES = Object.keys(SIDES) as readonly SideName[];
