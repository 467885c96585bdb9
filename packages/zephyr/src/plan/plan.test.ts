import { entry } from "@marin/iris";
import { expect, test } from "vitest";
import { Dataset } from "../dataset.js";
import { plan } from "../execution/dry-run.js";
import { col } from "../expr/expr.js";
import type { failAt5, idOf, together, wordOf, wordsOf } from "../../test/fixtures/pipeline-work.js";
import { explain } from "./describe.js";
import { bind } from "./work.js";

const module = new URL("../../test/fixtures/pipeline-work.ts", import.meta.url);
const words = bind(entry<typeof wordsOf>(module, "wordsOf"), 0);
const seeds = Dataset.fromArray([1, 2, 3, 4, 5, 6], { shards: 3 });

test("operations of a shard are one stage; what looks across shards begins another", async () => {
  const dataset = seeds
    .map(entry<typeof failAt5>(module, "failAt5"))
    .flatMap(words)
    .filter(col("amount").gt(3))
    .select("id", "word", "amount")
    .groupBy(entry<typeof wordOf>(module, "wordOf"), entry<typeof together>(module, "together"), { sortBy: entry<typeof idOf>(module, "idOf"), numOutputShards: 2 })
    .writeParquet("out/{shard}.parquet", { skipExisting: true });
  const made = await plan(dataset);
  expect(explain(made)).toBe(`stage 0: 3 shards, scatters by wordOf to 2 shards, sorted by idOf
  3 shards: items | map failAt5 | flatMap wordsOf(0) | filter amount > 3 | select id, word, amount
stage 1: 2 shards, writes parquet to out/{shard}.parquet, skipping what is there
  2 shards: groups of stage 0 | reduce together
`);
  expect(made.stages.map(({ name }) => name)).toEqual(["items | map failAt5 | flatMap wordsOf(0) | filter amount > 3 | select id, word, amount | scatter", "group | write parquet"]);
  expect(explain(await plan(dataset))).toBe(explain(made));
});

test("a plan of named functions is plain data: it can be cloned and sent", async () => {
  const made = await plan(seeds.flatMap(words).deduplicate(entry<typeof wordOf>(module, "wordOf")).count());
  expect(structuredClone(made)).toEqual(made);
  expect(JSON.parse(JSON.stringify(made))).toEqual(made);
});

test("unions and joins need no stage of their own; each input keeps its shards", async () => {
  const left = seeds.map(entry<typeof failAt5>(module, "failAt5"));
  expect(explain(await plan(left.union(seeds, Dataset.fromArray([7])).takePerShard(1)))).toBe(`stage 0: 7 shards
  3 shards: items | map failAt5 | take 1
  4 shards: items | take 1
`);
  const double = (x: number): number => 2 * x;
  const joined = left.sortedMergeJoin<number, number>(seeds.map(double), { leftKey: double, rightKey: double, how: "left" });
  expect(explain(await plan(joined))).toBe(`stage 0: 3 shards
  3 shards: left join of (items | map failAt5) and (items | map double)
`);
  await expect(plan(left.sortedMergeJoin<number, number>(Dataset.fromArray([1]), { leftKey: double, rightKey: double }))).rejects.toMatchObject({
    code: "ZEPHYR_UNEQUAL_SHARDS",
    data: { left: 3, right: 1 },
  });
});

test("reshard, take, reduce and writes end a stage", async () => {
  const dataset = seeds.reshard(2).take(4).writeJsonl("out/all.jsonl").map(({ path }) => path);
  expect(explain(await plan(dataset))).toBe(`stage 0: 3 shards
  3 shards: items
stage 1: 2 shards, until the first have 4 records
  2 shards: even share of stage 0 | take 4
stage 2: 1 shard, writes jsonl to out/all.jsonl
  1 shard: from stage 1 | take 4
stage 3: 1 shard
  1 shard: from stage 2 | map (inline)
`);
});
