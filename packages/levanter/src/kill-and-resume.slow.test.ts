import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KILL_TEST_MODEL, KILL_TEST_RUN, killedRun, uninterruptedRun, type RunOutcome } from "../test/kill-and-resume.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";

let root: string;
let tokens: string;
let expected: RunOutcome;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-kill-"));
  tokens = join(root, "tokens");
  await storeOf(tokens, zipfDocuments(1, 60_000, KILL_TEST_MODEL.vocabSize), KILL_TEST_MODEL.vocabSize);
  expected = await uninterruptedRun(join(root, "uninterrupted"), tokens, 1);
});
afterAll(() => rm(root, { recursive: true }));

it("trains: the loss falls from that of a uniform guess", () => {
  expect(expected.steps).toEqual(Array.from({ length: KILL_TEST_RUN.steps }, (_, i) => i + 1));
  expect(Math.abs((expected.losses[0] ?? 0) - Math.log(KILL_TEST_MODEL.vocabSize))).toBeLessThan(0.1);
  expect(expected.losses.at(-1)).toBeLessThan((expected.losses[0] ?? 0) - 0.7);
});

it("ends in the same bytes at 2 threads", async () => {
  expect(await uninterruptedRun(join(root, "two-threads"), tokens, 2)).toEqual(expected);
});

it.each([1, 2])("killed three times and resumed, ends in the bytes of the uninterrupted run (threads: %i)", async (threads) => {
  expect(await killedRun(join(root, `killed-${String(threads)}`), tokens, threads)).toEqual(expected);
});
