import { describe, expect, test } from "vitest";
import { labelledSet } from "../test/labelled.js";
import { measureQuality } from "../test/quality.js";
import { presets } from "./presets.js";

const set = labelledSet(1, 1200, 150);

describe.each(Object.values(presets))("Dedup quality: preset $name", (preset) => {
  const strengths = measureQuality(set, preset);

  test.each(strengths)("$edit (similarity $similarity): recall within 0.03 of the S-curve, precision 1", ({ expected, candidates, found, precision }) => {
    expect(Math.abs(candidates - expected)).toBeLessThan(0.03);
    expect(Math.abs(found - expected)).toBeLessThan(0.03);
    expect(precision).toBe(1);
  });
});
