import { BIGINT, BOOLEAN, DOUBLE, DuckDBInstance, DuckDBTableFunction, DuckDBTimestampValue, type DuckDBValue, FLOAT, INTEGER, TIMESTAMP, VARCHAR, version } from "@duckdb/node-api";
import type { Side } from "./sides.js";
import { COLUMNS, ROW_GROUP_ROWS, type Row } from "./workload.js";

const types = { BIGINT, BOOLEAN, DOUBLE, FLOAT, INTEGER, TIMESTAMP, VARCHAR };
const names = Object.keys(COLUMNS) as (keyof Row)[];

async function connect() {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  return instance.connect();
}

/** Writes rows with a codec; the benchmark's own files are made so. */
export async function copyRows(path: string, rows: readonly Row[], compression: "zstd" | "snappy", version: "V1" | "V2" = "V1"): Promise<void> {
  const connection = await connect();
  let next = 0;
  connection.registerTableFunction(
    DuckDBTableFunction.create({
      name: "rows_of_the_benchmark",
      bindFunction: (info) => {
        for (const name of names) info.addResultColumn(name, types[COLUMNS[name][1]]);
      },
      initFunction: (info) => info.setMaxThreads(1),
      mainFunction: (_info, chunk) => {
        const batch = rows.slice(next, next + 2048);
        next += batch.length;
        chunk.rowCount = batch.length;
        if (batch.length === 0) return;
        for (const [column, name] of names.entries()) {
          chunk.setColumnValues(column, batch.map((row): DuckDBValue => (name === "created" ? new DuckDBTimestampValue(row.created) : row[name])));
        }
      },
    }),
  );
  await connection.run(`COPY (SELECT * FROM rows_of_the_benchmark()) TO '${path}' (FORMAT parquet, COMPRESSION ${compression}, PARQUET_VERSION ${version}, ROW_GROUP_SIZE ${String(ROW_GROUP_ROWS)})`);
  connection.closeSync();
}

export const side: Side = {
  version: `DuckDB ${version()}`,
  read: async (path, columns, each) => {
    const connection = await connect();
    const result = await connection.stream(`SELECT ${columns === undefined ? "*" : columns.join(", ")} FROM read_parquet('${path}')`);
    for await (const rows of result.yieldRowObjects()) rows.forEach(each);
    connection.closeSync();
  },
  write: (path, rows) => copyRows(path, rows, "zstd"),
};
