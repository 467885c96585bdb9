import { expect, test } from "vitest";
import { distinct, shingles } from "./shingle.js";
import { contentHash, sketchText } from "./sketch.js";

test("a content hash is the SHA-256 of the UTF-8 bytes", () => {
  // FIPS 180-2, appendix B.1.
  expect(contentHash("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("a sketch is plain data with the text's shingles in order", () => {
  const text = "One fish, two fish, red fish, blue fish. One fish, two fish!";
  const sketch = sketchText(text);
  expect(structuredClone(sketch)).toEqual(sketch);
  expect(sketch).toMatchObject({ hash: contentHash(text), length: text.length });
  expect(sketch.shingles).toHaveLength(10);
  expect(sketch.shingles[8]).toBe(sketch.shingles[0]);
  expect(distinct(sketch.shingles)).toEqual(shingles(text, { size: 3 }));
});
