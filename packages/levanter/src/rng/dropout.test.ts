import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dropoutMasks } from "./dropout.js";
import { streamKey } from "./streams.js";

const KEY = streamKey(7, "dropout").fold(3);

function maskOf(rate: number, shape: readonly number[], seed = 7, step = 3, first = 0): Float32Array {
  const masks = dropoutMasks(streamKey(seed, "dropout").fold(step), { site: { shape, rate } }, { first, count: shape[0] ?? 1 });
  return masks["dropout/site"] as Float32Array;
}

describe("dropoutMasks", () => {
  // Rates above, below and between multiples of 1/256, where a byte alone would decide wrongly: up to 0.2 % of all values.
  it.each([0.1, 0.25, 0.5, 0.001, 0.9, 0.0019])("drops a share of %f and scales the rest to a mean of 1", (rate) => {
    const mask = maskOf(rate, [4, 500_000]);
    const dropped = mask.reduce((count, value) => count + (value === 0 ? 1 : 0), 0);
    const deviation = Math.sqrt(rate * (1 - rate) * mask.length);
    expect(Math.abs(dropped - rate * mask.length)).toBeLessThan(4 * deviation);
    expect([...new Set(mask)].sort()).toEqual([0, Math.fround(1 / (1 - rate))]);
  });

  it("drops values independently of their neighbours, of other rows, sites, steps and seeds", () => {
    const agreement = (a: Float32Array, b: Float32Array): number => a.reduce((count, value, i) => count + ((value === 0) === (b[i] === 0) ? 1 : 0), 0) / a.length;
    const mask = maskOf(0.5, [2, 50_000]);
    const others = [
      mask.map((_, i) => mask[(i + 1) % mask.length] ?? 0),
      mask.map((_, i) => mask[(i + 4) % mask.length] ?? 0),
      mask.map((_, i) => mask[(i + 50_000) % mask.length] ?? 0),
      maskOf(0.5, [2, 50_000], 8),
      maskOf(0.5, [2, 50_000], 7, 4),
      dropoutMasks(KEY, { other: { shape: [2, 50_000], rate: 0.5 } }, { first: 0, count: 2 })["dropout/other"] as Float32Array,
    ];
    for (const other of others) expect(Math.abs(agreement(mask, other) - 0.5)).toBeLessThan(0.01);
  });

  it("gives a row the same mask however the batch is split", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 0.99, noNaN: true }), fc.nat(100), (rows, width, rate, step) => {
        const whole = maskOf(rate, [rows, width], 0, step);
        for (let row = 0; row < rows; row++) {
          expect(maskOf(rate, [1, width], 0, step, row)).toEqual(whole.subarray(row * width, (row + 1) * width));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("keeps a row's mask when the row grows", () => {
    expect(maskOf(0.3, [1, 100])).toEqual(maskOf(0.3, [1, 70_000]).subarray(0, 100));
  });

  it("keeps its bits from one version to the next", () => {
    const dropped = [...maskOf(0.25, [1, 64])].map((value) => (value === 0 ? "1" : "0")).join("");
    expect(dropped).toBe("0100010000000010001000000110100111000011100000000001000100000001");
  });

  it("drops nothing at rate 0", () => {
    expect(maskOf(0, [3, 1000]).every((value) => value === 1)).toBe(true);
  });

  it("refuses rates outside [0, 1) and shapes that do not divide into rows", () => {
    for (const rate of [-0.1, 1, Number.NaN]) expect(() => maskOf(rate, [1, 8])).toThrow(RangeError);
    expect(() => dropoutMasks(KEY, { site: { shape: [3, 5], rate: 0.1 } }, { first: 0, count: 2 })).toThrow(/2 rows.*\[3, 5\]/);
  });
});
