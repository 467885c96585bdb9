import fc from "fast-check";
import { expect, test } from "vitest";
import { splitText } from "./split-text.js";

const prose = fc
  .array(fc.constantFrom("word", "Wörter", "日本", "🙂", " ", "\n", "\n\n", ". ", "? ", "x".repeat(30)), { maxLength: 200 })
  .map((parts) => parts.join(""));

test("parts joined are the text, and none is larger than allowed or empty", () => {
  fc.assert(
    fc.property(prose, fc.integer({ min: 4, max: 120 }), (text, maxBytes) => {
      const parts = splitText(text, maxBytes);
      expect(parts.join("")).toBe(text);
      for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(maxBytes);
      if (text !== "") expect(parts).not.toContain("");
    }),
  );
});

test("a text that fits is left whole", () => {
  expect(splitText("one\n\ntwo", 8)).toEqual(["one\n\ntwo"]);
});

test("paragraphs are the first choice, and the parts are of about equal size", () => {
  const paragraph = `${"a".repeat(38)}\n\n`;
  expect(splitText(paragraph.repeat(6), 200)).toEqual([paragraph.repeat(3), paragraph.repeat(3)]);
});

test("a long paragraph is cut between sentences, a long sentence between words, a long word between characters", () => {
  expect(splitText("It rained. It poured! Then, sun.", 22)).toEqual(["It rained. It poured! ", "Then, sun."]);
  expect(splitText("alpha beta gamma", 11)).toEqual(["alpha beta ", "gamma"]);
  expect(splitText("日本語", 4)).toEqual(["日", "本", "語"]);
});

test("a long run of brackets takes no longer than other text", () => {
  const text = `${"]".repeat(400_000)} [a]`;
  expect(splitText(text, 16_384).join("")).toBe(text);
});
