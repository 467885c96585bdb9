import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KILL_TEST_MODEL, killedRun, uninterruptedRun, type RunOutcome } from "../test/kill-and-resume.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";

const REPEATS = 20;

let root: string;
let tokens: string;
let expected: RunOutcome;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-kill-soak-"));
  tokens = join(root, "tokens");
  await storeOf(tokens, zipfDocuments(1, 60_000, KILL_TEST_MODEL.vocabSize), KILL_TEST_MODEL.vocabSize);
  expected = await uninterruptedRun(join(root, "uninterrupted"), tokens, 1);
});
afterAll(() => rm(root, { recursive: true }));

it.each([1, 2])(`${String(REPEATS)} runs killed three times each end in the bytes of the uninterrupted run (threads: %i)`, async (threads) => {
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const directory = join(root, `killed-${String(threads)}-${String(repeat)}`);
    expect(await killedRun(directory, tokens, threads), `repeat ${String(repeat)}`).toEqual(expected);
    await rm(directory, { recursive: true });
  }
});
