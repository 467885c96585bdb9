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

test("bands, rows and signatures that do not fit are refused", () => {
  for (const bad of [0, 1.5, NaN]) {
    expect(() => new Lsh({ bands: bad, rows: 2 })).toThrow(RangeError);
    expect(() => new Lsh({ bands: 2, rows: bad })).toThrow(RangeError);
  }
  expect(() => new Lsh({ bands: 2, rows: 3 }).keys(new Uint32Array(5))).toThrow(/6 places, found 5/);
});
