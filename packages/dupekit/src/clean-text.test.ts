import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanGenerally } from "./clean-table.js";
import { cleanText } from "./clean-text.js";

test.each([
  ["  The quick—brown\tFOX, jumps!  ", "the quickbrown fox jumps", "the quick—brown fox jumps"],
  ["", "", ""],
  ["?!...", "", ""],
  ["E\u0301TE\u0301 1+1", "été 11", "e\u0301te\u0301 11"],
  ["“Don’t” 😀\u00a0€5", "dont 5", "“don’t” 😀 €5"],
  ["ΟΔΟΣ. İ", "οδος i\u0307", "οδος i\u0307"],
])("%j is cleaned to %j, by the marks of ASCII to %j", (text, unicode, ascii) => {
  expect(cleanText(text)).toBe(unicode);
  expect(cleanText(text, { punctuation: "ascii" })).toBe(ascii);
});

test("cleaning by tables is cleaning by the engine's own functions: every character, alone and after a letter", () => {
  const points = Array.from({ length: 0x30000 }, (_, point) => point);
  // Some hundred characters at a time: what goes wrong for one shows in a text of few that need care.
  for (let from = 0; from < points.length; from += 256) {
    const text = points.slice(from, from + 256).map((point) => `a${String.fromCodePoint(point)} `).join("");
    if (cleanText(text) !== cleanGenerally(text, "unicode")) expect(cleanText(text)).toBe(cleanGenerally(text, "unicode"));
  }
});

const characters = fc.constantFrom("\ud800", "\udc00", ..."aAéÉß .,-—“”€\t\n\u00a0\u3000\u200b\ufeffΣσİıK😀𝒳𐐀語가\u1100\u1161\u0301\u0338\u0345Å≠=\u0000");

test("so is that of any text, pairs broken or whole", () => {
  fc.assert(
    fc.property(fc.oneof(fc.array(characters, { maxLength: 40 }).map((parts) => parts.join("")), fc.string({ unit: "binary" })), fc.constantFrom("unicode" as const, "ascii" as const), (text, punctuation) => {
      expect(cleanText(text, { punctuation })).toBe(cleanGenerally(text, punctuation));
    }),
    { numRuns: 300 },
  );
});

test("an unknown kind of punctuation is refused", () => {
  expect(() => cleanText("a", { punctuation: "none" as "ascii" })).toThrow(/"unicode" or "ascii", found "none"/);
});
