import { expect, test } from "vitest";
import { labelledSet } from "../test/labelled.js";
import { measureQuality } from "../test/quality.js";
import { presets } from "./presets.js";

test.each([{ name: "rare shingles", preset: undefined }, ...Object.values(presets).map((preset) => ({ name: preset.name, preset }))])(
  "Dedup quality: 10,000 real texts and copies by five strengths of edit, by $name: recall within 0.015 (candidates) and 0.03 (verified) of the S-curve, precision 1",
  ({ preset }) => {
    for (const { edit, expected, candidates, found, precision, similarityError } of measureQuality(labelledSet(2, 10_000, 150), preset)) {
      expect(Math.abs(candidates - expected), edit).toBeLessThan(0.015);
      expect(Math.abs(found - expected), edit).toBeLessThan(0.03);
      expect(precision, edit).toBe(1);
      expect(similarityError, edit).toBeLessThan(1e-9);
    }
  },
);
