import { describe, expect, it } from "vitest";
import { integerBelow } from "./distributions.js";
import { permute } from "./permute.js";
import { RandomKey } from "./random-key.js";

describe("permute, in full", () => {
  it("is a bijection for every n from 1 to 2000", () => {
    for (let n = 1; n <= 2000; n++) {
      const key = RandomKey.fromSeed(n);
      const seen = new Uint8Array(n);
      for (let index = 0; index < n; index++) seen[permute(key, n, index)] = 1;
      expect(seen.includes(0), `n = ${String(n)}`).toBe(false);
    }
  });

  it.each([2 ** 34, 2 ** 34 + 5, 2 ** 33 + 5])("stays in range at n = %i, and index bits move output bits, high ones as well as low ones", (n) => {
    const bits = Math.ceil(Math.log2(n));
    // Per index bit: output bits that a flip of it changes.
    const changed = new Float64Array(bits);
    const trials = new Float64Array(bits);
    for (let i = 0; i < 400; i++) {
      const key = RandomKey.fromSeed(i);
      const index = integerBelow(key.fold("index"), n);
      const image = permute(key, n, index);
      expect(image >= 0 && image < n).toBe(true);
      for (let bit = 0; bit < bits; bit++) {
        const flipped = index + (Math.floor(index / 2 ** bit) % 2 === 0 ? 1 : -1) * 2 ** bit;
        if (flipped < 0 || flipped >= n) continue;
        changed[bit] = (changed[bit] ?? 0) + differingBits(image, permute(key, n, flipped));
        trials[bit] = (trials[bit] ?? 0) + 34;
      }
    }
    changed.forEach((count, bit) => { if (trials[bit] !== 0) expect(count / (trials[bit] ?? 1), `bit ${String(bit)}`).toBeGreaterThan(0.45); });
  });

  it("spreads neighbours, also those 2^32 apart, over the whole range", () => {
    const n = 2 ** 33 + 5;
    const distances = (step: number): number[] =>
      Array.from({ length: 2000 }, (_, i) => {
        const key = RandomKey.fromSeed(i);
        return Math.abs(permute(key, n, i) - permute(key, n, i + step)) / n;
      });
    // The distance of two points drawn evenly from [0, 1) is 1/3 on average, with deviation 1/√18.
    for (const step of [1, 2, 2 ** 16, 2 ** 32]) {
      const mean = distances(step).reduce((sum, x) => sum + x, 0) / 2000;
      expect(Math.abs(mean - 1 / 3), `step ${String(step)}`).toBeLessThan(4 / Math.sqrt(18 * 2000));
    }
  });
});

function differingBits(a: number, b: number): number {
  const count = (bits: number): number => bits.toString(2).replaceAll("0", "").length;
  return count((a ^ b) >>> 0) + count((Math.floor(a / 2 ** 32) ^ Math.floor(b / 2 ** 32)) >>> 0);
}
