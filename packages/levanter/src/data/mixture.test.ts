import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storeOf } from "../../test/token-stores.js";
import { RandomKey } from "../rng/random-key.js";
import { batchSchedule, type BatchSize } from "./batch-schedule.js";
import { blockCounts, mixtureSchema, type MixtureWeights } from "./mixture-plan.js";
import { TokenMixture } from "./mixture.js";
import type { TokenStore } from "./token-store.js";

const T = 4;
const KEY = RandomKey.fromSeed(5);
let root: string;
let stores: Record<string, TokenStore>;

/** A store whose tokens all lie from `first` on. */
function rangeStore(name: string, first: number, tokenCount: number): Promise<TokenStore> {
  return storeOf(join(root, name), [Array.from({ length: tokenCount - 1 }, (_, i) => first + i)], 60_000);
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-mixture-"));
  // 100, 25 and 9 windows; the last of each is short.
  stores = { a: await rangeStore("a", 1000, 399), b: await rangeStore("b", 20_000, 98), c: await rangeStore("c", 30_000, 34) };
});
afterAll(() => rm(root, { recursive: true }));

function mixtureOf(weights: MixtureWeights, options: { readonly batchSize?: BatchSize; readonly blockSize?: number; readonly key?: RandomKey } = {}): TokenMixture {
  return new TokenMixture({ stores, weights, blockSize: 10, sequenceLength: T, batchSize: 5, key: KEY, ...options });
}

const WEIGHTS = { a: 0.5, b: 0.3, c: 0.2 };

function storesOfRows(mixture: TokenMixture, from: number, to: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let row = from; row < to; row++) {
    const { store } = mixture.windowAt(row);
    counts[store] = (counts[store] ?? 0) + 1;
  }
  return counts;
}

describe("blockCounts", () => {
  it("follows the published examples", () => {
    expect([...blockCounts({ a: 0.5, b: 0.3, c: 0.2 }, 2048).values()]).toEqual([1025, 614, 409]);
    expect([...blockCounts({ a: 1, b: 1, c: 1 }, 10).values()]).toEqual([4, 3, 3]);
  });

  it("gives out each block whole, every weight its share to less than one row, the largest the remainder", () => {
    const weights = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), fc.integer({ min: 0, max: 1000 }), { minKeys: 1 });
    fc.assert(
      fc.property(weights, fc.integer({ min: 5001, max: 65_535 }), (given, blockSize) => {
        const total = Object.values(given).reduce((sum, weight) => sum + weight, 0);
        fc.pre(total > 0);
        const counts = blockCounts(given, blockSize);
        expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(blockSize);
        const largest = Math.max(...Object.values(given));
        for (const [name, weight] of Object.entries(given)) {
          const excess = (counts.get(name) ?? 0) - (weight * blockSize) / total;
          expect(excess).toBeGreaterThan(-1);
          expect(excess).toBeLessThan(weight === largest ? counts.size : 1e-9);
        }
      }),
    );
  });

  it("refuses a weight that is less than a row, naming the block that gives it one", () => {
    expect(() => blockCounts({ a: 999, b: 1 }, 100)).toThrow(/"b".*blockSize of at least 1000/);
    expect(blockCounts({ a: 999, b: 1 }, 1000).get("b")).toBe(1);
    for (const weights of [{}, { a: 0 }, { a: -1, b: 2 }, { a: Number.NaN }, { a: Infinity }]) {
      expect(() => blockCounts(weights, 10)).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG" }));
    }
  });
});

