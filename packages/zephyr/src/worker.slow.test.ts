import { entry, silentLogger, withLocalContext } from "@marin/iris";
import { expect, test } from "vitest";
import { Dataset } from "./dataset.js";
import { mapShards } from "./worker.js";
import type { spin } from "../test/fixtures/shard-work.js";

const module = new URL("../test/fixtures/shard-work.ts", import.meta.url);
const numbers = Array.from({ length: 60 }, (_, index) => index);

test("work of uneven length gives the same results in the items' order with 0 to 4 workers", async () => {
  const run = (workers: number): Promise<number[]> =>
    withLocalContext({ log: silentLogger }, () => Dataset.fromAsyncIterable(mapShards({ entry: entry<typeof spin>(module, "spin"), items: numbers, name: "spin", workers })).toArray());
  const alone = await run(0);
  expect(alone).toHaveLength(60);
  for (const workers of [1, 2, 3, 4]) expect(await run(workers)).toEqual(alone);
});
