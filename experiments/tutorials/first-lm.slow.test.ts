import { cp, mkdtemp, open, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { parametersOf } from "../test/parameters.js";
import { canFindProcesses, untilNoneIsLeft } from "../test/processes.js";
import { directoryOf, firstLm, ran, type Finished } from "../test/run-command.js";

const CHECKPOINT_EVERY = 10;
/** Steps that a kill costs at most: the last checkpoint may still have been on its way to the disk. */
const LOST = 2 * CHECKPOINT_EVERY;
/** Enough that a run ordered dead at a third of them is dead long before the last, however late the order comes. */
const STEPS = 240;

/** The built-in texts with the tutorial's vocabulary, batch and length, and a narrower model. */
const narrow = ["model.layers=2", "model.hiddenSize=64", "model.heads=2", `train.steps=${STEPS}`, `train.checkpointEvery=${CHECKPOINT_EVERY}`, "sample.tokens=20"].flatMap(
  (assignment) => ["--set", assignment],
);

let directory: string;
let whole: Finished;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-first-lm-slow-"));
  whole = await firstLm(directory, [...narrow, "--prefix", "whole"]);
  expect([whole.code, whole.stderr]).toEqual([0, ""]);
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** A store that holds everything up to the tokens. */
beforeEach(async () => {
  await rm(join(directory, ".marin"), { recursive: true, force: true });
  await cp(join(directory, "whole"), join(directory, ".marin"), { recursive: true });
  for (const name of ["train", "evaluate", "sample"]) await rm(join(directory, ".marin", name), { recursive: true });
});

/** The step that each `progress` event of training tells of, in order. */
function trainingSteps({ events }: Finished): number[] {
  return events.filter(({ event, step }) => event === "progress" && step === "train").map(({ done = 0 }) => done);
}

/** The step at which training began; one past the last where all steps had been trained before. */
function firstStep(run: Finished): number {
  return trainingSteps(run)[0] ?? STEPS + 1;
}

/** Trains until a step is done, then has `act` end the run; returns when nothing of it is left. */
async function trainUntil(step: number, threads: number, act: (pid: number) => void): Promise<Finished> {
  let acted = false;
  const finished = await firstLm(directory, [...narrow, "--set", `train.threads=${threads}`], (event, child) => {
    if (acted || event.event !== "progress" || event.step !== "train" || (event.done ?? 0) < step) return;
    acted = true;
    act(child.pid ?? 0);
  });
  if (canFindProcesses) await untilNoneIsLeft(finished.mark);
  return finished;
}

describe("first-lm", () => {
  it.each([1, 2])("survives kill -9 of its process group three times, to the very same parameters, with %i threads", async (threads) => {
    let reached = 0;
    for (const stopAt of [1 + Math.floor(Math.random() * 20), 25 + Math.floor(Math.random() * 20), 50 + Math.floor(Math.random() * 20)]) {
      const killed = await trainUntil(stopAt, threads, (pid) => process.kill(-pid, "SIGKILL"));
      expect(killed.code).toBeNull();
      const first = firstStep(killed);
      if (reached > LOST) expect(first).toBeGreaterThan(1);
      expect(first).toBeGreaterThan(reached - LOST);
      reached = trainingSteps(killed).at(-1) ?? 0;
    }
    const finished = await firstLm(directory, [...narrow, "--set", `train.threads=${threads}`]);
    expect(finished.code).toBe(0);
    // The report is made from the same contents as before, and stays.
    expect(ran(finished).sort()).toEqual(["evaluate", "sample", "train"]);
    expect(firstStep(finished)).toBeGreaterThan(reached - LOST);
    expect(await parametersOf(finished)).toBe(await parametersOf(whole));
  });

  it("names a checkpoint that was shortened, and goes on after its removal", async () => {
    await trainUntil(35, 2, (pid) => process.kill(-pid, "SIGKILL"));
    const [partial = ""] = await readdir(join(directory, ".marin", "train"));
    const checkpoints = join(directory, ".marin", "train", partial, "files", "checkpoints");
    const newest = join(checkpoints, (await readdir(checkpoints)).filter((name) => name.startsWith("step-")).sort().at(-1) ?? "");
    await truncate(join(newest, "optimizer.safetensors"), 1000);
    const refused = await firstLm(directory, narrow);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(join(newest, "optimizer.safetensors"));
    await rm(newest, { recursive: true });
    expect(await parametersOf(await firstLm(directory, narrow))).toBe(await parametersOf(whole));
  });

  it("names a token file of which one byte was changed", async () => {
    const tokens = directoryOf(whole, "tokens").replace(join(directory, "whole"), join(directory, ".marin"));
    const [name = ""] = (await readdir(join(tokens, "train"), { recursive: true })).filter((file) => file.endsWith("tokens.bin"));
    const file = await open(join(tokens, "train", name), "r+");
    await file.write(Buffer.from([1]), 0, 1, 1001);
    await file.close();
    const { code, stderr } = await firstLm(directory, narrow);
    expect(code).toBe(1);
    expect(stderr).toContain(join(tokens, "train", name));
  });

  it("says so when a checkpoint cannot be written, keeps what is complete, and goes on when it can", async () => {
    const blocks = 1024; // 512 KiB: room for logs, not for a checkpoint.
    const full = await firstLm(directory, narrow, undefined, blocks);
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^error: step train: Cannot write .*too large.*\n$/);
    const [partial = ""] = await readdir(join(directory, ".marin", "train"));
    const files = join(directory, ".marin", "train", partial, "files");
    expect((await readdir(files, { recursive: true })).filter((name) => name.includes("step-"))).toEqual([]);
    expect(await parametersOf(await firstLm(directory, narrow))).toBe(await parametersOf(whole));
  });
});
