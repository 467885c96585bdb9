import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { tiny, writeCorpus } from "../test/corpus.js";
import { expectSameArtifacts, firstLmKilled, type Victim } from "../test/kill.js";
import { canFindProcesses } from "../test/processes.js";
import { firstLm } from "../test/run-command.js";

const args = [...tiny, "--set", "train.steps=600", "--set", "train.checkpointEvery=50"];
const victims: readonly Victim[] = ["command", "worker", "youngest"];
const ROUNDS = 3;

it.runIf(canFindProcesses)("kill -9 of each kind of process, in each step, at any moment, changes no artifact", { timeout: 3 * 3_600_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "marin-kill-soak-"));
  try {
    await writeCorpus(join(directory, "texts"), 60);
    const whole = await firstLm(directory, [...args, "--prefix", "whole"]);
    expect([whole.code, whole.stderr]).toEqual([0, ""]);
    const steps = whole.events[0]?.steps ?? [];
    expect(steps.length).toBeGreaterThan(5);
    for (const victim of victims) {
      for (const step of steps) {
        const prefixed = [...args, "--prefix", `${victim}-${step}`];
        for (let round = 0; round < ROUNDS; round++) await firstLmKilled(directory, prefixed, { victim, step, after: Math.floor(Math.random() * 3000) });
        await expectSameArtifacts(directory, prefixed, whole);
        await rm(join(directory, `${victim}-${step}`), { recursive: true });
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
