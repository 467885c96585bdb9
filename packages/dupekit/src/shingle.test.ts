import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText } from "./clean-text.js";
import { jaccard, shingles, shingleSequence } from "./shingle.js";
import { xxh3_64 } from "./xxh3.js";

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

test("a shingle of 64 bits is the XXH3 of its text, in order; so is one of tokens of their bytes", () => {
  fc.assert(
    fc.property(text, unit, fc.integer({ min: 1, max: 14 }), (input, kind, size) => {
      const cleaned = cleanText(input);
      const units = kind === "word" ? cleaned.split(" ").filter((word) => word !== "") : Array.from(cleaned);
      const length = Math.min(size, units.length);
      const expected = units.slice(0, units.length === 0 ? 0 : units.length - length + 1).map((_, start) => xxh3_64(units.slice(start, start + length).join(kind === "word" ? " " : "")));
      expect(Array.from(shingleSequence(input, { unit: kind, size, bits: 64 }))).toEqual(expected);
      expect(Array.from(shingles(input, { unit: kind, size, bits: 64 }))).toEqual(Array.from(new Set(expected)).sort((a, b) => (a < b ? -1 : 1)));
    }),
  );
  const tokens = [7, 8, 4294967295, 9];
  const bytes = (numbers: readonly number[]): Uint8Array => Buffer.concat(numbers.map((number) => Buffer.from([number & 255, (number >>> 8) & 255, (number >>> 16) & 255, number >>> 24])));
  expect(Array.from(shingleSequence(tokens, { size: 3, bits: 64 }))).toEqual([xxh3_64(bytes(tokens.slice(0, 3))), xxh3_64(bytes(tokens.slice(1)))]);
});

test("tokens of a text come from its tokenizer, and shingle like any numbers", () => {
  const tokenize = (input: string): number[] => Array.from(input, (character) => character.charCodeAt(0));
  expect(shingles("abca", { unit: "token", size: 2, tokenize })).toEqual(shingles([97, 98, 99, 97], { size: 2 }));
  expect(jaccard(shingles([1, 2, 3, 4], { size: 2, bits: 64 }), shingles([2, 3, 4, 5], { size: 2, bits: 64 }))).toBe(0.5);
});

test("a text of megabytes has the shingles of its parts", () => {
  const part = `${Array.from({ length: 1000 }, (_, index) => `Word “${String(index)}”,`).join(" ")} `;
  const [words, copies] = [2000, 600];
  for (const bits of [32, 64] as const) {
    const short = shingleSequence(part.repeat(2), { bits });
    const long = shingleSequence(part.repeat(copies), { bits });
    expect(long.length).toBe(words * copies - 4);
    const samples = Array.from({ length: 500 }, (_, index) => (index * 7919 * 311) % long.length);
    expect(samples.filter((at) => long[at] !== short[at % words])).toEqual([]);
  }
});

test("values are the same in every later version", () => {
  expect(Array.from(shingleSequence("The quick brown fox", { size: 3 }))).toMatchInlineSnapshot(`
    [
      2297708454,
      307564391,
    ]
  `);
  expect(Array.from(shingleSequence("The quick brown fox", { unit: "character", size: 17 }))).toMatchInlineSnapshot(`
    [
      2781095516,
      298451731,
      1919458447,
    ]
  `);
});

test("case, punctuation and white space make no difference; the order of words does", () => {
  const one = shingles("The quick brown fox jumps over the lazy dog.");
  expect(jaccard(one, shingles("the QUICK   brown fox\njumps, over the lazy dog"))).toBe(1);
  expect(jaccard(one, shingles("dog lazy the over jumps fox brown quick the"))).toBe(0);
});

test.each([0, -1, 1.5, NaN])("a size of %d is refused", (size) => {
  expect(() => shingles("a b", { size })).toThrow(RangeError);
});

test("options and input that do not go together are refused", () => {
  expect(() => shingles("a b", { unit: "token" })).toThrow(/need tokenize/);
  expect(() => shingles([1, 2], { unit: "word" })).toThrow(/of numbers, unit is "token"/);
  expect(() => shingles("a", { unit: "letter" as "word" })).toThrow(/"word", "character" or "token", found "letter"/);
  expect(() => shingles("a", { bits: 16 as 32 })).toThrow(/32 or 64, found 16/);
  for (const token of [-1, 0.5, 2 ** 32, NaN]) expect(() => shingles([1, token])).toThrow(/at 1\./);
});
