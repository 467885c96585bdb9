/** The sides of `pnpm bench data --sections workers`: the same plan in this process and with workers. */
import { entry } from "@marin/iris";
import { Dataset, execute } from "@marin/zephyr";
import type { addUp, keep, tallyOf } from "../data/worker-functions.js";
import { type BenchDocument, dataArguments, reportData } from "./data-protocol.js";

const { side, input } = dataArguments();
const functions = new URL("../data/worker-functions.ts", import.meta.url);
const sum = entry<typeof addUp>(functions, "addUp");
const dataset = Dataset.fromFiles<BenchDocument>(input, { shardBytes: "8MiB" }).filter(entry<typeof keep>(functions, "keep")).map(entry<typeof tallyOf>(functions, "tallyOf")).reduce(sum, sum);
const [workers = "0", isolation = "thread"] = side.split("-");

await reportData("zephyr", async () => {
  const { results } = await execute(dataset, { workers: Number(workers), isolation: isolation === "process" ? "process" : "thread" });
  return results[0] ?? { kept: 0, characters: 0 };
});
