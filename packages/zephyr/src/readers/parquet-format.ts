import { pruningOf } from "../expr/statistics.js";
import type { Format } from "./format.js";
import { ParquetReader } from "./parquet.js";

/** Parquet: each row is a record; columns that nobody asks for are not fetched. */
export const parquetFormat: Format = {
  name: "parquet",
  endings: [".parquet"],
  randomAccess: true,
  projects: true,
  finishes: true,
  async *read(input) {
    const { path, storage, signal, columns, filter, part, version } = input;
    const options = {
      ...(signal === undefined ? {} : { signal }),
      ...(columns === undefined ? {} : { columns }),
      ...(version === undefined ? {} : { version }),
      ...(part === undefined ? {} : { rows: part }),
      ...(filter === undefined ? {} : { pruning: pruningOf(filter) }),
    };
    let row = part?.start ?? 0;
    for await (const value of new ParquetReader({ path, storage, ...options })) {
      row += 1;
      const record = input.record(value, { record: row });
      if (record !== undefined) yield record;
    }
  },
  split: ({ path, storage, signal }, shardBytes) => new ParquetReader({ path, storage, ...(signal === undefined ? {} : { signal }) }).splits(shardBytes),
};
