import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { gpt2, selectEngine, TokenStore, TokenStoreWriter, Trainer, type Engine } from "@marin/levanter";
import { afterAll, beforeAll, expect, test } from "vitest";

import { readLossCurve, writeLossCurve } from "./loss-curve.js";

const STEPS = 12;

let root: string;
let engine: Engine;
let tokens: TokenStore;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-curve-"));
  engine = await selectEngine({ engine: "auto", threads: 1, onNotice: undefined });
  const writer = await TokenStoreWriter.create(join(root, "tokens"), { vocabSize: 32 });
  await writer.append(Uint32Array.from({ length: 400 }, (_, index) => (index * index) % 32), 400);
  await writer.finish();
  tokens = await TokenStore.open(join(root, "tokens"));
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});

/** Trains in a directory; fails after `dieAfter` steps, nothing of the steps since the last checkpoint being saved. */
async function train(name: string, { dieAfter = 0, logEvery = 1, evaluateEvery = 0 } = {}): Promise<void> {
  const model = gpt2({ layers: 1, hiddenSize: 8, heads: 2, sequenceLength: 8, vocabSize: 32 });
  const trainer = new Trainer({ steps: STEPS, batchSize: 2, sequenceLength: 8, checkpointEvery: 4, logEvery, evaluateEvery }, { engine });
  trainer.addHook(({ step }) => {
    if (step === dieAfter) throw new Error("killed");
  });
  await trainer.train({ model, tokens, validation: evaluateEvery > 0 ? tokens : undefined, directory: join(root, name) });
}

async function curve(name: string, logEvery = 1): Promise<string> {
  await writeLossCurve(join(root, name), { steps: STEPS, logEvery });
  return readFile(join(root, name, "curve.jsonl"), "utf8");
}

test("a run that died twice and was started again leaves the same curve as one that was not stopped", async () => {
  await train("whole");
  await expect(train("killed", { dieAfter: 3 })).rejects.toThrow("killed");
  await expect(train("killed", { dieAfter: 11 })).rejects.toThrow("killed");
  // What the second attempt had written of steps after the checkpoint at 8, and a line it was cut off in.
  const left = await readFile(join(root, "killed", "metrics.jsonl"), "utf8");
  expect(left.trimEnd().split("\n")).toHaveLength(11);
  await writeFile(join(root, "killed", "metrics.jsonl"), `${left}{"step":12,"lo`);
  await train("killed");
  const whole = await curve("whole");
  expect(await curve("killed")).toBe(whole);
  const points = await readLossCurve(join(root, "whole"));
  expect(points.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
  expect(points[0]?.loss).toBeCloseTo(Math.log(32), 1);
});

test("validations in between add no points", async () => {
  await train("sparse", { logEvery: 5 });
  await train("validated", { logEvery: 5, evaluateEvery: 3 });
  const sparse = await curve("sparse", 5);
  expect(await curve("validated", 5)).toBe(sparse);
  expect((await readLossCurve(join(root, "sparse"))).map(({ step }) => step)).toEqual([5, 10, 12]);
});

test("an artifact without a curve has no points; a damaged curve is named by file and line", async () => {
  expect(await readLossCurve(root)).toEqual([]);
  await writeFile(join(root, "curve.jsonl"), '{"step":1,"loss":"low"}\n');
  await expect(readLossCurve(root)).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path: join(root, "curve.jsonl"), line: 1 } });
});
