import fc from "fast-check";
import { expect, test } from "vitest";
import { documentId, normalizeText } from "./document.js";

test("the id is the SHA-256 of the UTF-8 bytes", () => {
  // FIPS 180-2, appendix B.1.
  expect(documentId("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("texts that read the same become the same", () => {
  expect(normalizeText("\uFEFF\r\nCafe\u0301 \r\n\r\n\r\n\r\nbar\u0000\t\n\n")).toBe("Café\n\nbar");
});

test("indentation stays", () => {
  expect(normalizeText("\n  one\n    two\n")).toBe("  one\n    two");
});

test("normalising twice changes nothing, whatever stands between", () => {
  for (const raw of ["e\u0007\u0301", "\r\u0000\nb", "\uFEFF\uFEFFa", "\n\uFEFF\nb", "\u0000\uFEFFa"]) expect(normalizeText(normalizeText(raw))).toBe(normalizeText(raw));
  const piece = fc.constantFrom("\n", "\r", " ", "\t", "\u0301", "e", "\u0007", "\uFEFF", "\u007F");
  const text = fc.oneof(fc.array(piece, { maxLength: 8 }), fc.array(fc.oneof(piece, fc.string({ unit: "grapheme" })))).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, (raw) => {
      const once = normalizeText(raw);
      expect(normalizeText(once)).toBe(once);
      expect(once.normalize("NFC")).toBe(once);
    }),
    { numRuns: 3000 },
  );
});

test("long runs of blanks take no longer than other text", () => {
  const blanks = " ".repeat(2_000_000);
  expect(normalizeText(`a${blanks}b${blanks}\n`)).toBe(`a${blanks}b`);
});
