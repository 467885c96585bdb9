import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { forgetfulRun, KILL_TEST_MODEL, KILL_TEST_RUN, killedRun, killTestTokens, uninterruptedRun, type RunOutcome } from "../test/kill-and-resume.js";

let root: string;
let tokens: string;
let expected: RunOutcome;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-kill-"));
  tokens = join(root, "tokens");
  await killTestTokens(tokens);
  expected = await uninterruptedRun(join(root, "uninterrupted"), tokens, 1);
});
afterAll(() => rm(root, { recursive: true }));

it("trains: the loss falls from that of a uniform guess, and hooks run at their cadence", () => {
  expect(expected.steps).toEqual(Array.from({ length: KILL_TEST_RUN.steps }, (_, i) => i + 1));
  expect(Math.abs((expected.losses[0] ?? 0) - Math.log(KILL_TEST_MODEL.vocabSize))).toBeLessThan(0.1);
  expect(expected.losses.at(-1)).toBeLessThan((expected.losses[0] ?? 0) - 0.7);
  expect(expected.exports).toEqual([7, 14, 21, 28, 35, 42, 49, 56, 60]);
  expect(Object.keys(expected.digests)).toEqual(["ema.safetensors", "metadata.json", "optimizer.safetensors", "parameters.safetensors"]);
});

it.each([1, 2])("bit-identical resume: killed three times and resumed, a run ends in the bytes of the uninterrupted run (threads: %i)", async (threads) => {
  expect(await killedRun(join(root, `killed-${String(threads)}`), tokens, threads, 3)).toEqual(expected);
});

it("bit-identical resume: without what the optimizer remembered, a run ends elsewhere", async () => {
  const { digests, losses } = await forgetfulRun(join(root, "forgetful"), tokens);
  expect(digests["parameters.safetensors"]).not.toBe(expected.digests["parameters.safetensors"]);
  expect(losses.slice(0, 20)).toEqual(expected.losses.slice(0, 20));
});
