import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bigram } from "../../test/bigram.js";
import { storeOf, zipfDocuments } from "../../test/token-stores.js";
import { OnnxEngine } from "../engine/compiled-engine.js";
import type { BufferGroup, Engine } from "../engine/types.js";
import { RandomKey } from "../rng/random-key.js";
import { evaluateLoss } from "./loss-evaluator.js";
import { TextScorer } from "./text-scorer.js";

const V = 40;
const model = bigram(V, 4);

let root: string;
let engine: Engine;
let parameters: BufferGroup;
let scorer: TextScorer;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-scorer-"));
  engine = await OnnxEngine.create({ threads: 1 });
  parameters = engine.allocate(model.parameters);
  for (const [name, data] of Object.entries(model.initialize(RandomKey.fromSeed(3)))) parameters.buffers[name]?.write(data);
  scorer = new TextScorer(engine, model, parameters.buffers);
});
afterAll(async () => {
  await scorer.release();
  await engine.dispose();
  await rm(root, { recursive: true });
});

it("scores each text as evaluateLoss scores a store of that text alone, texts together as apart", async () => {
  // In windows of 64: a part of one, exactly one, two and a half, eight and one more; and an empty text, of which only the end is predicted.
  const texts = [10, 63, 160, 575, 0].map((length, seed) => zipfDocuments(seed, length, V).flat());
  const scores = await Promise.all(texts.map((text) => scorer.score([...text, 0])));
  for (const [i, text] of texts.entries()) {
    const expected =
      text.length > 0 ? (await evaluateLoss({ engine, model, parameters: parameters.buffers, store: await storeOf(join(root, String(i)), [text], V) })).lossSum : undefined;
    if (expected !== undefined) expect(Math.abs((scores[i] ?? 0) - expected)).toBeLessThan(1e-6 * expected);
    else expect(scores[i]).toBeGreaterThan(0);
    expect(await scorer.score(Uint32Array.from([...text, 0]))).toBe(scores[i]);
  }
});

it("refuses texts without tokens or with foreign ones, and stops on the signal", async () => {
  await expect(scorer.score([])).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringContaining("is empty") as string });
  await expect(scorer.score([V, 0])).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringContaining("no token of a vocabulary of 40") as string });
  await expect(scorer.score([1, 0], AbortSignal.abort())).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED" });
  expect(await scorer.score([1, 0])).toBeGreaterThan(0);
});
