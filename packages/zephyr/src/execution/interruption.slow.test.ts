import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { entry } from "@marin/iris";
import { type exitInTheMiddle, shuffledPipeline, type wordsOf } from "../../test/fixtures/pipeline-work.js";
import { startPipeline } from "../../test/killed-pipeline.js";
import { Dataset } from "../dataset.js";
import { bind } from "../plan/work.js";
import { execute } from "./execute.js";

// Starting processes takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const directory = await mkdtemp(join(tmpdir(), "zephyr-interruption-"));
afterAll(() => rm(directory, { recursive: true, force: true }));

const module = new URL("../../test/fixtures/pipeline-work.ts", import.meta.url);
const pipeline = { seeds: 36, shards: 6, skipExisting: false };

/** What lies in a directory, but for what the loader of TypeScript keeps in the system's temporary one. */
async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => !name.startsWith("tsx-"));
}

/** Starts an execution whose temporary files go to a directory of its own, and sends it a signal as soon as there are some. */
async function endedBy(signal: NodeJS.Signals, isolation: "thread" | "process"): Promise<{ readonly ended: unknown; readonly left: string[]; readonly temporary: string; readonly out: string }> {
  const temporary = join(directory, `${signal}-${isolation}`);
  const out = join(temporary, "out");
  await mkdir(out, { recursive: true });
  const child = startPipeline({ kind: "shuffled", name: "ended", workers: 2, isolation, scratch: undefined, ...pipeline, turns: 400_000, out }, { TMPDIR: temporary });
  const ended = once(child, "close");
  while ((await readdir(temporary, { recursive: true })).every((name) => !name.includes("stage-000"))) await setTimeout(20);
  child.kill(signal);
  const [code, by] = (await ended) as [number | null, string | null];
  expect(await readdir(out)).toEqual([]);
  return { ended: by ?? code, left: (await namesIn(temporary)).filter((name) => name !== "out"), temporary, out };
}

test.each([
  ["SIGINT", "thread"],
  ["SIGTERM", "process"],
] as const)("%s ends an execution with workers that are a %s each: nothing is left, and the signal does what it would have done", async (signal, isolation) => {
  expect(await endedBy(signal, isolation)).toMatchObject({ ended: signal, left: [] });
});

test.each(["thread", "process"] as const)("a worker that is a %s and ends in the middle of an output leaves no part of it, whether the output is written after all or not", async (isolation) => {
  for (const mark of [join(directory, `mark-${isolation}`), undefined]) {
    const out = join(directory, `${isolation}-${mark === undefined ? "poison" : "once"}`);
    const dataset = Dataset.fromArray([1, 5], { shards: 2 })
      .flatMap(bind(entry<typeof wordsOf>(module, "wordsOf"), 0))
      .mapShard(bind(entry<typeof exitInTheMiddle>(module, "exitInTheMiddle"), mark))
      .writeJsonl(join(out, "{shard}.jsonl"));
    const running = execute(dataset, { workers: 1, isolation, maxWorkerLosses: 1 });
    if (mark === undefined) await expect(running).rejects.toMatchObject({ code: "ZEPHYR_POISON_SHARD" });
    else expect((await running).stages[0]?.workerLosses).toBe(1);
    expect(await readdir(out)).toEqual(mark === undefined ? ["0.jsonl"] : ["0.jsonl", "1.jsonl"]);
  }
});

test("what a killed execution has left goes with the next one", async () => {
  const { ended, left, temporary, out } = await endedBy("SIGKILL", "process");
  expect(ended).toBe("SIGKILL");
  expect(left).not.toEqual([]);
  vi.stubEnv("TMPDIR", temporary);
  await execute(shuffledPipeline({ ...pipeline, turns: 0, out }));
  vi.unstubAllEnvs();
  expect(await namesIn(temporary)).toEqual(["out"]);
});
