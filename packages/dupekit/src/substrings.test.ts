import fc from "fast-check";
import { expect, test } from "vitest";
import { RealTexts } from "../test/real-texts.js";
import { removeSpans, spanLength } from "./spans.js";
import { findRepeatedSubstrings } from "./substrings.js";

/** The definition: a character is repeated when a run of so many characters around it occurs, whole, before that run begins. */
function repeatedCharacters(texts: readonly string[], length: number): boolean[][] {
  const marks = texts.map((text) => new Array<boolean>(text.length).fill(false));
  texts.forEach((text, index) => {
    for (let start = 0; start + length <= text.length; start += 1) {
      const run = text.slice(start, start + length);
      const occurs = texts.slice(0, index).some((other) => other.includes(run)) || text.slice(0, start).includes(run);
      if (occurs) marks[index]?.fill(true, start, start + length);
    }
  });
  return marks;
}

test("Substrings: the spans are the characters that the definition marks, and removing them leaves the others", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), fc.integer({ min: 1, max: 6 }), (texts, minCharacters) => {
      const expected = repeatedCharacters(texts, minCharacters);
      findRepeatedSubstrings(texts, { minCharacters }).forEach((spans, index) => {
        const marks = new Array<boolean>(texts[index]?.length ?? 0).fill(false);
        for (const { start, end } of spans) marks.fill(true, start, end);
        expect(marks).toEqual(expected[index]);
        expect(removeSpans(texts[index] ?? "", spans)).toBe(Array.from(texts[index] ?? "").filter((_, at) => expected[index]?.[at] === false).join(""));
        expect(spanLength(spans)).toBe(expected[index]?.filter(Boolean).length);
      });
    }),
    { numRuns: 300 },
  );
});

test("Substrings: passages planted into real text are found to the character, and nothing else", () => {
  const texts = new RealTexts();
  const passage = texts.prose(60);
  const sign = (index: number): string => String.fromCodePoint(0x4e00 + index);
  const documents = Array.from({ length: 40 }, (_, index) => `${texts.prose(150)} ${sign(index)}# ${index % 4 === 0 ? `${passage} ` : ""}#${sign(index)} ${texts.prose(150)}`);
  const found = findRepeatedSubstrings(documents, { minCharacters: 100 });
  found.forEach((spans, index) => {
    const isCopy = index % 4 === 0 && index > 0;
    // The signs around the passage are part of it where they are the same.
    const expected = isCopy ? [`# ${passage} #`] : [];
    expect(spans.map(({ start, end }) => documents[index]?.slice(start, end))).toEqual(expected);
  });
});

test("Substrings: one character over and over, characters of two units, texts shorter than a passage", () => {
  expect(findRepeatedSubstrings(["x".repeat(1000)], { minCharacters: 200 })).toEqual([[{ start: 200, end: 1000 }]]);
  // The second text shares the second half of the first's last sign, and the first half of the one behind.
  const [first, second] = ["\u{1F600}".repeat(2), "\u{1F601}\u{1F600}\u{1F600}\u{1F602}"];
  const spans = findRepeatedSubstrings([`abcdef${first}`, `xyz${second}`], { minCharacters: 3 });
  expect(spans[1]?.map(({ start, end }) => `xyz${second}`.slice(start, end))).toEqual([first]);
  expect(findRepeatedSubstrings(["short", "short", ""], { minCharacters: 10 })).toEqual([[], [], []]);
  expect(findRepeatedSubstrings([])).toEqual([]);
  for (const minCharacters of [0, 1.5, NaN]) expect(() => findRepeatedSubstrings([], { minCharacters })).toThrow(RangeError);
});

test("spans that do not ascend or lie outside are refused; those that touch or overlap are one", () => {
  expect(removeSpans("abcdef", [{ start: 0, end: 2 }, { start: 1, end: 3 }, { start: 3, end: 4 }])).toBe("ef");
  expect(() => removeSpans("abc", [{ start: 2, end: 3 }, { start: 1, end: 2 }])).toThrow(/found 1 to 2 after one that starts at 2/);
  for (const span of [{ start: 0, end: 4 }, { start: 2, end: 1 }, { start: -1, end: 1 }, { start: NaN, end: 1 }]) expect(() => removeSpans("abc", [span])).toThrow(RangeError);
});
