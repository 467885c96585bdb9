import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { normal } from "../rng/distributions.js";
import { RandomKey } from "../rng/random-key.js";
import { SkipRule } from "./skip-rule.js";

/** Losses near 3 with deviation 0.1. */
const losses = (n: number, seed = 0): number[] => [...normal(RandomKey.fromSeed(seed), n)].map((x) => 3 + 0.1 * x);

function after(values: readonly number[], rule = new SkipRule()): SkipRule {
  for (const value of values) rule.observe(value, 1);
  return rule;
}

describe("SkipRule", () => {
  it("skips a step whose loss or gradient norm is an outlier, and no other", () => {
    expect(after(losses(100)).observe(6, 1)).toEqual({ skip: true });
    expect(after(losses(100)).observe(3.3, 1)).toEqual({ skip: false });
    expect(after(losses(100)).observe(3, 1.1)).toEqual({ skip: true });
    // Below the mean nothing is an outlier.
    expect(after(losses(100)).observe(-50, 0)).toEqual({ skip: false });
    expect(after(losses(500)).skipped).toBe(0);
  });

  it("judges from the 64th entry on", () => {
    expect(after(losses(63)).observe(1e6, 1e6)).toEqual({ skip: false });
    expect(after(losses(64)).observe(1e6, 1)).toEqual({ skip: true });
    expect(after(losses(3), new SkipRule({ rollingLength: 8 })).observe(1e6, 1)).toEqual({ skip: false });
    expect(after(losses(4), new SkipRule({ rollingLength: 8 })).observe(1e6, 1)).toEqual({ skip: true });
  });

  it("puts the limit at the mean and 6 deviations of the last 128", () => {
    const seen = losses(300);
    const last = seen.slice(-128);
    const mean = last.reduce((sum, x) => sum + x, 0) / 128;
    const sigma = Math.sqrt(last.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 128);
    expect(after(seen).observe(mean + 5.999 * sigma, 1)).toEqual({ skip: false });
    expect(after(seen).observe(mean + 6.001 * sigma, 1)).toEqual({ skip: true });
    expect(after(seen, new SkipRule({ sigmaFactor: 3 })).observe(mean + 3.001 * sigma, 1)).toEqual({ skip: true });
  });

  it("takes a deviation of at least 1e-6", () => {
    const constant = new Array<number>(128).fill(2);
    expect(after(constant).observe(2 + 5e-6, 1)).toEqual({ skip: false });
    expect(after(constant).observe(2 + 7e-6, 1)).toEqual({ skip: true });
  });

  it("remembers skipped steps, so that a lasting change is accepted", () => {
    const rule = after(losses(128));
    const later = losses(128, 1).map((x) => rule.observe(x + 3, 1).skip);
    expect(later[0]).toBe(true);
    expect(later.slice(-100)).not.toContain(true);
    expect(rule.skipped).toBe(later.filter(Boolean).length);
  });

  it("goes on exactly from its state as JSON", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.nat(), (stop, seed) => {
        const values = losses(320, seed).map((x, i) => (i % 37 === 36 ? x + 4 : x));
        const straight = new SkipRule();
        const decisions = values.map((x) => straight.observe(x, x / 2).skip);
        const before = new SkipRule();
        const first = values.slice(0, stop).map((x) => before.observe(x, x / 2).skip);
        const resumed = new SkipRule({}, JSON.parse(JSON.stringify(before.state)));
        expect([...first, ...values.slice(stop).map((x) => resumed.observe(x, x / 2).skip)]).toEqual(decisions);
        expect(resumed.state).toEqual(straight.state);
      }),
      { numRuns: 25 },
    );
  });

  it("refuses numbers that are not finite, and states that are none", () => {
    expect(() => new SkipRule().observe(Number.NaN, 1)).toThrow(RangeError);
    expect(() => new SkipRule().observe(1, Infinity)).toThrow(RangeError);
    expect(() => new SkipRule({}, { losses: [] })).toThrow(expect.objectContaining({ code: "LEVANTER_CONFIG" }));
    expect(() => new SkipRule({ rollingLength: 1 })).toThrow(/rollingLength/);
  });
});
