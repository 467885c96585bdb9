import { expect, test } from "vitest";
import { Lsh } from "./lsh.js";
import { estimateJaccard } from "./minhash.js";
import { presets, presetShingles, presetSignature } from "./presets.js";
import { shingleSequence } from "./shingle.js";

test("the published numbers", () => {
  expect(Object.values(presets).map(({ name, unit, size, bands, rows }) => `${name}: ${String(bands)} x ${String(rows)} of ${String(size)} ${unit}s`)).toEqual([
    "marin: 26 x 11 of 5 characters",
    "fineweb: 14 x 8 of 5 words",
    "nemo: 20 x 13 of 5 characters",
    "duplodocus: 20 x 5 of 5 tokens",
  ]);
});

test.each(Object.values(presets))("$name: a text and itself with other case and punctuation have one signature, of the preset's length", (preset) => {
  const signature = presetSignature("The quick brown fox jumps over the lazy dog", preset);
  expect(signature.length).toBe(new Lsh(preset).permutations);
  expect(signature.BYTES_PER_ELEMENT * 8).toBe(preset.bits);
  expect(presetSignature("the QUICK brown fox jumps over the lazy dog!", preset)).toEqual(signature);
  expect(estimateJaccard(signature, presetSignature("an entirely different text about something else, longer than the other", preset))).toBeLessThan(0.2);
});

test("only so many characters count; tokens stand for words where there is a tokenizer", () => {
  const preset = { ...presets.marin, maxCharacters: 20 };
  expect(presetSignature("the quick brown fox jumps over", preset)).toEqual(presetSignature("the quick brown fox ", preset));
  const tokenize = (text: string): number[] => Array.from(text, (character) => character.charCodeAt(0));
  expect(presetShingles("abcdef", presets.duplodocus, { tokenize })).toEqual(shingleSequence("abcdef", { unit: "token", size: 5, bits: 64, tokenize }));
});
