import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entry } from "@marin/iris";
import { afterAll, expect, test } from "vitest";
import { type failAt5, shuffledPipeline } from "../../test/fixtures/pipeline-work.js";
import { tree } from "../../test/killed-pipeline.js";
import { Dataset } from "../dataset.js";
import { execute } from "./execute.js";

const module = new URL("../../test/fixtures/pipeline-work.ts", import.meta.url);
const directory = await mkdtemp(join(tmpdir(), "zephyr-execute-"));
afterAll(() => rm(directory, { recursive: true, force: true }));

test("results, files and counts are the same for 0, 1 and 3 workers, threads and processes, and however little memory they have", async () => {
  const runs = [];
  for (const [place, options] of [{}, { workers: 1 }, { workers: 3, memoryBytes: 1 }, { workers: 2, isolation: "process" as const }].entries()) {
    const out = join(directory, String(place));
    const { results, counters, stages } = await execute(shuffledPipeline({ seeds: 12, shards: 5, turns: 0, out, skipExisting: false }), options);
    runs.push({ sizes: results.map(({ records, bytes }) => ({ records, bytes })), counters, stages, files: await tree(out) });
  }
  for (const run of runs.slice(1)) expect(run).toEqual(runs[0]);
});

test.each(["thread", "process"] as const)("an error of a function in a %s is not tried again, names shard and input, and keeps the function's frame", async (isolation) => {
  const seeds = Dataset.fromArray([...Array(10).keys()], { shards: 4 });
  await expect(execute(seeds.map(entry<typeof failAt5>(module, "failAt5")), { workers: 1, isolation, name: "fragile" })).rejects.toMatchObject({
    code: "ZEPHYR_SHARD_FAILED",
    message: expect.stringMatching(/^"fragile" failed in stage 0 at shard 2 of 4 \(2 items\): five is too much \(at .*failAt5.*pipeline-work\.ts/) as string,
    data: { stage: 0, shard: 2, shards: 4, frame: expect.stringContaining("pipeline-work.ts") as string },
    cause: { name: "TypeError", message: "five is too much" },
  });
});
