import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bigram } from "../test/bigram.js";
import { withFault, type Fault } from "../test/faulty-files.js";
import { storeOf, zipfDocuments } from "../test/token-stores.js";
import type { TokenStore } from "./data/token-store.js";
import { OnnxEngine } from "./engine/compiled-engine.js";
import type { Engine } from "./engine/types.js";
import { Trainer, type TrainResult } from "./trainer.js";

const V = 30;
const model = bigram(V, 4);

let root: string;
let engine: Engine;
let tokens: TokenStore;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-faults-"));
  engine = await OnnxEngine.create({ threads: 1 });
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 200, V), V);
});
afterAll(async () => {
  await engine.dispose();
  await rm(root, { recursive: true });
});

function train(directory: string): Promise<TrainResult> {
  const config = { steps: 5, batchSize: 2, sequenceLength: 8, warmup: 0, checkpointEvery: 2, evaluateEvery: 0, keepCheckpoints: 1 };
  return new Trainer(config, { engine }).train({ model, tokens, validation: tokens, directory });
}

async function result(directory: string): Promise<unknown> {
  const checkpoint = join(directory, "checkpoints", "step-00000005");
  const hashes = await Promise.all((await readdir(checkpoint)).sort().map(async (name) => createHash("sha256").update(await readFile(join(checkpoint, name))).digest("hex")));
  const rows = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line) as object);
  return { hashes, rows: rows.map((row) => ({ ...row, tokensPerSecond: 0 })), visible: (await readdir(join(directory, "checkpoints"))).filter((name) => !name.endsWith(".tmp")) };
}

it.each<Fault["mode"]>(["once", "crash"])("a fault (%s) at any file operation of a run costs nothing but the steps since the last checkpoint", async (mode) => {
  const clean = join(root, `${mode}-clean`);
  await train(clean);
  const expected = await result(clean);
  let point = 0;
  for (let finished = false; !finished; point++) {
    const directory = join(root, `${mode}-${String(point)}`);
    const { error } = await withFault({ after: point, mode }, () => train(directory));
    finished = error === undefined;
    if (mode === "once" && !finished) expect(error, `operation ${String(point)}`).toMatchObject({ code: "RIGGING_DISK_FULL" });
    // A process that crashed would be gone, and its lock with it; this one lives on.
    await rm(join(directory, ".lock"), { force: true });
    await train(directory);
    expect(await result(directory)).toEqual(expected);
  }
  expect(point).toBeGreaterThan(50);
});
