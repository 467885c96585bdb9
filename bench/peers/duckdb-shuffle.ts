/** DuckDB's side of `pnpm bench data --sections shuffle`. */
import { DuckDBInstance } from "@duckdb/node-api";
import { join } from "node:path";
import { reportShuffle, shuffleArguments } from "./shuffle-protocol.js";

const { directory, form, workers } = shuffleArguments();
const instance = await DuckDBInstance.create(":memory:", { memory_limit: "256MB", threads: String(workers), temp_directory: join(directory, "duckdb"), preserve_insertion_order: "false" });
const connection = await instance.connect();
const source = `read_json('${join(directory, "*.jsonl")}', format = 'newline_delimited', columns = { key: 'VARCHAR', value: 'BIGINT', text: 'VARCHAR' })`;

await reportShuffle("DuckDB", async () => {
  const total = { groups: 0, rows: 0, sum: 0, hot: 0 };
  if (form === "sums") {
    const result = await connection.runAndReadAll(`SELECT count(*), sum(rows), sum(total), max(rows) FROM (SELECT key, count(*) AS rows, sum(value) AS total FROM ${source} GROUP BY key)`);
    const [groups, rows, sum, hot] = result.getRows()[0] as bigint[];
    return { groups: Number(groups), rows: Number(rows), sum: Number(sum), hot: Number(hot) };
  }
  let last: string | undefined;
  let ofGroup = 0;
  const result = await connection.stream(`SELECT key, value, text FROM ${source} ORDER BY key`);
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    const [keys, values] = [chunk.getColumnValues(0) as string[], chunk.getColumnValues(1) as bigint[]];
    for (let row = 0; row < keys.length; row++) {
      if (keys[row] !== last) {
        total.groups += 1;
        ofGroup = 0;
        last = keys[row];
      }
      ofGroup += 1;
      total.rows += 1;
      total.sum += Number(values[row]);
      total.hot = Math.max(total.hot, ofGroup);
    }
  }
  return total;
});
