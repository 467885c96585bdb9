import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText, jaccard, shingles } from "./shingle.js";

test.each([
  ["  The quick—brown\tFOX, jumps!  ", "the quickbrown fox jumps"],
  ["", ""],
  ["?!...", ""],
  ["E\u0301TE\u0301 1+1", "été 11"],
])("%j is cleaned to %j", (text, expected) => {
  expect(cleanText(text)).toBe(expected);
});

/** The plain definition: the set of the shingles' texts. */
function shingleTexts(text: string, unit: "word" | "character", size: number): Set<string> {
  const cleaned = cleanText(text);
  const units = unit === "word" ? cleaned.split(" ").filter((word) => word !== "") : Array.from(cleaned);
  if (units.length === 0) return new Set();
  const separator = unit === "word" ? " " : "";
  const length = Math.min(size, units.length);
  return new Set(Array.from({ length: units.length - length + 1 }, (_, start) => units.slice(start, start + length).join(separator)));
}

function jaccardOf<T>(a: Set<T>, b: Set<T>): number {
  const union = new Set([...a, ...b]);
  return union.size === 0 ? 1 : (a.size + b.size - union.size) / union.size;
}

const text = fc.array(fc.constantFrom("a", "b", "The", "fox,", "jumps", "über", "😀x"), { maxLength: 30 }).map((words) => words.join(" "));
const unit = fc.constantFrom("word" as const, "character" as const);

test("shingles agree with the plain definition, in number and in the similarity of two texts", () => {
  fc.assert(
    fc.property(text, text, unit, fc.integer({ min: 1, max: 6 }), (a, b, kind, size) => {
      const options = { unit: kind, size };
      const [setA, setB] = [shingles(a, options), shingles(b, options)];
      const [plainA, plainB] = [shingleTexts(a, kind, size), shingleTexts(b, kind, size)];
      expect(setA.length).toBe(plainA.size);
      expect(Array.from(setA)).toEqual(Array.from(new Set(setA)).sort((x, y) => x - y));
      expect(jaccard(setA, setB)).toBeCloseTo(jaccardOf(plainA, plainB), 12);
      expect(jaccard(setA, setB)).toBe(jaccard(setB, setA));
    }),
  );
});

test("case, punctuation and white space make no difference; the order of words does", () => {
  const one = shingles("The quick brown fox jumps over the lazy dog.");
  expect(jaccard(one, shingles("the QUICK   brown fox\njumps, over the lazy dog"))).toBe(1);
  expect(jaccard(one, shingles("dog lazy the over jumps fox brown quick the"))).toBe(0);
});

test.each([0, -1, 1.5, NaN])("a size of %d is refused", (size) => {
  expect(() => shingles("a b", { size })).toThrow(RangeError);
});
