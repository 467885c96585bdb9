/** Zephyr's side of `pnpm bench data --sections shuffle`. */
import { entry, silentLogger, withLocalContext } from "@marin/iris";
import { Dataset, execute } from "@marin/zephyr";
import { join } from "node:path";
import type { addSums, asSum, keyOf, sumOfRows, sumOfSums } from "../data/shuffle-work.js";
import { reportShuffle, shuffleArguments } from "./shuffle-protocol.js";

const { directory, form, workers } = shuffleArguments();
const module = new URL("../data/shuffle-work.ts", import.meta.url);
const key = entry<typeof keyOf>(module, "keyOf");

const rows = Dataset.fromFiles<{ readonly key: string; readonly value: number }>(join(directory, "*.jsonl"));
const sums =
  form === "rows"
    ? rows.groupBy(key, entry<typeof sumOfRows>(module, "sumOfRows"), { numOutputShards: 4 })
    : rows.map(entry<typeof asSum>(module, "asSum")).groupBy(key, entry<typeof sumOfSums>(module, "sumOfSums"), { numOutputShards: 4, combiner: entry<typeof addSums>(module, "addSums") });

await reportShuffle("zephyr", () =>
  withLocalContext({ log: silentLogger }, async () => {
    const total = { groups: 0, rows: 0, sum: 0, hot: 0 };
    const { results } = await execute(sums, { workers: workers === 1 ? 0 : workers, memoryBytes: 64 * 2 ** 20 });
    for (const group of results) {
      total.groups += 1;
      total.rows += group.rows;
      total.sum += group.sum;
      total.hot = Math.max(total.hot, group.rows);
    }
    return total;
  }),
);
