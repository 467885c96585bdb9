import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gpt2, TokenStore, TokenStoreWriter, Trainer } from "@marin/levanter";
import type { ModelLocation } from "../src/inference/served-model.js";
import { BpeTrainer } from "../src/processing/tokenizer/bpe-trainer.js";
import { tokenizerJson, wordPattern } from "../src/processing/tokenizer/tokenizer-file.js";
import { loadTokenizer } from "../src/processing/tokenizer/tokenizer.js";

const subjects = ["the sailor", "a whale", "the captain", "our ship", "the old mate", "a gull"];
const verbs = ["followed", "saw", "feared", "carried", "passed", "called"];
const objects = ["the harbour", "a grey morning", "the long swell", "three islands", "naïve gulls 🐋", "nothing"];

/** A text of so many sentences, always the same one for the same seed. */
export function proseOf(seed: number, sentences: number): string {
  let state = seed + 1;
  const pick = (words: readonly string[]): string => {
    state = (state * 48271) % 2147483647;
    return words[state % words.length] ?? "";
  };
  return Array.from({ length: sentences }, () => `${pick(subjects)} ${pick(verbs)} ${pick(objects)}.`).join(" ");
}

const texts = Array.from({ length: 40 }, (_, i) => proseOf(i, 12));

/** Writes a tokenizer of so many tokens into a directory, learned from the texts, and returns its path. */
export async function tinyTokenizer(directory: string, vocabSize: number): Promise<string> {
  const words = new Map<string, number>();
  for (const text of texts) for (const word of text.match(wordPattern) ?? []) words.set(word, (words.get(word) ?? 0) + 1);
  const trainer = new BpeTrainer(words);
  while (trainer.size < vocabSize - 1) trainer.step();
  await mkdir(directory, { recursive: true });
  const path = join(directory, "tokenizer.json");
  await writeFile(path, tokenizerJson(trainer.result()));
  return path;
}

/** Trains a tokenizer of 300 tokens and a model of one block that sees 64 of them. Takes about a second. */
export async function tinyModel(directory: string): Promise<ModelLocation> {
  const path = await tinyTokenizer(directory, 300);
  const tokenizer = await loadTokenizer(path);
  const writer = await TokenStoreWriter.create(join(directory, "tokens"), { vocabSize: tokenizer.vocabSize });
  for (const text of texts) await writer.append(Uint32Array.from([...tokenizer.encode(text), tokenizer.endOfTextId]), Buffer.byteLength(text));
  await writer.finish();
  const checkpoint = join(directory, "run");
  await new Trainer({ steps: 30, batchSize: 4, sequenceLength: 64, learningRate: 3e-3, threads: 1 }).train({
    model: gpt2({ vocabSize: tokenizer.vocabSize, sequenceLength: 64, hiddenSize: 32, layers: 1, heads: 2 }),
    tokens: await TokenStore.open(join(directory, "tokens")),
    directory: checkpoint,
  });
  return { checkpoint, tokenizer: path };
}
