import { readFile, writeFile } from "node:fs/promises";
import { Bool, Float32, Float64, Int32, Int64, Table as ArrowTable, tableFromIPC, tableToIPC, TimestampMicrosecond, Utf8, type Vector, vectorFromArray } from "apache-arrow";
import { Compression, readParquet, Table, writeParquet, WriterPropertiesBuilder } from "parquet-wasm/node";
import type { Side } from "./sides.js";
import { COLUMNS, ROW_GROUP_ROWS, type Row } from "./workload.js";

const types = { int64: Int64, string: Utf8, int32: Int32, float64: Float64, float32: Float32, "timestamp-micros": TimestampMicrosecond, boolean: Bool } as const;

export const side: Side = {
  version: "parquet-wasm 0.8.0",
  read: async (path, columns, each) => {
    const table = tableFromIPC(readParquet(await readFile(path), columns === undefined ? {} : { columns: [...columns] }).intoIPCStream());
    for (const batch of table.batches) for (const row of batch) each(row.toJSON());
  },
  write: async (path, rows) => {
    // apache-arrow takes times as milliseconds.
    const value = (row: Row, name: keyof Row): unknown => (name === "created" ? Number(row.created) / 1000 : row[name]);
    const columns = Object.entries(COLUMNS).map(([name, [type]]) => [name, vectorFromArray(rows.map((row) => value(row, name as keyof Row)) as never, new types[type]() as never)] as const);
    const table = new ArrowTable(Object.fromEntries(columns) as Record<string, Vector>);
    const properties = new WriterPropertiesBuilder().setCompression(Compression.ZSTD).setMaxRowGroupSize(ROW_GROUP_ROWS).build();
    await writeFile(path, writeParquet(Table.fromIPCStream(tableToIPC(table, "stream")), properties));
  },
};
