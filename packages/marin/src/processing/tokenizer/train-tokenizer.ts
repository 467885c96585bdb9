import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { MarinError, writeFileAtomic } from "@marin/rigging";
import { readDocuments } from "../documents-file.js";
import type { ProcessingOptions } from "../progress.js";
import { BpeTrainer } from "./bpe-trainer.js";
import { tokenizerJson, wordPattern } from "./tokenizer-file.js";

/** Smallest vocabulary: the 256 bytes and the end-of-text token. */
export const minVocabSize = 257;

/** Options of {@link trainTokenizer}. */
export interface TrainTokenizerOptions extends ProcessingOptions {
  /** Folder of documents to learn from: the training split. All of its text is used. */
  readonly documents: string;
  /** Number of tokens: 256 bytes, the merges learned, and `<|endoftext|>`. From 257. */
  readonly vocabSize: number;
  /** Folder in which `tokenizer.json` is written; created where needed. */
  readonly outputDir: string;
}

/** What {@link trainTokenizer} did. */
export interface TrainedTokenizer {
  /** Path of the `tokenizer.json`. */
  readonly path: string;
  /** Number of tokens. */
  readonly vocabSize: number;
  /** Merges learned. */
  readonly merges: number;
  /** Different words in the training text. */
  readonly distinctWords: number;
}

/** Time between two looks at the signal and the event loop. */
const sliceMilliseconds = 50;

/**
 * Learns a byte-level BPE vocabulary of exactly `vocabSize` tokens and writes it as a Hugging Face `tokenizer.json` that any
 * such library reads. Equal documents give an equal file.
 *
 * @throws MarinError MARIN_VOCAB_SIZE for a size below 257, MARIN_VOCAB_TOO_LARGE when the text has too few different words to
 * learn that many tokens from (names the largest size it allows), and what reading and writing the files throws
 */
export async function trainTokenizer(options: TrainTokenizerOptions): Promise<TrainedTokenizer> {
  const { vocabSize, outputDir } = options;
  if (!Number.isInteger(vocabSize) || vocabSize < minVocabSize) {
    throw new MarinError("MARIN_VOCAB_SIZE", `vocabSize must be an integer of at least ${String(minVocabSize)} (256 bytes and the end-of-text token), found ${String(vocabSize)}.`, { data: { vocabSize } });
  }
  const words = await countWords(options);
  const trainer = new BpeTrainer(words);
  const learned = vocabSize - 1;
  let pause = Date.now() + sliceMilliseconds;
  while (trainer.size < learned) {
    if (!trainer.step()) {
      const largest = trainer.size + 1;
      throw new MarinError(
        "MARIN_VOCAB_TOO_LARGE",
        `The training text has only ${String(words.size)} different words, enough for ${String(largest)} tokens, not ${String(vocabSize)}. Add text, or --set tokenizer.vocabSize=${String(largest)} or less.`,
        { data: { vocabSize, largest, distinctWords: words.size } },
      );
    }
    if (Date.now() < pause) continue;
    options.onProgress?.({ done: trainer.size, total: learned, unit: "tokens" });
    await setImmediate();
    options.signal?.throwIfAborted();
    pause = Date.now() + sliceMilliseconds;
  }
  const result = trainer.result();
  await mkdir(outputDir, { recursive: true });
  const path = join(outputDir, "tokenizer.json");
  await writeFileAtomic(path, tokenizerJson(result));
  return { path, vocabSize, merges: result.merges.length, distinctWords: words.size };
}

async function countWords({ documents, signal, onProgress }: TrainTokenizerOptions): Promise<Map<string, number>> {
  const words = new Map<string, number>();
  let done = 0;
  for await (const { text } of readDocuments(documents, signal)) {
    for (const word of text.match(wordPattern) ?? []) words.set(word, (words.get(word) ?? 0) + 1);
    done += 1;
    onProgress?.({ done, unit: "documents" });
  }
  return words;
}
