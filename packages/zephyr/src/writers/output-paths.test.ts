import { expect, test } from "vitest";
import { literalPath } from "../literal-path.js";
import { outputPaths } from "./output-paths.js";

const inputs = (...paths: string[]): { input: string }[] => paths.map((input) => ({ input }));
const none = (count: number): object[] => Array.from({ length: count }, () => ({}));

test.each<[string, readonly object[], string[]]>([
  ["out/part-{shard:05d}-of-{total:05d}.jsonl.zst", none(2), ["out/part-00000-of-00002.jsonl.zst", "out/part-00001-of-00002.jsonl.zst"]],
  ["{shard}.{total}.parquet", none(11).slice(0, 2), ["0.2.parquet", "1.2.parquet"]],
  ["gs://b/{basename}.parquet", inputs("a/x.jsonl.gz", "b/y.tar.b.CSV", "s3://c/.hidden", "https://h/z.txt.zst?token=1"), ["x", "y.tar.b", ".hidden", "z"].map((name) => `gs://b/${name}.parquet`)],
  ["one.jsonl", none(1), ["one.jsonl"]],
  ["{basename}-{shard:02d}", inputs("a.parquet", "a.parquet"), ["a-00", "a-01"]],
  ["any.jsonl", [], []],
  [`${literalPath("out {shard} [1] *?\\")}/{shard}.jsonl`, none(2), ["out {shard} [1] *?\\/0.jsonl", "out {shard} [1] *?\\/1.jsonl"]],
  ["{basename}", inputs("a#1/x.jsonl", "a#1/50%?.txt.gz", "gs://b/y#2.csv", "https://h/z.csv?a#b"), ["x", "50%?", "y#2", "z"]],
])("%s", (pattern, shards, paths) => {
  expect(outputPaths(pattern, shards)).toEqual(paths);
});

test.each<[string, readonly object[], string]>([
  ["out.jsonl", none(2), "shard 0 and shard 1 would both be written to out.jsonl"],
  ["{basename}.jsonl", inputs("a/x.jsonl", "b/x.txt"), "shard 0 (a/x.jsonl) and shard 1 (b/x.txt) would both be written to x.jsonl"],
  ["{total}.jsonl", none(2), "put {shard} into the name"],
  ["{basename}.jsonl", [{ input: "a.txt" }, {}], "shard 1 comes from no file"],
  ["{shards}.jsonl", none(1), "{shards} is no placeholder"],
  ["{shard:5d}.jsonl", none(1), "{shard:5d} is no placeholder"],
  ["{basename:02d}.jsonl", none(1), "is no placeholder"],
  ["{shard.jsonl", none(1), "a brace stands alone"],
  ["out/", none(1), "it names no file"],
  ["", none(1), "it names no file"],
])("%s is refused", (pattern, shards, message) => {
  expect(() => outputPaths(pattern, shards)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_PATTERN", message: expect.stringContaining(message) as string }));
});
