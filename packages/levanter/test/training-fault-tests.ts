import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TokenStore } from "../src/data/token-store.js";
import { OnnxEngine } from "../src/engine/compiled-engine.js";
import type { Engine } from "../src/engine/types.js";
import type { Fault } from "./faulty-files.js";
import { storeOf, zipfDocuments } from "./token-stores.js";
import { FAULTS_VOCABULARY, outcomeOfFaulty, saysDiskFull, trainFaulty, trainThroughFault } from "./training-faults.js";

/**
 * Declares the tests of runs whose file operations fail.
 *
 * @param which - says in the tests' names at which operations
 * @param stride - operations from one fault to the next
 */
export function testTrainingFaults(which: string, stride: number): void {
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

  it.each<Fault["mode"]>(["once", "crash"])(`a fault (%s) at ${which} file operation of a run costs nothing but the steps since the last checkpoint`, async (mode) => {
    const clean = { engine, tokens, directory: join(root, `${mode}-clean`) };
    await trainFaulty(clean);
    const expected = await outcomeOfFaulty(clean.directory);
    let after = 0;
    for (let finished = false; !finished; after += stride) {
      const directory = join(root, `${mode}-${String(after)}`);
      const error = await trainThroughFault({ engine, tokens, directory }, { after, mode });
      finished = error === undefined;
      if (mode === "once" && !finished) expect(saysDiskFull(error), `operation ${String(after)}: ${String(error)}`).toBe(true);
      expect(await outcomeOfFaulty(directory), `operation ${String(after)}`).toEqual(expected);
    }
    expect(after).toBeGreaterThan(50);
  });
}
