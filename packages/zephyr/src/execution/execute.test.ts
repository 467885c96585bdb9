import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createStorage, entry, type Registry, silentLogger, type TaskProgress, withLocalContext } from "@marin/iris";
import { afterAll, expect, test, vi } from "vitest";
import { tree } from "../../test/killed-pipeline.js";
import { type failAt5, plainPipeline, shuffledPipeline, wordsOf } from "../../test/fixtures/pipeline-work.js";
import { Dataset } from "../dataset.js";
import { bind } from "../plan/work.js";
import type { WriteParquetOptions } from "../writers/write-spec.js";
import { dryRun } from "./dry-run.js";
import { execute } from "./execute.js";

const module = new URL("../../test/fixtures/pipeline-work.ts", import.meta.url);
const directory = await mkdtemp(join(tmpdir(), "zephyr-execute-"));
afterAll(() => rm(directory, { recursive: true, force: true }));
let places = 0;
const place = (): string => join(directory, String((places += 1)));
const seeds = Dataset.fromArray([...Array(10).keys()], { shards: 4 });
const small = { seeds: 8, shards: 4, turns: 0, skipExisting: false };

test("results, files and counts are the same in this process and with workers; nothing else is left", { timeout: 120_000 }, async () => {
  const temporary = place();
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
  const runs = [];
  const registered: string[] = [];
  const living = new Set<string>();
  const registry: Registry = {
    register: async (name) => {
      registered.push(name.replace(/\/[0-9a-f]{8}\//, "/run/"));
      living.add(name);
      return { close: async () => void living.delete(name) };
    },
    resolve: async () => undefined,
  };
  for (const options of [{}, { workers: 2, name: "words" }]) {
    const out = place();
    const { results, counters, stages } = await withLocalContext({ registry, log: silentLogger }, () => execute(shuffledPipeline({ ...small, out }), options));
    runs.push({ results: results.map(({ path, ...rest }) => ({ ...rest, path: path.slice(out.length) })), counters, stages, tree: await tree(out) });
  }
  expect(runs[1]).toEqual(runs[0]);
  // Workers are known while they work for an execution, each once, and no longer.
  expect(registered.sort()).toEqual(["zephyr/words/run/0", "zephyr/words/run/1"]);
  expect(living.size).toBe(0);
  const [first] = runs;
  expect(first?.results.map(({ path }) => path)).toEqual([0, 1, 2, 3, 4].map((shard) => `/words-0000${String(shard)}-of-00005.jsonl`));
  const all = [...Array(8).keys()].flatMap((seed) => [...wordsOf(0, seed)]);
  expect(first?.counters["words"]).toEqual({ sum: 320, min: 1, max: 1, updates: 320 });
  expect(first?.counters["amount"]).toEqual({ sum: all.reduce((sum, { amount }) => sum + amount, 0), min: Math.min(...all.map(({ amount }) => amount)), max: Math.max(...all.map(({ amount }) => amount)), updates: 320 });
  expect(first?.stages.map(({ shards, records, resumed, skipped, workerLosses }) => ({ shards, records, resumed, skipped, workerLosses }))).toEqual([
    { shards: 4, records: 320, resumed: 0, skipped: 0, workerLosses: 0 },
    { shards: 5, records: new Set(all.map(({ word }) => word)).size, resumed: 0, skipped: 0, workerLosses: 0 },
  ]);
  expect((await readdir(temporary)).filter((name) => name.includes("zephyr"))).toEqual([]);
  vi.unstubAllEnvs();
});

test("an inline function and an iterable are refused before any worker starts, showing the named form", async () => {
  const double = (x: number): number => 2 * x;
  await expect(execute(seeds.map(double), { workers: 2 })).rejects.toMatchObject({ code: "ZEPHYR_INLINE_FUNCTION", message: expect.stringContaining('entry<typeof double>(import.meta.url, "double")') as string });
  await expect(execute(Dataset.fromAsyncIterable([1]), { workers: 2 })).rejects.toMatchObject({ code: "ZEPHYR_LOCAL_SOURCE" });
  expect((await execute(seeds.map(double))).results).toEqual([...Array(10).keys()].map(double));
});

test("an error of a function is not tried again, names shard and input, and keeps the function's frame", async () => {
  const running = execute(seeds.map(entry<typeof failAt5>(module, "failAt5")), { name: "fragile" });
  await expect(running).rejects.toMatchObject({
    code: "ZEPHYR_SHARD_FAILED",
    message: expect.stringMatching(/^"fragile" failed in stage 0 at shard 2 of 4 \(2 items\): five is too much \(at .*failAt5.*pipeline-work\.ts/) as string,
    data: { stage: 0, shard: 2, shards: 4, frame: expect.stringContaining("pipeline-work.ts") as string },
    cause: { name: "TypeError", message: "five is too much" },
  });
});

test("a take works on no more shards than it needs, for any number of workers, and fails only where it had to read", async () => {
  const worked: number[] = [];
  const work = (x: number): number => {
    worked.push(x);
    return x;
  };
  const many = Dataset.fromArray([...Array(20).keys()], { shards: 10 });
  const scratch = place();
  for (const [count, needed] of [[0, 0], [2, 1], [3, 2], [7, 4], [100, 10]] as const) {
    worked.length = 0;
    const { results, stages } = await execute(many.map(work).take(count));
    expect(results).toEqual([...Array(Math.min(count, 20)).keys()]);
    expect(worked).toEqual([...Array(Math.min(2 * needed, 20)).keys()]);
    expect(stages[0]).toMatchObject({ shards: 10, records: 2 * needed });
  }
  // The third shard fails: two are enough.
  const fragile = seeds.map(entry<typeof failAt5>(module, "failAt5"));
  for (const workers of [0, 2]) expect((await execute(fragile.take(4), { workers })).results).toEqual([0, 1, 2, 3]);
  await expect(execute(fragile.take(6))).rejects.toMatchObject({ code: "ZEPHYR_SHARD_FAILED", data: { shard: 2 } });
  // Taken up again, nothing is worked on that was finished, and what an earlier stage has given is not made anew.
  const grouped = many.map(work).groupBy((x) => x, (key) => key, { numOutputShards: 4 }).take(3);
  const first = await execute(grouped, { scratch });
  worked.length = 0;
  const again = await execute(grouped, { scratch });
  expect({ worked, results: again.results }).toEqual({ worked: [], results: first.results });
  expect((await dryRun(grouped)).text).toContain("until the first have 3 records");
});

test("a file of state that is damaged is an error that names it and says what to do", async () => {
  const scratch = place();
  const out = place();
  const dataset = seeds.map((x) => ({ x })).writeJsonl(join(out, "{shard}.jsonl"), { skipExisting: true });
  const numbers = seeds.map((x) => x).count();
  await execute(dataset);
  await execute(numbers, { scratch });
  for (const damage of ["", "{", "null", "5", "{}"]) {
    for (const name of ["plan.json", "stage-001/00000.json", "stage-000.json"]) {
      const path = join(scratch, name);
      const whole = await readFile(path);
      await writeFile(path, damage);
      await expect(execute(numbers, { scratch }), `${name}: ${damage}`).rejects.toMatchObject({ code: "ZEPHYR_BAD_SCRATCH", data: { path, scratch }, message: expect.stringContaining("Remove the scratch directory") as string });
      await writeFile(path, whole);
    }
    await writeFile(join(out, ".zephyr", "1.jsonl.json"), damage);
    await expect(execute(dataset)).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED", message: expect.stringContaining(`${join(out, ".zephyr", "1.jsonl.json")}, is damaged`) as string });
    expect((await dryRun(dataset)).outputs[1]).toMatchObject({ action: "refuse" });
  }
  expect((await execute(numbers, { scratch })).results).toEqual([10]);
});

test("what is no key names stage, record and function, and says what would be right", async () => {
  const items = Dataset.fromArray([{ k: 1 }, { k: undefined as unknown as number }]);
  const group = (options: Parameters<typeof items.groupBy>[2], key = ({ k }: { k: number }): number => k) => items.groupBy(key, (k) => k, options).toArray();
  await expect(group({})).rejects.toMatchObject({ code: "ZEPHYR_BAD_KEY", message: "Record 1 of 2 items (stage 0): The key is undefined: keys are null, booleans, numbers, bigints, text, dates, Uint8Array, and arrays and plain objects of these. Give null for items without a key: they are a group of their own.", data: { record: 1 } });
  await expect(group({ sortBy: ({ k }) => k }, () => 0)).rejects.toMatchObject({ code: "ZEPHYR_BAD_KEY", message: expect.stringMatching(/^Record 1 of 2 items \(stage 0\): What sortBy gives is undefined: keys are .* Give null for items without it/) as string });
  await expect(group({ sortBy: ({ k }) => [k], combiner: (a) => a }, () => 0)).rejects.toMatchObject({ message: expect.stringContaining("What sortBy gives, at [0], is undefined") as string });
  await expect(Dataset.fromArray([{ k: 1 }, { k: 2 }]).groupBy(() => 0, (k) => k, { sortBy: ({ k }) => k, combiner: () => ({}) }).toArray()).rejects.toMatchObject({ code: "ZEPHYR_BAD_KEY", message: expect.stringContaining("A record that the combiner has made of records of 2 items (stage 0): What sortBy gives is undefined") as string });
  await expect(items.sortedMergeJoin(items, { leftKey: ({ k }) => k, rightKey: ({ k }) => k }).toArray()).rejects.toMatchObject({ code: "ZEPHYR_BAD_KEY", message: expect.stringMatching(/^(left|right) side, 2 items .*, record 1: The key is undefined/) as string });
});

test("what an interrupted execution has finished is taken up; a changed plan is refused, naming the change", async () => {
  const scratch = place();
  let asked: number[] = [];
  let broken = true;
  const work = (x: number): number => {
    asked.push(x);
    if (x === 5 && broken) throw new Error("not yet");
    return x * 10;
  };
  const dataset = seeds.map(work).groupBy((x) => x % 3, async (key, items) => { let sum = 0; for await (const item of items) sum += item; return { key, sum }; }, { numOutputShards: 2 });
  await expect(execute(dataset, { scratch })).rejects.toMatchObject({ code: "ZEPHYR_SHARD_FAILED" });
  expect(asked).toEqual([0, 1, 2, 3, 4, 5]);
  asked = [];
  broken = false;
  const { results, stages } = await execute(dataset, { scratch });
  expect(asked).toEqual([5, 6, 7, 8, 9]);
  expect(stages.map(({ resumed }) => resumed)).toEqual([2, 0]);
  expect([...results].sort((a, b) => a.key - b.key)).toEqual([{ key: 0, sum: 180 }, { key: 1, sum: 120 }, { key: 2, sum: 150 }]);
  asked = [];
  const again = await execute(dataset, { scratch });
  expect({ asked, results: again.results, counters: again.counters, resumed: again.stages.map(({ resumed }) => resumed) }).toEqual({ asked: [], results, counters: {}, resumed: [4, 2] });
  await expect(execute(dataset.takePerShard(1), { scratch })).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED", message: expect.stringContaining("take 1") as string });
  await expect(execute(seeds.map((x) => x + 1), { scratch })).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED" });
});

test("skipExisting: what is there is left; another plan's output under the same name is refused; dryRun tells both and touches nothing", async () => {
  const out = place();
  const pipeline = { ...small, out, skipExisting: true };
  const before = await dryRun(plainPipeline(pipeline));
  expect(before.outputs.map(({ action }) => action)).toEqual(["write", "write", "write", "write"]);
  await expect(readdir(out)).rejects.toMatchObject({ code: "ENOENT" });
  const first = await execute(plainPipeline(pipeline));
  const files = await tree(out);
  await rm(join(out, "words-00002.jsonl"));
  expect((await dryRun(plainPipeline(pipeline))).outputs.map(({ action }) => action)).toEqual(["skip", "skip", "write", "skip"]);
  const second = await execute(plainPipeline(pipeline));
  expect(second.stages[0]).toMatchObject({ skipped: 3, records: 320 });
  expect(second.counters["words"]).toMatchObject({ sum: 80 });
  expect(second.results.map(({ path, records, bytes }) => ({ path, records, bytes }))).toEqual(first.results.map(({ path, records, bytes }) => ({ path, records, bytes })));
  expect(await tree(out)).toEqual(files);
  const changed = plainPipeline({ ...pipeline, turns: 1 });
  expect((await dryRun(changed)).text).toContain(`refuses to skip ${join(out, "words-00000.jsonl")}`);
  await expect(execute(changed)).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED", data: { path: join(out, "words-00000.jsonl") } });
  expect(await tree(out)).toEqual(files);
  // Without it what is there is replaced, and known to be replaced.
  await execute(plainPipeline({ ...pipeline, turns: 1, skipExisting: false }));
  await expect(execute(plainPipeline(pipeline))).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED" });
});

test("how a file is stored is part of the plan", async () => {
  const scratch = place();
  const written = (options: WriteParquetOptions): ReturnType<typeof execute> => execute(Dataset.fromArray([{ a: 1 }]).writeParquet(join(directory, "stored.parquet"), options), { scratch });
  await written({});
  await written({});
  for (const options of [{ compressionLevel: 1 }, { compression: "gzip" }, { rowGroupRows: 1 }] as const) await expect(written(options)).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED" });
});

test("an input file that has changed makes its output another one; the others stay", async () => {
  const root = place();
  const input = join(root, "in");
  const write = (name: string, rows: readonly object[]): Promise<void> => writeFile(join(input, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  await mkdir(input, { recursive: true });
  await write("a.jsonl", [{ n: 1 }, { n: 2 }]);
  await write("b.jsonl", [{ n: 3 }]);
  const dataset = Dataset.fromFiles<{ n: number }>(join(input, "*.jsonl"))
    .map(({ n }) => ({ n: n * 2 }))
    .writeJsonl(join(root, "out", "{basename}.jsonl"), { skipExisting: true });
  expect((await execute(dataset)).stages[0]?.skipped).toBe(0);
  await write("c.jsonl", [{ n: 4 }]);
  expect((await execute(dataset)).stages[0]?.skipped).toBe(2);
  expect(await readFile(join(root, "out", "c.jsonl"), "utf8")).toBe('{"n":8}\n');
  await write("b.jsonl", [{ n: 5 }, { n: 6 }]);
  await expect(execute(dataset)).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED", data: { path: join(root, "out", "b.jsonl") } });
});

test("an input file in a bucket that has changed and kept its size is another one, too", async () => {
  const storage = createStorage();
  const dataset = Dataset.fromFiles("memory://in/*.jsonl").writeJsonl("memory://out/{basename}.jsonl", { skipExisting: true });
  await withLocalContext({ storage }, async () => {
    await storage.write("memory://in/a.jsonl", '{"n":1}\n');
    await execute(dataset);
    expect((await execute(dataset)).stages[0]?.skipped).toBe(1);
    await storage.write("memory://in/a.jsonl", '{"n":2}\n');
    expect((await dryRun(dataset)).outputs).toEqual([{ path: "memory://out/a.jsonl", action: "refuse" }]);
    await expect(execute(dataset)).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED", data: { path: "memory://out/a.jsonl" } });
  });
});

test("an output that is an input too is refused: executed again it would be read", async () => {
  const root = place();
  await mkdir(root);
  await writeFile(join(root, "a.jsonl"), '{"n":1}\n');
  const dataset = Dataset.fromFiles(join(root, "*.jsonl"));
  await expect(execute(dataset.writeJsonl(join(root, "x", "..", "{basename}.jsonl")))).rejects.toMatchObject({ code: "ZEPHYR_BAD_PATTERN", message: expect.stringContaining("a.jsonl is read by the same dataset") as string });
  const beside = dataset.writeJsonl(join(root, "out-{shard}.jsonl"));
  await execute(beside);
  await expect(execute(beside)).rejects.toMatchObject({ code: "ZEPHYR_BAD_PATTERN", data: { path: join(root, "out-0.jsonl") } });
  expect(await tree(root)).toEqual({ "a.jsonl": '{"n":1}\n', "out-0.jsonl": '{"n":1}\n' });
});

test("progress counts shards of all stages; a stage that comes to nothing for long is told in the log", async () => {
  const told: TaskProgress[] = [];
  const steps: string[] = [];
  let release: () => void = () => undefined;
  const warned = new Promise<void>((resolve) => (release = resolve));
  const log = createLogger({
    write: (line) => {
      if (line.includes("no shard was finished for 20 ms") && line.includes("1 (3 items)")) release();
    },
  });
  await withLocalContext({ log, onProgress: (progress) => void told.push(progress) }, async () => {
    const dataset = seeds.map(async (x) => { if (x === 3) await warned; return x; }).count();
    const { results } = await execute(dataset, { name: "slow", stallWarningMs: 20, onProgress: ({ text }) => void steps.push(text) });
    expect(results).toEqual([10]);
  });
  expect(told.at(-1)).toMatchObject({ done: 5, total: 5, unit: "shards" });
  expect(steps).toContain("stage 1 of 2 (items | map (inline) | fold countRecords): 1 of 4 shards finished, 1 in work, 2 waiting");
});

test("a signal ends it with its reason, and nothing is left at the outputs", async () => {
  const out = place();
  const controller = new AbortController();
  const dataset = seeds.map((x) => { if (x === 3) controller.abort(new Error("enough")); return { x }; }).writeJsonl(join(out, "{shard}.jsonl"));
  await expect(execute(dataset, { signal: controller.signal })).rejects.toThrow("enough");
  expect(Object.keys(await tree(out))).toEqual(["0.jsonl"]);
});

test.each([{ workers: -1 }, { workers: 1.5 }, { maxWorkerLosses: -1 }, { memoryBytes: 0 }, { stallWarningMs: 0 }])("%o is refused", async (options) => {
  await expect(execute(seeds, options)).rejects.toMatchObject({ code: "ZEPHYR_BAD_OPTION", data: { option: Object.keys(options)[0] } });
  await expect(execute(seeds, { memoryBytes: "much" })).rejects.toMatchObject({ code: "RIGGING_BAD_SIZE" });
});

test("bound arguments come first", async () => {
  const words = await Dataset.fromArray([3]).flatMap(bind(entry<typeof wordsOf>(module, "wordsOf"), 2)).toArray();
  expect(words).toEqual([...wordsOf(2, 3)]);
});

test.each(["writeParquet", "writeArrow"] as const)("%s without a schema keeps what waits for one in the execution's scratch directory, and leaves nothing there", async (write) => {
  const [temporary, scratch, out] = [place(), place(), place()];
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
  const seen: string[] = [];
  const records = function* (): Generator<{ text: string }> {
    for (let index = 0; index < 10_002; index += 1) yield { text: "a" };
  };
  const look = async (record: { text: string }, index: number): Promise<{ text: string }> => {
    if (index === 10_001) seen.push(...(await readdir(scratch, { recursive: true })));
    return record;
  };
  await execute(Dataset.fromArray([0]).flatMap(records).map(look)[write](join(out, "{shard}")), { scratch });
  expect(seen.filter((name) => name.includes("rows-"))).not.toEqual([]);
  expect((await readdir(scratch, { recursive: true })).sort()).toEqual(["plan.json", "stage-000", "stage-000.json", "stage-000/00000.json"]);
  expect((await readdir(temporary)).filter((name) => name.includes("zephyr"))).toEqual([]);
  vi.unstubAllEnvs();
});
