import { expect, test } from "vitest";
import { templatedSet } from "../test/labelled.js";
import { survivors } from "../test/wipeout.js";
import { presets } from "./presets.js";

test.each([undefined, ...Object.values(presets)])("No wipeout: 5,000 templated documents, one of 5 MB and 200 edited copies, of several templates, by $name", (preset) => {
  for (const [seed, share, words] of [[2, 0.7, 500], [3, 0.5, 300], [4, 0.9, 1000]] as const) {
    const documents = templatedSet(seed, { documents: 5000, copies: 200, words, share, longWords: 880_000, strengths: preset === undefined ? 5 : 3 });
    const { distinctKept, plantedRemoved } = survivors(documents, preset);
    expect(distinctKept).toBeGreaterThanOrEqual(0.995);
    expect(plantedRemoved).toBeGreaterThanOrEqual(0.95);
  }
});
