import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entry, silentLogger, withLocalContext } from "@marin/iris";
import { expect } from "vitest";
import { bind, Dataset, execute } from "../src/index.js";
import { type dieAtWord, plainPipeline, shuffledPipeline, type wordsOf } from "./fixtures/pipeline-work.js";
import { runUnderFire, tree } from "./killed-pipeline.js";

const module = new URL("fixtures/pipeline-work.ts", import.meta.url);

async function inDirectory<R>(work: (directory: string) => Promise<R>): Promise<R> {
  const directory = await mkdtemp(join(tmpdir(), "zephyr-kill-"));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A generator of numbers between 0 and 1 that are the same always (Park and Miller's of 1988). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** A worker kills itself in the middle of a shard: twice, then as often as the shard may lose workers and once more. */
export async function killMidShard(): Promise<void> {
  await inDirectory(async (directory) => {
    const marks = join(directory, "marks");
    await mkdir(marks);
    const dataset = (times: number): Dataset<{ id: string }> =>
      Dataset.fromArray([...Array(12).keys()], { shards: 4 })
        .flatMap(bind(entry<typeof wordsOf>(module, "wordsOf"), 0))
        .mapShard(bind(entry<typeof dieAtWord>(module, "dieAtWord"), marks, times));
    const options = { workers: 2, isolation: "process", name: "mortal", maxWorkerLosses: 2 } as const;
    const { results, stages, counters } = await execute(dataset(2), options);
    expect(results.map(({ id }) => id)).toEqual([...Array(12).keys()].flatMap((seed) => [...Array(40).keys()].map((index) => `${String(seed)}-${String(index)}`)));
    expect(stages[0]).toMatchObject({ workerLosses: 2 });
    // What a lost attempt had counted is lost with it.
    expect(counters["words"]?.sum).toBe(480);
    await expect(execute(dataset(6), options)).rejects.toMatchObject({
      code: "ZEPHYR_POISON_SHARD",
      message: expect.stringContaining('"mortal" has lost 3 workers in stage 0 at shard 1 of 4 (3 items)') as string,
      data: { shard: 1, losses: 3, signal: "SIGKILL" },
    });
  });
}

const settings = { kind: "shuffled", seeds: 36, shards: 6, turns: 400_000, workers: 2, skipExisting: false } as const;

/** Kills workers and coordinators at random, over some executions, and compares what they leave with what one in peace leaves. */
export async function killRandomly(kills: number, executions: number): Promise<number> {
  return inDirectory(async (directory) => {
    const random = randomOf(kills);
    const calm = join(directory, "calm");
    const { counters } = await withLocalContext({ log: silentLogger }, () => execute(shuffledPipeline({ ...settings, out: calm })));
    const expected = await tree(calm);
    let done = 0;
    for (let execution = 0; execution < executions; execution += 1) {
      const out = join(directory, `out-${String(execution)}`);
      const scratch = join(directory, `scratch-${String(execution)}`);
      const run = await runUnderFire({ ...settings, out, scratch }, { kills: Math.ceil((kills - done) / (executions - execution)), delayMs: 500, coordinator: 0.4, random });
      done += run.kills.coordinators + run.kills.workers;
      expect(await tree(out)).toEqual(expected);
      expect(run.counters).toEqual(counters);
      // Stages that nobody reads any more are gone, and so is what interrupted attempts had left.
      expect((await readdir(scratch)).filter((name) => !name.includes("lock"))).toEqual(["plan.json", "stage-000.json", "stage-001", "stage-001.json"]);
      expect(await readdir(out)).toEqual(Object.keys(expected));
      expect(await readdir(join(scratch, "stage-001"))).toEqual([0, 1, 2, 3, 4].map((shard) => `0000${String(shard)}.json`));
    }
    return done;
  });
}

/** Kills the coordinator again and again; what is there already is skipped. */
export async function resumeByRunningAgain(kills: number, executions: number): Promise<void> {
  await inDirectory(async (directory) => {
    const random = randomOf(kills + 1);
    const plain = { ...settings, kind: "plain", skipExisting: true } as const;
    const calm = join(directory, "calm");
    await execute(plainPipeline({ ...plain, out: calm }));
    const expected = await tree(calm);
    for (let execution = 0; execution < executions; execution += 1) {
      const out = join(directory, `out-${String(execution)}`);
      const run = await runUnderFire({ ...plain, out, scratch: undefined }, { kills: Math.ceil(kills / executions), delayMs: 700, coordinator: 1, random });
      expect(await readdir(out)).toEqual([".zephyr", ...Object.keys(expected)]);
      expect((await readdir(join(out, ".zephyr"))).every((name) => name.endsWith(".json"))).toBe(true);
      expect(run.kills.coordinators).toBe(Math.ceil(kills / executions));
      expect(await tree(out)).toEqual(expected);
      await expect(execute(plainPipeline({ ...plain, turns: 1, out }))).rejects.toMatchObject({ code: "ZEPHYR_PLAN_CHANGED" });
    }
  });
}
