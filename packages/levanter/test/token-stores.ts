import { TokenStoreWriter } from "../src/data/token-store-writer.js";
import { TokenStore } from "../src/data/token-store.js";
import { uniform } from "../src/rng/distributions.js";
import { RandomKey } from "../src/rng/random-key.js";

/** Writes documents, each closed by token 0, and opens the store. Every token stands for two bytes, token 0 for none. */
export async function storeOf(directory: string, documents: readonly (readonly number[])[], vocabSize: number): Promise<TokenStore> {
  const writer = await TokenStoreWriter.create(directory, { vocabSize });
  for (const ids of documents) await writer.append(Uint32Array.from([...ids, 0]), 2 * ids.length);
  await writer.finish();
  return TokenStore.open(directory);
}

/** Documents of 50 tokens with Zipf's frequencies (token k about 1/k as often as token 1), in which half of the tokens follow from the one before. */
export function zipfDocuments(seed: number, tokenCount: number, vocabSize: number): number[][] {
  const draws = uniform(RandomKey.fromSeed(seed), 2 * tokenCount);
  const zipf = (u: number): number => Math.min(vocabSize - 1, Math.floor(vocabSize ** u));
  const documents: number[][] = [];
  let previous = 1;
  for (let i = 0; i < tokenCount; i++) {
    if (i % 50 === 0) documents.push([]);
    const follows = (draws[2 * i + 1] ?? 0) < 0.5;
    previous = follows ? 1 + ((previous * 7) % (vocabSize - 1)) : zipf(draws[2 * i] ?? 0);
    documents.at(-1)?.push(previous);
  }
  return documents;
}
