import { pruningOf } from "../expr/statistics.js";
import type { Format } from "./format.js";
import { ParquetReader } from "./parquet.js";
import { columnsToRead } from "./table-columns.js";

/** Parquet: each row is a record; columns that nobody asks for are not fetched. */
export const parquetFormat: Format = {
  name: "parquet",
  endings: [".parquet"],
  randomAccess: true,
  projects: true,
  finishes: true,
  async *read(input) {
    const { path, storage, signal, filter, part, version } = input;
    const options = {
      ...(signal === undefined ? {} : { signal }),
      ...(version === undefined ? {} : { version }),
      ...(part === undefined ? {} : { rows: part }),
      ...(filter === undefined ? {} : { pruning: pruningOf(filter) }),
    };
    const reader = new ParquetReader({ path, storage, ...options });
    const columns = columnsToRead(input, new Map((await reader.columns()).map(({ name, type }) => [name, type])));
    let row = part?.start ?? 0;
    for await (const value of reader.withColumns(columns)) {
      row += 1;
      const record = input.record(value, { record: row });
      if (record !== undefined) yield record;
    }
  },
  split: ({ path, storage, signal }, shardBytes) => new ParquetReader({ path, storage, ...(signal === undefined ? {} : { signal }) }).splits(shardBytes),
};
