import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { integerBelow, normal, truncatedNormal, uniform } from "./distributions.js";
import { inverseNormal } from "./inverse-normal.js";
import { permute } from "./permute.js";
import { RandomKey } from "./random-key.js";
import { streamKey } from "./streams.js";
import { threefry2x32 } from "./threefry.js";

describe("threefry2x32", () => {
  // Known answers of the Random123 distribution, threefry2x32 with 20 rounds.
  it.each([
    { counter: [0, 0], key: [0, 0], expected: [0x6b200159, 0x99ba4efe] },
    { counter: [0xffffffff, 0xffffffff], key: [0xffffffff, 0xffffffff], expected: [0x1cb996fc, 0xbb002be7] },
    { counter: [0x243f6a88, 0x85a308d3], key: [0x13198a2e, 0x03707344], expected: [0xc4923a9c, 0x483df7a0] },
  ])("encrypts $counter under $key", ({ counter, key, expected }) => {
    const out = new Uint32Array(2);
    threefry2x32(key[0] ?? 0, key[1] ?? 0, counter[0] ?? 0, counter[1] ?? 0, out);
    expect([...out]).toEqual(expected);
  });
});

describe("RandomKey", () => {
  const name = (key: RandomKey): string => `${String(key.high)}:${String(key.low)}`;

  it("takes seeds up to 2^53 - 1 and refuses the rest", () => {
    expect(name(RandomKey.fromSeed(2 ** 53 - 1))).toBe(`${String(2 ** 21 - 1)}:${String(2 ** 32 - 1)}`);
    for (const bad of [-1, 1.5, 2 ** 53, Number.NaN]) expect(() => RandomKey.fromSeed(bad)).toThrow(RangeError);
  });

  it("gives different keys to different labels, numbers and strings apart", () => {
    const key = RandomKey.fromSeed(7);
    const labels = [0, 1, 2 ** 32, 2 ** 53 - 1, "", "0", "1", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "ä"];
    expect(new Set(labels.map((label) => name(key.fold(label)))).size).toBe(labels.length);
    expect(name(key.fold("a").fold("b"))).not.toBe(name(key.fold("b").fold("a")));
    expect(name(key.fold("data"))).toBe(name(RandomKey.fromSeed(7).fold("data")));
  });
});

describe("streamKey", () => {
  it("gives each use of a seed a key of its own, the same from one version to the next", () => {
    const streams = ["model", "data", "dropout", "sample"] as const;
    expect(new Set(streams.map((stream) => streamKey(7, stream).low)).size).toBe(streams.length);
    for (const stream of streams) expect(streamKey(7, stream)).toEqual(RandomKey.fromSeed(7).fold(stream));
  });
});

describe("distributions", () => {
  const key = RandomKey.fromSeed(1);

  it("draws a prefix of the same numbers whatever the count", () => {
    const long = uniform(key, 9001);
    for (const n of [0, 1, 2, 4095, 4096, 4097]) expect(uniform(key, n)).toEqual(long.subarray(0, n));
  });

  it("draws uniform numbers in [0, 1) with the right moments", () => {
    const draws = uniform(key, 100_000);
    expect(Math.min(...draws.subarray(0, 50_000))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws.subarray(0, 50_000))).toBeLessThan(1);
    expect(mean(draws)).toBeCloseTo(0.5, 2);
    expect(variance(draws)).toBeCloseTo(1 / 12, 2);
  });

  it("inverts the normal distribution", () => {
    // Quantiles from tables of the normal distribution.
    expect(inverseNormal(0.5)).toBe(0);
    expect(inverseNormal(0.975)).toBeCloseTo(1.959963984540054, 14);
    expect(inverseNormal(0.0013498980316300946)).toBeCloseTo(-3, 13);
    expect(inverseNormal(1e-10)).toBeCloseTo(-6.361340902404056, 12);
    expect(inverseNormal(1 - 0.975)).toBeCloseTo(-1.959963984540054, 13);
  });

  it("draws normal numbers with the right moments and tails", () => {
    const draws = normal(key, 200_000);
    expect(mean(draws)).toBeCloseTo(0, 2);
    expect(variance(draws)).toBeCloseTo(1, 1);
    expect(share(draws, (x) => Math.abs(x) > 1.959964)).toBeCloseTo(0.05, 2);
  });

  it("cuts the truncated normal at 3 without rescaling", () => {
    const draws = truncatedNormal(key, 200_000);
    expect(draws.every((x) => Math.abs(x) <= 3)).toBe(true);
    // The variance of a standard normal cut at ±3: 1 - 2·3·φ(3)/(Φ(3)-Φ(-3)).
    expect(Math.abs(variance(draws) - 0.97334)).toBeLessThan(0.01);
    expect(Math.abs(share(draws, (x) => x > 2) - 0.0214)).toBeLessThan(0.002);
  });

  it("draws integers below n evenly", () => {
    const counts = new Array<number>(6).fill(0);
    for (let i = 0; i < 12_000; i++) {
      const value = integerBelow(key.fold(i), 6);
      counts[value] = (counts[value] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(200);
    expect(integerBelow(key, 1)).toBe(0);
    fc.assert(fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (n) => integerBelow(key, n) < n));
    expect(() => integerBelow(key, 0)).toThrow(RangeError);
  });
});

