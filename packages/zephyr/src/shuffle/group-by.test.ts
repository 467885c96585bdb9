import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Dataset, execute, ParquetReader, shardOfKey } from "../index.js";

interface Word {
  readonly word: string;
  readonly at: number;
}

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-group-by-"));
});
afterAll(() => rm(directory, { recursive: true }));

const words: readonly Word[] = "the quick brown fox jumps over the lazy dog and the quick cat sees the dog".split(" ").map((word, at) => ({ word, at }));

async function countOf(word: string, items: AsyncIterable<Word>): Promise<{ word: string; count: number; first: number }> {
  let count = 0;
  let first = Infinity;
  for await (const { at } of items) {
    count += 1;
    first = Math.min(first, at);
  }
  return { word, count, first };
}

const counts = [...new Set(words.map(({ word }) => word))].sort().map((word) => ({ word, count: words.filter((each) => each.word === word).length, first: words.findIndex((each) => each.word === word) }));
const byWord = (a: { readonly word: string }, b: { readonly word: string }): number => (a.word < b.word ? -1 : 1);

test("groupBy: the same groups from any number of input shards, to any number of output shards", async () => {
  for (const [shards, numOutputShards] of [[1, 1], [5, 2], [2, 7]] as const) {
    const found = await Dataset.fromArray(words, { shards }).groupBy(({ word }) => word, countOf, { numOutputShards }).toArray();
    expect(found.sort(byWord)).toEqual(counts);
  }
});

test.each([
  [10, 3],
  [3, 10],
])("numOutputShards authoritative: %d shards to %d, each a valid file with the keys that hash to it, empty ones too", async (shards, numOutputShards) => {
  const out = join(directory, `${String(shards)}-${String(numOutputShards)}`);
  const grouped = Dataset.fromArray(words.slice(0, 6), { shards }).groupBy(({ word }) => word, countOf, { numOutputShards });
  await execute(grouped.writeJsonl(join(out, "json", "{shard:02d}-of-{total:02d}.jsonl")));
  await execute(grouped.writeParquet(join(out, "parquet", "{shard:02d}.parquet"), { schema: { word: "string", count: "int32", first: "int32" } }));
  const names = (await readdir(join(out, "json"))).filter((name) => name.endsWith(".jsonl")).sort();
  expect(names).toEqual(Array.from({ length: numOutputShards }, (_, shard) => `${String(shard).padStart(2, "0")}-of-${String(numOutputShards).padStart(2, "0")}.jsonl`));
  const files: string[][] = [];
  for (const [shard, name] of names.entries()) {
    const lines = (await readFile(join(out, "json", name), "utf8")).split("\n").filter((line) => line !== "");
    const found = lines.map((line) => (JSON.parse(line) as { word: string }).word);
    for (const word of found) expect(await shardOfKey(word, numOutputShards)).toBe(shard);
    const rows = await Dataset.fromAsyncIterable(new ParquetReader({ path: join(out, "parquet", `${String(shard).padStart(2, "0")}.parquet`) })).toArray();
    expect(rows.map(({ word }) => word)).toEqual(found);
    files.push(found);
  }
  expect(files.flat().sort()).toEqual(["brown", "fox", "jumps", "over", "quick", "the"]);
  if (numOutputShards === 10) expect(files.filter((found) => found.length === 0).length).toBeGreaterThan(0);
});

test("deduplicate keeps the first of each key, in the order of shards and places", async () => {
  const kept = await Dataset.fromArray(words, { shards: 4 }).deduplicate(({ word }) => word).toArray();
  expect(kept.sort(byWord)).toEqual(counts.map(({ word, first }) => ({ word, at: first })));
});

test("sortBy and a reducer that is a generator", async () => {
  const found = await Dataset.fromArray(words, { shards: 3 })
    .groupBy(
      ({ word }) => word.length,
      async function* (length, items) {
        for await (const { word } of items) yield `${String(length)} ${word}`;
      },
      { sortBy: ({ word, at }) => [word, -at], numOutputShards: 1 },
    )
    .toArray();
  const expected = [...words].sort((a, b) => a.word.length - b.word.length || byWord(a, b));
  expect(found).toEqual(expected.map(({ word }) => `${String(word.length)} ${word}`));
});

test("reduce and count, also of nothing", async () => {
  const total = async (parts: AsyncIterable<number>): Promise<number> => {
    let sum = 0;
    for await (const part of parts) sum += part;
    return sum;
  };
  const places = Dataset.fromArray(words, { shards: 4 }).map(({ at }) => at);
  expect(await places.reduce(total, total).toArray()).toEqual([(words.length * (words.length - 1)) / 2]);
  expect(await places.count().toArray()).toEqual([words.length]);
  expect(await Dataset.fromArray<number>([]).count().toArray()).toEqual([0]);
});

test("reshard keeps the order and makes equal shards, of more and of fewer", async () => {
  for (const shards of [1, 3, 20]) {
    const sizes = await Dataset.fromArray(words, { shards: 5 })
      .reshard(shards)
      .mapShard(async function* (items, { shard }) {
        for await (const { at } of items) yield { at, shard };
      })
      .toArray();
    expect(sizes.map(({ at }) => at)).toEqual(words.map(({ at }) => at));
    expect(sizes.map(({ shard }) => shard)).toEqual(words.map((_, index) => Array.from({ length: shards }, (_each, shard) => shard).find((shard) => index < Math.floor((words.length * (shard + 1)) / shards))));
  }
});

test("what two groupBys by one key give is joined shard by shard", async () => {
  const lengths = Dataset.fromArray(words, { shards: 2 }).groupBy(({ word }) => word, (word) => ({ word, length: word.length }), { numOutputShards: 3 });
  const grouped = Dataset.fromArray(words.slice(4), { shards: 3 }).groupBy(({ word }) => word, countOf, { numOutputShards: 3 });
  const joined = await lengths.sortedMergeJoin(grouped, { leftKey: ({ word }) => word, rightKey: ({ word }) => word, how: "left" }).toArray();
  expect(joined.map(({ word }) => word).sort()).toEqual(counts.map(({ word }) => word));
  for (const { word, length, count } of joined as { word: string; length: number; count?: number }[]) {
    expect(length).toBe(word.length);
    expect(count ?? 0).toBe(words.slice(4).filter((each) => each.word === word).length);
  }
});

test("Merge join: unequal numbers of shards are refused, and told", async () => {
  const [left, right] = [2, 3].map((shards) => Dataset.fromArray(words, { shards })) as [Dataset<Word>, Dataset<Word>];
  const joining = left.sortedMergeJoin(right, { leftKey: ({ at }) => at, rightKey: ({ at }) => at }).toArray();
  await expect(joining).rejects.toMatchObject({ code: "ZEPHYR_UNEQUAL_SHARDS" });
});