describe("TokenMixture", () => {
  it("gives every store exactly its share of each block", () => {
    const mixture = mixtureOf(WEIGHTS);
    for (let block = 0; block < 30; block++) expect(storesOfRows(mixture, 10 * block, 10 * (block + 1))).toEqual({ a: 5, b: 3, c: 2 });
  });

  it("visits every window of a store once an epoch, each epoch in another order, and begins again", () => {
    const mixture = mixtureOf(WEIGHTS);
    const visits: Record<string, number[]> = { a: [], b: [], c: [] };
    for (let row = 0; row < 10 * 250; row++) {
      const { store, window } = mixture.windowAt(row);
      visits[store]?.push(window);
    }
    for (const [name, windows] of [["a", 100], ["b", 25], ["c", 9]] as const) {
      const counts = new Array<number>(windows).fill(0);
      const seen = visits[name] ?? [];
      for (const window of seen) counts[window] = (counts[window] ?? 0) + 1;
      const epochs = seen.length / windows;
      // Rows go through the epochs in order but for the few of one block.
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(Math.floor(epochs) - 1);
      expect(Math.max(...counts)).toBeLessThanOrEqual(Math.ceil(epochs) + 1);
    }
    // 25 blocks with 3 rows of b each: exactly three epochs.
    const b = Array.from({ length: 250 }, (_, row) => mixture.windowAt(row)).filter(({ store }) => store === "b");
    expect(b.map(({ window }) => window).sort((x, y) => x - y)).toEqual(Array.from({ length: 75 }, (_, i) => Math.floor(i / 3)));
    expect(b.slice(0, 24).map(({ window }) => window)).not.toEqual(b.slice(25, 49).map(({ window }) => window));
  });

  it("gives the same batch by random access, in order, after a restart, and whatever the order of the names", () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 50 }), (seed, batchSize, blockSize) => {
        const options = { key: RandomKey.fromSeed(seed), batchSize, blockSize };
        const mixture = mixtureOf(WEIGHTS, options);
        const inOrder = Array.from({ length: 30 }, (_, step) => mixture.batch(step));
        for (const step of [29, 0, 13, 12]) expect(mixture.batch(step)).toEqual(inOrder[step]);
        expect(mixtureOf({ c: 0.2, a: 0.5, b: 0.3 }, options).batch(17)).toEqual(inOrder[17]);
      }),
      { numRuns: 20 },
    );
    expect(mixtureOf(WEIGHTS, { key: RandomKey.fromSeed(6) }).batch(0)).not.toEqual(mixtureOf(WEIGHTS).batch(0));
  });

  it("fills its rows from the stores, each token predicted from the one before it", () => {
    const mixture = mixtureOf(WEIGHTS, { batchSize: 250 });
    const { tokens, targets, weights, weightSum } = mixture.batch(0);
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBe(weightSum);
    for (let row = 0; row < 250; row++) {
      const { store, window } = mixture.windowAt(row);
      const from = stores[store] as TokenStore;
      for (let t = 0; t < T; t++) {
        const at = window * T + t;
        if (at >= from.tokenCount) expect(weights[row * T + t]).toBe(0);
        else {
          expect(targets[row * T + t]).toBe(from.tokens[at]);
          expect(tokens[row * T + t]).toBe(at === 0 ? 0 : from.tokens[at - 1]);
        }
      }
    }
  });

  it("changes its weights at stages, and goes on with each store where it was", () => {
    const stages = [
      { start: 0, weights: { a: 1, b: 1, c: 0 } },
      { start: 20, weights: { c: 1 } },
      { start: 40, weights: { a: 0, b: 1, c: 1 } },
    ];
    const mixture = mixtureOf(stages);
    expect(storesOfRows(mixture, 0, 100)).toEqual({ a: 50, b: 50 });
    expect(storesOfRows(mixture, 100, 200)).toEqual({ c: 100 });
    expect(storesOfRows(mixture, 200, 300)).toEqual({ b: 50, c: 50 });
    // b had 50 rows, two epochs; its next 50 are two epochs more.
    const later = Array.from({ length: 100 }, (_, i) => mixture.windowAt(200 + i)).filter(({ store }) => store === "b");
    expect(later.map(({ window }) => window).sort((x, y) => x - y)).toEqual(Array.from({ length: 50 }, (_, i) => Math.floor(i / 2)));
  });

  it("begins stages by rows, also where the batch size changes", () => {
    const batchSize = [{ start: 0, value: 5 }, { start: 4, value: 10 }];
    const mixture = mixtureOf([{ start: 0, weights: { a: 1, b: 0, c: 0 } }, { start: 6, weights: { b: 1 } }], { batchSize });
    const first = batchSchedule(batchSize).rowsBefore(6);
    expect(first).toBe(40);
    expect(storesOfRows(mixture, 0, first)).toEqual({ a: 40 });
    expect(storesOfRows(mixture, first, first + 20)).toEqual({ b: 20 });
    expect(mixture.batch(3).targets.length).toBe(5 * T);
    expect(mixture.batch(6).targets.length).toBe(10 * T);
  });

  it("refuses a stage that begins inside a block, naming the steps that do not", () => {
    const staged = (start: number, batchSize: BatchSize): (() => TokenMixture) => () => mixtureOf([{ start: 0, weights: WEIGHTS }, { start, weights: WEIGHTS }], { batchSize });
    expect(staged(7, 5)).toThrow(expect.objectContaining({ code: "LEVANTER_MIXTURE_STAGE", message: expect.stringContaining("6 and 8") as string }));
    expect(staged(7, 4)).toThrow(/5 and 10/);
    // From step 3 on, 6 rows a step after 3·5: rows are 15, 21, 27, ...: never a multiple of 10 again.
    expect(staged(5, [{ start: 0, value: 5 }, { start: 3, value: 6 }])).toThrow(/nearest steps that do are 2$/);
    expect(staged(5, [{ start: 0, value: 3 }, { start: 1, value: 10 }])).toThrow(/no step does/);
    expect(staged(10, 5)).not.toThrow();
  });

  it("names stores without a weight and weights without a store", () => {
    expect(() => mixtureOf({ a: 1, b: 1 })).toThrow(/c has no weight/);
    expect(() => mixtureOf({ ...WEIGHTS, d: 1 })).toThrow(/weight for d/);
    expect(() => mixtureOf([{ start: 1, weights: WEIGHTS }])).toThrow(/start at step 0/);
    for (const blockSize of [0, 1.5, 65_536]) expect(() => mixtureOf(WEIGHTS, { blockSize })).toThrow(/blockSize/);
  });

  it("opens the stores of a configuration, without those of weight 0", async () => {
    const datasets = { a: join(root, "a"), b: join(root, "b"), c: join(root, "not there") };
    const config = mixtureSchema.parse({ datasets, weights: { a: 2, b: 1, c: 0 }, blockSize: 10 });
    const mixture = await TokenMixture.open(config, { sequenceLength: T, batchSize: 5, key: KEY });
    expect(Object.keys(mixture.stores)).toEqual(["a", "b"]);
    expect(mixture.batch(3)).toEqual(mixtureOf({ a: 2, b: 1, c: 0 }).batch(3));
    expect(mixture.fingerprint).toBe(mixtureOf({ c: 0, b: 1, a: 2 }).fingerprint);
    expect(mixture.fingerprint).not.toBe(mixtureOf({ a: 2, b: 2, c: 0 }).fingerprint);
    await expect(TokenMixture.open({ ...config, weights: { a: 1, c: 1 } }, { sequenceLength: T, batchSize: 5, key: KEY })).rejects.toThrow(/b has no weight/);
  });
});
