import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { tiny, writeCorpus } from "../test/corpus.js";
import { expectSameArtifacts, firstLmKilled } from "../test/kill.js";
import { canFindProcesses, untilNoneIsLeft } from "../test/processes.js";
import { firstLm, ran, type Finished } from "../test/run-command.js";

const args = [...tiny, "--set", "train.steps=600", "--set", "train.checkpointEvery=50"];

let directory: string;
let whole: Finished;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-kill-"));
  await writeCorpus(join(directory, "texts"), 60);
  whole = await firstLm(directory, [...args, "--prefix", "whole"]);
  expect([whole.code, whole.stderr]).toEqual([0, ""]);
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe.runIf(canFindProcesses)("kill -9", () => {
  it.each([
    { victim: "command", step: "train", after: "progress" },
    { victim: "worker", step: "train", after: "progress" },
    { victim: "worker", step: "documents", after: 1500 },
    { victim: "youngest", step: "documents", after: 1500 },
    { victim: "command", step: "tokens", after: 0 },
  ] as const)("of the $victim in step $step leaves nobody behind, and the next run comes to the same artifacts", { timeout: 180_000 }, async (kill) => {
    const prefixed = [...args, "--prefix", `${kill.victim}-${kill.step}`];
    const killed = await firstLmKilled(directory, prefixed, kill);
    if (kill.victim === "command") expect(killed.code).toBeNull();
    if (kill.victim === "worker" && kill.step === "train") {
      expect(killed.code).toBe(1);
      expect(killed.events.at(-1)).toMatchObject({ event: "error", code: "IRIS_TASK_EXITED", step: "train" });
    }
    await expectSameArtifacts(directory, prefixed, whole);
  });
});

it.runIf(canFindProcesses)("leaves nobody behind when it ends by itself, or by Ctrl-C", { timeout: 120_000 }, async () => {
  await untilNoneIsLeft(whole.mark);
  let sent = 0;
  const stopped = await firstLm(directory, [...args, "--prefix", "stopped"], ({ event, step, done = 0 }, child) => {
    if (sent > 0 || event !== "progress" || step !== "train" || done < 10) return;
    sent = performance.now();
    child.kill("SIGINT");
  });
  await untilNoneIsLeft(stopped.mark);
  expect(performance.now() - sent).toBeLessThan(5000);
  expect(stopped.code).toBe(130);
  expect(stopped.events.at(-1)).toMatchObject({ event: "error", code: "MARIN_INTERRUPTED", step: "train" });
  const continued = await expectSameArtifacts(directory, [...args, "--prefix", "stopped"], whole);
  expect(continued.events.some(({ message }) => /^continues after step [1-9]/.test(message ?? ""))).toBe(true);
});

it("lets one of two runs on one store make an artifact; a run that is in another's way says who is at it, and goes on later", { timeout: 180_000 }, async () => {
  const prefixed = [...args, "--prefix", "shared"];
  let other: Promise<Finished> | undefined;
  const first = await firstLm(directory, prefixed, ({ event, step, pid }) => {
    if (other === undefined && event === "job" && step === "train" && pid !== undefined) other = firstLm(directory, prefixed);
  });
  const second = await other;
  expect(second).toBeDefined();
  // The second comes too late where the machine was slow to start it; and the first can meet what the second is just putting down.
  for (const run of [first, second]) {
    if (run === undefined || run.code === 0) continue;
    expect(run.events.at(-1)).toMatchObject({ event: "error", code: "FINESTORE_BUSY" });
    expect(run.stderr).toMatch(/is being produced already.*in use by process \d+/);
  }
  await expectSameArtifacts(directory, prefixed, whole);
  expect(ran(await firstLm(directory, prefixed))).toEqual([]);
});
