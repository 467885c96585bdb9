import fc from "fast-check";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { distinct, shingles } from "./shingle.js";
import { contentHash, sketchText } from "./sketch.js";

test("a content hash is the SHA-256 of the UTF-8 bytes", () => {
  // FIPS 180-2, appendix B.1.
  expect(contentHash("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("different texts have different content hashes, half a surrogate pair or not; that of a text that has UTF-8 is of its UTF-8", () => {
  const unit = fc.constantFrom("a", "\ud83d", "\udc00", "\udfff", "\ufffd", "😀", "í", "\u00a0", "\u00bd");
  const text = fc.array(unit, { maxLength: 5 }).map((units) => units.join(""));
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(contentHash(a) === contentHash(b)).toBe(a === b);
      if (!/\p{Surrogate}/u.test(a)) expect(contentHash(a)).toBe(createHash("sha256").update(Buffer.from(a)).digest("hex"));
    }),
  );
  expect(new Set(["\ud800", "\ud801", "\udc00", "\ufffd", ""].map((half) => contentHash(`cut ${half}`))).size).toBe(5);
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