describe("permute", () => {
  it("is a bijection for every n from 1 to 300", () => {
    for (let n = 1; n <= 300; n++) {
      const key = RandomKey.fromSeed(n);
      const seen = new Set(Array.from({ length: n }, (_, index) => permute(key, n, index)));
      expect(seen.size).toBe(n);
      for (const value of seen) expect(value >= 0 && value < n).toBe(true);
    }
  });

  it("stays in range and apart at large n", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 2 ** 52 }), fc.nat(), (n, seed) => {
        const key = RandomKey.fromSeed(seed);
        const images = [0, 1, Math.floor(n / 2), n - 1].map((index) => permute(key, n, index));
        for (const image of images) expect(Number.isSafeInteger(image) && image >= 0 && image < n).toBe(true);
        expect(new Set(images).size).toBe(new Set([0, 1, Math.floor(n / 2), n - 1]).size);
      }),
    );
  });

  it("moves about half of the output bits when one index bit flips, high or low", () => {
    for (const bits of [16, 34, 40]) {
      const n = 2 ** bits;
      let changed = 0;
      let trials = 0;
      for (let i = 0; i < 60; i++) {
        const key = RandomKey.fromSeed(i);
        const index = integerBelow(key.fold("index"), n);
        for (let bit = 0; bit < bits; bit++) {
          const flipped = Math.floor(index / 2 ** bit) % 2 === 0 ? index + 2 ** bit : index - 2 ** bit;
          changed += differingBits(permute(key, n, index), permute(key, n, flipped));
          trials += bits;
        }
      }
      expect(changed / trials).toBeGreaterThan(0.47);
      expect(changed / trials).toBeLessThan(0.53);
    }
  });

  it("reaches each of the 6 orders of 3 items about equally often", () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 6000; seed++) {
      const key = RandomKey.fromSeed(seed);
      const order = [0, 1, 2].map((index) => permute(key, 3, index)).join("");
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(200);
  });

  it("refuses positions outside the domain", () => {
    expect(() => permute(RandomKey.fromSeed(0), 3, 3)).toThrow(/from 0 to 2/);
    expect(() => permute(RandomKey.fromSeed(0), 0, 0)).toThrow(RangeError);
  });
});

function mean(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: Float32Array): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / values.length;
}

function share(values: Float32Array, test: (value: number) => boolean): number {
  return values.reduce((count, value) => count + (test(value) ? 1 : 0), 0) / values.length;
}

function differingBits(a: number, b: number): number {
  const count = (bits: number): number => bits.toString(2).replaceAll("0", "").length;
  return count((a ^ b) >>> 0) + count((Math.floor(a / 2 ** 32) ^ Math.floor(b / 2 ** 32)) >>> 0);
}
