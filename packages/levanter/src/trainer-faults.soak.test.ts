import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Fault } from "../test/faulty-files.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import { FAULTS_VOCABULARY, outcomeOfFaulty, saysDiskFull, trainFaulty, trainThroughFault } from "../test/training-faults.js";
import type { TokenStore } from "./data/token-store.js";
import { OnnxEngine } from "./engine/compiled-engine.js";
import type { Engine } from "./engine/types.js";

let root: string;
let engine: Engine;
let tokens: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-faults-"));
  engine = await OnnxEngine.create({ threads: 1 });
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 200, FAULTS_VOCABULARY), FAULTS_VOCABULARY);
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});

it.each<Fault["mode"]>(["once", "crash"])("a fault (%s) at any file operation of a run costs nothing but the steps since the last checkpoint", async (mode) => {
  const clean = { engine, tokens, directory: join(root, `${mode}-clean`) };
  await trainFaulty(clean);
  const expected = await outcomeOfFaulty(clean.directory);
  let after = 0;
  for (let finished = false; !finished; after++) {
    const directory = join(root, `${mode}-${String(after)}`);
    const error = await trainThroughFault({ engine, tokens, directory }, { after, mode });
    finished = error === undefined;
    if (mode === "once" && !finished) expect(saysDiskFull(error), `operation ${String(after)}: ${String(error)}`).toBe(true);
    expect(await outcomeOfFaulty(directory), `operation ${String(after)}`).toEqual(expected);
  }
  expect(after).toBeGreaterThan(50);
});
