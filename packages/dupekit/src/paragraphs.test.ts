import { expect, test } from "vitest";
import { RealTexts } from "../test/real-texts.js";
import { BloomFilter } from "./bloom.js";
import { paragraphsOf, RepeatedParagraphs } from "./paragraphs.js";
import { contentHash } from "./sketch.js";
import { removeSpans } from "./spans.js";

test("Paragraphs: a line, or lines up to an empty one, each with what is behind it", () => {
  const text = "\n  First line.\r\nSecond line.\n \t\nThird,\nlonger line.\n\n\n";
  const parts = (separator: "line" | "empty line"): string[] => paragraphsOf(text, { separator, minCharacters: 0 }).map(({ start, end }) => text.slice(start, end));
  expect(parts("line")).toEqual(["  First line.\r\n", "Second line.\n \t\n", "Third,\n", "longer line.\n\n\n"]);
  expect(parts("empty line")).toEqual(["  First line.\r\nSecond line.\n \t\n", "Third,\nlonger line.\n\n\n"]);
  expect(paragraphsOf(text, { minCharacters: 0 }).map(({ hash }) => hash)).toEqual(["First line.", "Second line.", "Third,", "longer line."].map(contentHash));
  expect(paragraphsOf("", { minCharacters: 0 })).toEqual([]);
  expect(paragraphsOf(" \n\n ", { minCharacters: 0 })).toEqual([]);
  expect(() => paragraphsOf("a", { minCharacters: -1 })).toThrow(RangeError);
});

test("Paragraphs: equal by their text, or by their words", () => {
  const [a, b] = ["Never mind how long PRECISELY, he said.", "never mind how long precisely he said"];
  const hashes = (equal: "text" | "words"): string[] => paragraphsOf(`${a}\n${b}`, { equal, minCharacters: 0 }).map(({ hash }) => hash);
  expect(new Set(hashes("text")).size).toBe(2);
  expect(new Set(hashes("words")).size).toBe(1);
});

test("Paragraphs: of real text, those that occurred before go, wherever they stand; short ones stay", () => {
  const texts = new RealTexts();
  const shared = Array.from({ length: 5 }, () => texts.prose(40));
  const own = Array.from({ length: 30 }, () => texts.prose(40));
  const documents = own.map((text, index) => [text, "Chapter 1", shared[index % 5], `${text.slice(0, 20)} ${String(index)}`].join("\n"));
  const expected = own.map((text, index) => [text, "Chapter 1", ...(index < 5 ? [shared[index]] : []), `${text.slice(0, 20)} ${String(index)}`].join("\n"));
  for (const memory of ["exact", { items: 1000, falsePositiveRate: 1e-6 }, BloomFilter.create({ items: 1000, falsePositiveRate: 1e-6 })] as const) {
    const repeated = new RepeatedParagraphs({ memory });
    expect(documents.map((text) => removeSpans(text, repeated.next(text)))).toEqual(expected);
  }
});

test("Paragraphs: each is remembered once a document, and a document does not repeat itself by being looked at", () => {
  const filter = BloomFilter.create({ items: 1000, falsePositiveRate: 1e-9 });
  const repeated = new RepeatedParagraphs({ memory: filter, minCharacters: 1 });
  const documents = Array.from({ length: 100 }, (_, index) => ["the same line", `line ${String(index)} a`, `line ${String(index)} b`, `line ${String(index)} a`].join("\n"));
  const spans = documents.map((text) => repeated.next(text).length);
  expect(spans).toEqual(documents.map((_, index) => (index === 0 ? 1 : 2)));
  expect(filter.added).toBe(201);
});
