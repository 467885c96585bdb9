import { expect, test } from "vitest";
import { templatedSet } from "../test/labelled.js";
import { survivors } from "../test/wipeout.js";
import { presets } from "./presets.js";

test.each([{ name: "rare shingles", preset: undefined }, ...Object.values(presets).map((preset) => ({ name: preset.name, preset }))])(
  "No wipeout: 5,000 templated documents, one of 5 MB and 200 edited copies, of several templates, by $name",
  ({ preset }) => {
    for (const [seed, share, words] of [[2, 0.7, 500], [3, 0.5, 300], [4, 0.9, 1000]] as const) {
      const { distinctKept, plantedRemoved } = survivors(templatedSet(seed, { documents: 5000, copies: 200, words, share, longWords: 880_000, strengths: preset === undefined ? 5 : 3 }), preset);
      expect(distinctKept, String(share)).toBeGreaterThanOrEqual(0.995);
      expect(plantedRemoved, String(share)).toBeGreaterThanOrEqual(0.95);
    }
  },
);
