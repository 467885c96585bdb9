import { describe, expect, it } from "vitest";
import { RandomKey } from "../rng/random-key.js";
import { sampleToken } from "./sample-token.js";

const LOGITS = Float32Array.of(Math.log(0.5), Math.log(0.1), Math.log(0.3), Math.log(0.1));

function shares(temperature: number, topK: number, topP = 1, draws = 4000): number[] {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < draws; i++) {
    const token = sampleToken(LOGITS, { temperature, topK, topP }, RandomKey.fromSeed(i));
    counts[token] = (counts[token] ?? 0) + 1;
  }
  return counts.map((count) => count / draws);
}

function expectNear(found: readonly number[], expected: readonly number[]): void {
  found.forEach((share, i) => {
    expect(Math.abs(share - (expected[i] ?? 0))).toBeLessThan(0.03);
  });
}

describe("sampleToken", () => {
  it("draws tokens as often as their probabilities say", () => {
    expectNear(shares(1, 0), [0.5, 0.1, 0.3, 0.1]);
  });

  it("sharpens with a low temperature: probabilities to the power 1/temperature", () => {
    const powers = [0.25, 0.01, 0.09, 0.01];
    expectNear(shares(0.5, 0), powers.map((power) => power / 0.36));
  });

  it("keeps to the likeliest tokens", () => {
    expectNear(shares(1, 2), [0.625, 0, 0.375, 0]);
    expectNear(shares(1, 100), [0.5, 0.1, 0.3, 0.1]);
    expect(shares(1, 1)).toEqual([1, 0, 0, 0]);
  });

  it("keeps to the fewest of the likeliest tokens that have the probability asked for", () => {
    expect(shares(1, 0, 0.49)).toEqual([1, 0, 0, 0]);
    expectNear(shares(1, 0, 0.79), [0.625, 0, 0.375, 0]);
    // Two tokens of 0.1 are the third likeliest: both can be drawn.
    expectNear(shares(1, 0, 0.89), [0.5, 0.1, 0.3, 0.1]);
    // Of the two tokens that topK leaves, the likelier has 0.625.
    expect(shares(1, 2, 0.6)).toEqual([1, 0, 0, 0]);
  });

  it("takes the likeliest token at temperature 0, the lowest of equals", () => {
    expect(sampleToken(Float32Array.of(1, 3, 3, 2), { temperature: 0, topK: 0 }, RandomKey.fromSeed(0))).toBe(1);
  });

  it("is a function of the key", () => {
    const key = RandomKey.fromSeed(5);
    expect(sampleToken(LOGITS, { temperature: 1, topK: 0 }, key)).toBe(sampleToken(LOGITS, { temperature: 1, topK: 0 }, key));
  });
});
