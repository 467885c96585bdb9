import { expect, test } from "vitest";
import { templatedSet } from "../test/labelled.js";
import { survivors } from "../test/wipeout.js";
import { presets } from "./presets.js";

// The preset that compares the least similar pairs stands for the others, which the soak test runs too; heavier edits it finds as often as its S-curve says.
test.each([{ preset: undefined, strengths: 5, name: "rare shingles" }, { preset: presets.duplodocus, strengths: 3, name: "duplodocus" }])(
  "No wipeout: 5,000 templated documents, one of 5 MB and 200 edited copies, by $name",
  ({ preset, strengths }) => {
    const { distinctKept, plantedRemoved } = survivors(templatedSet(1, { documents: 5000, copies: 200, words: 500, share: 0.7, longWords: 880_000, strengths }), preset);
    expect(distinctKept).toBeGreaterThanOrEqual(0.995);
    expect(plantedRemoved).toBeGreaterThanOrEqual(0.95);
  },
);
