import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenUnigram } from "./token-unigram.js";

test("worked out by hand", () => {
  // Token 0 twice, token 2 once, of 3 tokens and a vocabulary of 5: (2+1)/8, (1+1)/8, 1/8.
  const unigram = new TokenUnigram(Uint16Array.of(0, 2, 0), 5);
  expect(unigram.probability(0)).toBeCloseTo(3 / 8, 14);
  expect(unigram.probability(2)).toBeCloseTo(2 / 8, 14);
  expect(unigram.probability(4)).toBeCloseTo(1 / 8, 14);
  expect(unigram.bits([2, 4, 4])).toBeCloseTo(2 + 3 + 3, 12);
});

test("the probabilities of all tokens sum to one, and none is zero", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.array(fc.nat()), (vocabSize, numbers) => {
      const unigram = new TokenUnigram(numbers.map((number) => number % vocabSize), vocabSize);
      const probabilities = Array.from({ length: vocabSize }, (_, token) => unigram.probability(token));
      expect(Math.min(...probabilities)).toBeGreaterThan(0);
      expect(probabilities.reduce((sum, probability) => sum + probability, 0)).toBeCloseTo(1, 12);
    }),
  );
});
