import fc from "fast-check";
import { expect, test } from "vitest";
import { murmur3 } from "./hash.js";
import { estimateJaccard, MinHash } from "./minhash.js";
import { jaccard, shingles } from "./shingle.js";

/** Two sets of `size` well-mixed numbers each, of which `shared` are in both; other sets for each trial. */
function pair(size: number, shared: number, trial: number): readonly [Uint32Array, Uint32Array] {
  const element = (n: number): number => murmur3(new Uint8Array(Uint32Array.of(n, trial).buffer));
  const set = (from: number): Uint32Array => Uint32Array.from({ length: size }, (_, index) => element(index < shared ? index : from + index)).sort();
  return [set(1_000_000), set(2_000_000)];
}

test.each([
  [60, 0],
  [60, 30],
  [300, 150],
  [300, 240],
  [300, 290],
])("the estimate is unbiased and spreads as the theory says: sets of %d with %d shared", (size, shared) => {
  const trials = 300;
  const permutations = 64;
  const expected = shared / (2 * size - shared);
  const deviation = Math.sqrt((expected * (1 - expected)) / permutations);
  let sum = 0;
  let squares = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const minHash = new MinHash({ permutations, seed: trial });
    const [a, b] = pair(size, shared, trial);
    const error = estimateJaccard(minHash.signature(a), minHash.signature(b)) - expected;
    sum += error;
    squares += error * error;
  }
  expect(Math.abs(sum / trials)).toBeLessThanOrEqual((3.5 * deviation) / Math.sqrt(trials));
  expect(Math.sqrt(squares / trials)).toBeLessThanOrEqual(1.15 * deviation);
});

test("of texts: the estimate follows the exact similarity of their shingles", () => {
  const words = Array.from({ length: 400 }, (_, index) => `w${String(index)}`);
  const minHash = new MinHash({ permutations: 512 });
  for (const changed of [0, 5, 20, 50]) {
    const other = words.map((word, index) => (changed > 0 && index % Math.floor(400 / changed) === 0 ? `${word}x` : word));
    const [a, b] = [shingles(words.join(" ")), shingles(other.join(" "))];
    expect(Math.abs(estimateJaccard(minHash.signature(a), minHash.signature(b)) - jaccard(a, b))).toBeLessThan(0.08);
  }
});

const set = fc.uint32Array({ maxLength: 50 });

test("the signature depends on the set only; that of a union is the place-wise least; equal sets agree in full", () => {
  const minHash = new MinHash({ permutations: 16, seed: 7 });
  fc.assert(
    fc.property(set, set, (a, b) => {
      const signature = minHash.signature(a);
      expect(minHash.signature(Uint32Array.from([...a, ...a].reverse()))).toEqual(signature);
      expect(estimateJaccard(signature, minHash.signature(a.slice().sort()))).toBe(1);
      const other = minHash.signature(b);
      const least = signature.map((value, index) => Math.min(value, other[index] ?? 0));
      expect(minHash.signature(Uint32Array.from([...a, ...b]))).toEqual(least);
    }),
  );
});

test("equal seeds give equal signatures, in this and in every later version; other seeds others", () => {
  const elements = Uint32Array.of(1, 2, 3);
  const signature = new MinHash({ permutations: 4, seed: 1 }).signature(elements);
  expect(Array.from(signature)).toMatchInlineSnapshot(`
    [
      2838100439,
      430537676,
      1092435659,
      275867951,
    ]
  `);
  expect(new MinHash({ permutations: 4, seed: 2 }).signature(elements)).not.toEqual(signature);
  expect(new MinHash({ permutations: 8, seed: 1 }).signature(elements).slice(0, 4)).toEqual(signature);
});

test("64 bits: the signature of a union is the place-wise least, and values stay the same", () => {
  const minHash = new MinHash({ permutations: 16, seed: 7, bits: 64 });
  fc.assert(
    fc.property(fc.bigUint64Array({ maxLength: 50 }), fc.bigUint64Array({ maxLength: 50 }), (a, b) => {
      const [left, right] = [minHash.signature(a), minHash.signature(b)];
      const least = left.map((value, index) => (value < (right[index] ?? 0n) ? value : (right[index] ?? 0n)));
      expect(minHash.signature(BigUint64Array.from([...b, ...a, ...b]))).toEqual(least);
    }),
  );
  expect(Array.from(new MinHash({ permutations: 3, seed: 1, bits: 64 }).signature(BigUint64Array.of(1n, 2n, 3n)))).toMatchInlineSnapshot(`
    [
      3505155757547071841n,
      2027594366683577666n,
      3984589785399122878n,
    ]
  `);
  expect(minHash.signature(new BigUint64Array(0))).toEqual(new BigUint64Array(16).fill(2n ** 64n - 1n));
});

test("bad settings and signatures that do not compare are refused", () => {
  for (const permutations of [0, 1.5, -1, NaN]) expect(() => new MinHash({ permutations })).toThrow(RangeError);
  for (const seed of [-1, 0.5, 2 ** 32, NaN]) expect(() => new MinHash({ seed })).toThrow(RangeError);
  expect(() => estimateJaccard(new Uint32Array(4), new Uint32Array(5))).toThrow(/4 places of 32 bits and 5 places/);
  expect(() => new MinHash({ bits: 16 as 32 })).toThrow(/32 or 64, found 16/);
  expect(() => new MinHash({ bits: 64 }).signature(new Uint32Array(1) as unknown as BigUint64Array)).toThrow(/64 bits takes hashes of as many, found 32/);
  expect(() => estimateJaccard(new Uint32Array(4), new BigUint64Array(4))).toThrow(/of 32 bits and 4 places of 64 bits/);
  expect(() => estimateJaccard(new Uint32Array(0), new Uint32Array(0))).toThrow(RangeError);
});
