import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { killedRun, killTestTokens, uninterruptedRun, type RunOutcome } from "../test/kill-and-resume.js";

let root: string;
let tokens: string;
let expected: RunOutcome;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-kill-soak-"));
  tokens = join(root, "tokens");
  await killTestTokens(tokens);
  expected = await uninterruptedRun(join(root, "uninterrupted"), tokens, 1);
});
afterAll(() => rm(root, { recursive: true }));

it("ends in the same bytes at 2 threads", async () => {
  expect(await uninterruptedRun(join(root, "two-threads"), tokens, 2)).toEqual(expected);
});

it.each([1, 2])("bit-identical resume: a run of 60 steps killed 20 times ends in the bytes of the uninterrupted one (threads: %i)", async (threads) => {
  expect(await killedRun(join(root, `killed-${String(threads)}`), tokens, threads, 20)).toEqual(expected);
});

it.each([1, 2])("bit-identical resume: 20 runs killed three times each end in the bytes of the uninterrupted one (threads: %i)", async (threads) => {
  for (let repeat = 0; repeat < 20; repeat++) {
    const directory = join(root, `killed-${String(threads)}-${String(repeat)}`);
    expect(await killedRun(directory, tokens, threads, 3), `repeat ${String(repeat)}`).toEqual(expected);
    await rm(directory, { recursive: true });
  }
});
