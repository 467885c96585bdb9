import { setImmediate } from "node:timers/promises";
import { TokenStore } from "@marin/levanter";
import { readDocuments } from "../processing/documents-file.js";
import type { ProcessingOptions } from "../processing/progress.js";
import { KneserNeyModel } from "./kneser-ney.js";
import { TokenUnigram } from "./token-unigram.js";

/** Options of {@link evaluateBaselines}. */
export interface BaselineOptions extends ProcessingOptions {
  /** Folder of the training documents; all of them are counted. */
  readonly train: string;
  /** Folder of the validation documents. */
  readonly validation: string;
  /** Folder of the training documents' token store. */
  readonly trainTokens: string;
  /** Folder of the validation documents' token store. */
  readonly validationTokens: string;
  /** Orders of the byte n-gram models, each from 1 to 6. Default 3 and 5. */
  readonly orders?: readonly number[] | undefined;
}

/** How well a simple model predicts the validation documents. */
export interface Baseline {
  /** `token unigram`, `byte 3-gram`, ... */
  readonly name: string;
  /** Bits for all validation documents and their ends. */
  readonly bits: number;
  /** UTF-8 bytes of the validation documents. */
  readonly bytes: number;
  readonly bitsPerByte: number;
}

/**
 * Scores models that need no training loop, estimated from the whole training split, on the whole validation split: the token
 * unigram, and interpolated Kneser-Ney byte n-grams. Each predicts every byte of every document and the document's end, and
 * is divided by the documents' bytes, so the figures compare with each other and with a language model's bits per byte.
 *
 * @throws MarinError of reading the files, and MARIN_NGRAM_ORDER
 */
export async function evaluateBaselines(options: BaselineOptions): Promise<Baseline[]> {
  const { signal, onProgress } = options;
  const orders = options.orders ?? [3, 5];
  const total = orders.length + 1;
  const results = [await unigramBaseline(options)];
  onProgress?.({ done: 1, total, unit: "baselines" });
  for (const order of orders) {
    const model = await KneserNeyModel.train(documentBytes(options.train, signal), { order, signal });
    let [bits, bytes] = [0, 0];
    for await (const document of documentBytes(options.validation, signal)) {
      bits += model.documentBits(document);
      bytes += document.length;
    }
    results.push({ name: `byte ${String(order)}-gram`, bits, bytes, bitsPerByte: bits / bytes });
    onProgress?.({ done: results.length, total, unit: "baselines" });
  }
  return results;
}

async function unigramBaseline({ trainTokens, validationTokens }: BaselineOptions): Promise<Baseline> {
  const train = await TokenStore.open(trainTokens);
  const validation = await TokenStore.open(validationTokens);
  const bits = new TokenUnigram(train.tokens, train.vocabSize).bits(validation.tokens);
  return { name: "token unigram", bits, bytes: validation.byteCount, bitsPerByte: bits / validation.byteCount };
}

async function* documentBytes(folder: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for await (const { text } of readDocuments(folder, signal)) {
    // Scoring a document is all computing: without a turn of the event loop no signal would be heard.
    await setImmediate();
    signal?.throwIfAborted();
    yield Buffer.from(text, "utf8");
  }
}
