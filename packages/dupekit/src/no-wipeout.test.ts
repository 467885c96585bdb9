import { expect, test } from "vitest";
import { templatedSet } from "../test/labelled.js";
import { survivors } from "../test/wipeout.js";
import { BloomFilter } from "./bloom.js";
import { presets } from "./presets.js";
import { contentHash } from "./sketch.js";

const options = { documents: 200, copies: 20, words: 300, share: 0.7, longWords: 20_000 };

// A preset finds heavier edits as often as its S-curve says, which the quality test measures.
test.each([{ name: "rare shingles", preset: undefined }, ...Object.values(presets).map((preset) => ({ name: preset.name, preset }))])("No wipeout: distinct templated documents stay, their edited copies go, by $name", ({ preset }) => {
  const { distinctKept, plantedRemoved } = survivors(templatedSet(1, { ...options, strengths: preset === undefined ? 5 : 3 }), preset);
  expect(distinctKept).toBeGreaterThanOrEqual(0.995);
  expect(plantedRemoved).toBeGreaterThanOrEqual(0.95);
});

test("No wipeout: a Bloom filter takes each document once, so that only repetitions are called so", () => {
  const filter = BloomFilter.create({ items: 1000, falsePositiveRate: 1e-9 });
  const documents = templatedSet(1, { ...options, strengths: 5 });
  const stream = [...documents, ...documents.slice(0, 50)];
  expect(stream.filter(({ text }) => !filter.add(contentHash(text))).length).toBe(50);
  expect(filter.added).toBe(documents.length);
});
