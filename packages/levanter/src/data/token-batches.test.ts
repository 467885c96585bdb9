import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RandomKey } from "../rng/random-key.js";
import type { BatchSize } from "./batch-schedule.js";
import { TokenBatches } from "./token-batches.js";
import { TokenStoreWriter } from "./token-store-writer.js";
import { TokenStore } from "./token-store.js";

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-batches-"));
});
afterAll(() => rm(root, { recursive: true }));

/** A store of one document: the tokens 1, 2, 3, ... and 0 as end of text. */
async function countingStore(tokenCount: number): Promise<TokenStore> {
  const directory = join(root, String(next++));
  const writer = await TokenStoreWriter.create(directory, { vocabSize: 60_000 });
  if (tokenCount > 0) await writer.append(Uint32Array.from({ length: tokenCount }, (_, i) => (i + 1 === tokenCount ? 0 : i + 1)), tokenCount);
  await writer.finish();
  return TokenStore.open(directory);
}

describe("TokenBatches", () => {
  it("predicts every token exactly once an epoch, each from the token before it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 60 }), fc.integer({ min: 1, max: 9 }), fc.nat(), async (tokenCount, sequenceLength, seed) => {
        const store = await countingStore(tokenCount);
        const batches = new TokenBatches({ store, sequenceLength, batchSize: 1, key: RandomKey.fromSeed(seed) });
        for (const epoch of [0, 1]) {
          const targets: number[] = [];
          for (let i = 0; i < batches.windowCount; i++) {
            const batch = batches.batch(epoch * batches.windowCount + i);
            let weightSum = 0;
            for (let t = 0; t < sequenceLength; t++) {
              if (batch.weights[t] === 0) continue;
              weightSum += 1;
              const target = batch.targets[t] ?? -1;
              targets.push(target);
              // The first token follows an end of text; the end of text follows the last word.
              expect(batch.tokens[t]).toBe(target === 1 ? 0 : target === 0 ? tokenCount - 1 : target - 1);
            }
            expect(batch.weightSum).toBe(weightSum);
          }
          expect(targets.sort((a, b) => a - b)).toEqual(Array.from({ length: tokenCount }, (_, i) => i));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("gives the same batch for a step by random access, in order, and in another object", async () => {
    const store = await countingStore(1000);
    const options = { store, sequenceLength: 8, batchSize: 4, key: RandomKey.fromSeed(3) };
    const batches = new TokenBatches(options);
    const inOrder = Array.from({ length: 50 }, (_, step) => batches.batch(step));
    for (const step of [49, 0, 17]) expect(new TokenBatches(options).batch(step)).toEqual(inOrder[step]);
    expect(new TokenBatches({ ...options, key: RandomKey.fromSeed(4) }).batch(0)).not.toEqual(inOrder[0]);
  });

  it("rows of larger batches are the rows of smaller ones in the same order", async () => {
    const store = await countingStore(333);
    const of = (batchSize: number): TokenBatches => new TokenBatches({ store, sequenceLength: 8, batchSize, key: RandomKey.fromSeed(3) });
    const large = of(4).batch(1);
    const small = [4, 5, 6, 7].flatMap((step) => [...of(1).batch(step).tokens]);
    expect([...large.tokens]).toEqual(small);
  });

  it("rows keep their order where the batch size changes", async () => {
    const store = await countingStore(333);
    const of = (batchSize: BatchSize): TokenBatches => new TokenBatches({ store, sequenceLength: 8, batchSize, key: RandomKey.fromSeed(3) });
    const staged = of([{ start: 0, value: 2 }, { start: 3, value: 5 }, { start: 5, value: 1 }]);
    const rows = [0, 1, 2, 3, 4, 5, 6].flatMap((step) => [...staged.batch(step).targets]);
    expect(rows).toEqual(Array.from({ length: 18 }, (_, row) => [...of(1).batch(row).targets]).flat());
    expect([2, 3, 4, 5].map((step) => staged.batch(step).targets.length / 8)).toEqual([2, 5, 5, 1]);
  });

  it("orders each epoch differently", async () => {
    const batches = new TokenBatches({ store: await countingStore(4000), sequenceLength: 8, batchSize: 1, key: RandomKey.fromSeed(0) });
    const order = (epoch: number): number[] => Array.from({ length: 500 }, (_, i) => batches.windowAt(epoch * 500 + i));
    expect(order(0)).not.toEqual(order(1));
    expect(order(0).sort((a, b) => a - b)).toEqual(order(1).sort((a, b) => a - b));
  });

  it("refuses an empty store", async () => {
    const store = await countingStore(0);
    expect(() => new TokenBatches({ store, sequenceLength: 8, batchSize: 1, key: RandomKey.fromSeed(0) })).toThrow(
      expect.objectContaining({ code: "LEVANTER_TOKENS_EMPTY" }),
    );
  });
});
