import fc from "fast-check";
import { expect, test } from "vitest";
import { Lsh } from "./lsh.js";
import { MinHash } from "./minhash.js";
import { murmur3 } from "./hash.js";

test("candidates are the pairs that agree in all rows of a band, each once", () => {
  const signature = fc.uint32Array({ minLength: 6, maxLength: 6, max: 2 });
  fc.assert(
    fc.property(fc.array(fc.option(signature, { nil: undefined }), { maxLength: 8 }), (signatures) => {
      const lsh = new Lsh({ bands: 3, rows: 2 });
      const expected: (readonly [number, number])[] = [];
      signatures.forEach((a, i) => {
        signatures.forEach((b, j) => {
          if (i < j && a !== undefined && b !== undefined && [0, 2, 4].some((at) => a[at] === b[at] && a[at + 1] === b[at + 1])) expected.push([i, j]);
        });
      });
      expect(lsh.candidates(signatures)).toEqual(expected);
    }),
  );
});

test.each([0.2, 0.4, 0.6, 0.8])("sets of similarity %d become candidates as often as the formula says", (similarity) => {
  const lsh = new Lsh({ bands: 20, rows: 3 });
  const [size, trials] = [120, 400];
  const shared = Math.round((2 * size * similarity) / (1 + similarity));
  let found = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const element = (n: number): number => murmur3(new Uint8Array(Uint32Array.of(n, trial).buffer));
    const set = (from: number): Uint32Array => Uint32Array.from({ length: size }, (_, index) => element(index < shared ? index : from + index));
    const minHash = new MinHash({ permutations: lsh.permutations, seed: trial });
    found += lsh.candidates([minHash.signature(set(1000)), minHash.signature(set(2000))]).length;
  }
  const expected = lsh.probability(shared / (2 * size - shared));
  expect(Math.abs(found / trials - expected)).toBeLessThan(3.5 * Math.sqrt((expected * (1 - expected)) / trials) + 0.005);
});

test("signatures of 64 bits have keys of 64 bits, and the same candidates", () => {
  const signature = fc.uint32Array({ minLength: 6, maxLength: 6, max: 2 });
  const lsh = new Lsh({ bands: 3, rows: 2 });
  fc.assert(
    fc.property(fc.array(signature, { maxLength: 8 }), (signatures) => {
      const long = signatures.map((short) => BigUint64Array.from(short, (value) => BigInt(value) << 40n));
      expect(lsh.candidates(long)).toEqual(lsh.candidates(signatures));
      for (const each of long) expect(lsh.keys(each)).toBeInstanceOf(BigUint64Array);
    }),
  );
});

// Worked out from 1 - (1 - J^rows)^bands, at J = 0.7, 0.8 and 0.9.
test.each([
  [26, 11, [0.405, 0.903, 1]],
  [14, 8, [0.565, 0.924, 1]],
  [20, 13, [0.177, 0.677, 0.997]],
  [20, 5, [0.975, 1, 1]],
])("the S-curve of %d bands of %d rows, and its inverse", (bands, rows, expected) => {
  const lsh = new Lsh({ bands, rows });
  for (const [index, similarity] of [0.7, 0.8, 0.9].entries()) {
    expect(lsh.probability(similarity)).toBeCloseTo(expected[index] ?? 0, 3);
    expect(lsh.similarityAt(lsh.probability(similarity))).toBeCloseTo(similarity, 6);
  }
  expect([lsh.similarityAt(0), lsh.similarityAt(1)]).toEqual([0, 1]);
});

test("chosen bands reach the goal, and no more selective ones would", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 128 }), fc.integer({ min: 5, max: 95 }), fc.integer({ min: 5, max: 99 }), (permutations, percent, wanted) => {
      const [similarity, recall] = [percent / 100, wanted / 100];
      const reached = (bands: number, rows: number): boolean => new Lsh({ bands, rows }).probability(similarity) >= recall;
      const rows = Array.from({ length: permutations }, (_, index) => permutations - index).find((count) => reached(Math.floor(permutations / count), count));
      if (rows === undefined) {
        expect(() => Lsh.choose({ permutations, similarity, recall })).toThrow(/find pairs of similarity/);
        return;
      }
      const lsh = Lsh.choose({ permutations, similarity, recall });
      expect(lsh.rows).toBe(rows);
      expect(lsh.permutations).toBeLessThanOrEqual(permutations);
      expect(reached(lsh.bands, rows)).toBe(true);
      expect(lsh.bands === 1 || !reached(lsh.bands - 1, rows)).toBe(true);
    }),
  );
});

test("bands, rows and signatures that do not fit are refused", () => {
  for (const bad of [0, 1.5, NaN]) {
    expect(() => new Lsh({ bands: bad, rows: 2 })).toThrow(RangeError);
    expect(() => new Lsh({ bands: 2, rows: bad })).toThrow(RangeError);
  }
  expect(() => new Lsh({ bands: 2, rows: 3 }).keys(new Uint32Array(5))).toThrow(/6 places, found 5/);
  for (const probability of [-0.1, 1.1, NaN]) expect(() => new Lsh({ bands: 2, rows: 3 }).similarityAt(probability)).toThrow(RangeError);
  for (const goal of [{ permutations: 0, similarity: 0.5 }, { permutations: 9, similarity: 1 }, { permutations: 9, similarity: 0.5, recall: 1 }]) {
    expect(() => Lsh.choose(goal)).toThrow(RangeError);
  }
});
