import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, firstInvalidUtf8 } from "./utf8.js";

/** Independent: the longest prefix that Node calls UTF-8 ends where the first bad sequence starts. */
function firstInvalidBySearch(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1;
  for (let end = bytes.length - 1; end >= 0; end -= 1) if (isUtf8(bytes.subarray(0, end))) return end;
  return 0;
}

test("the first bad byte is where the longest valid prefix ends", () => {
  const interesting = fc.constantFrom(0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff);
  const bytes = fc.array(fc.oneof(interesting, fc.integer({ min: 0, max: 255 })), { maxLength: 12 });
  fc.assert(
    fc.property(bytes, (values) => {
      const buffer = Buffer.from(values);
      expect(firstInvalidUtf8(buffer)).toBe(firstInvalidBySearch(buffer));
    }),
    { numRuns: 5000 },
  );
});

test("well-formed text decodes to itself", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const buffer = Buffer.from(text);
      expect(firstInvalidUtf8(buffer)).toBe(-1);
      expect(decodeUtf8(buffer, { path: "a", offset: 0 })).toBe(buffer.toString());
    }),
  );
});
