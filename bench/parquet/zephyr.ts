import { ParquetReader, type ParquetSchema, writeParquet } from "@marin/zephyr";
import type { Side } from "./sides.js";
import { COLUMNS, ROW_GROUP_ROWS } from "./workload.js";

const schema: ParquetSchema = Object.fromEntries(Object.entries(COLUMNS).map(([name, [type]]) => [name, type]));

export const side: Side = {
  version: "zephyr",
  read: async (path, columns, each) => {
    for await (const row of new ParquetReader({ path, ...(columns === undefined ? {} : { columns }) })) each(row);
  },
  write: async (path, rows) => {
    await writeParquet(path, rows as never, { schema, rowGroupRows: ROW_GROUP_ROWS });
  },
};
