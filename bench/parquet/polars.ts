import polars from "nodejs-polars";
import type { Side } from "./sides.js";
import { COLUMNS, ROW_GROUP_ROWS, type Row } from "./workload.js";

export const side: Side = {
  version: `nodejs-polars ${polars.version}`,
  read: (path, columns, each) => {
    (polars.readParquet(path, columns === undefined ? {} : { columns: [...columns] }).toRecords() as Record<string, unknown>[]).forEach(each);
    return Promise.resolve();
  },
  write: (path, rows) => {
    const frame = polars.DataFrame(Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, rows.map((row) => row[name as keyof Row])])));
    frame.writeParquet(path, { compression: "zstd", rowGroupSize: ROW_GROUP_ROWS } as never);
    return Promise.resolve();
  },
};
