import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const subjects = ["the sailor", "a whale", "the captain", "our ship", "the old mate", "a gull", "the northern wind", "every hand"];
const verbs = ["followed", "saw", "feared", "carried", "remembered", "passed", "called", "found"];
const objects = ["the harbour", "a grey morning", "the long swell", "three islands", "an empty boat", "the light", "a broken oar", "nothing"];

/** Writes a folder of `count` small text files, always the same ones. */
export async function writeCorpus(folder: string, count: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  let state = 1;
  const pick = (words: readonly string[]): string => {
    state = (state * 48271) % 2147483647;
    return words[state % words.length] ?? "";
  };
  for (let index = 0; index < count; index++) {
    const sentences = Array.from({ length: 12 }, () => `${pick(subjects)} ${pick(verbs)} ${pick(objects)}.`);
    await writeFile(join(folder, `${String(index).padStart(3, "0")}.txt`), `${sentences.join(" ")}\n`);
  }
}

/** Options of a run that takes seconds. */
export const tiny: readonly string[] = [
  "documents.source=./texts",
  "dedup.validationFraction=0.2",
  "tokenizer.vocabSize=300",
  "model.layers=1",
  "model.hiddenSize=16",
  "model.heads=2",
  "model.sequenceLength=16",
  "train.steps=40",
  "train.batchSize=4",
  "train.checkpointEvery=10",
  "sample.tokens=20",
].flatMap((assignment) => ["--set", assignment]);
