import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeControls } from "./escape.js";

test("every control character is written out, also those that JSON leaves", () => {
  expect(escapeControls("a\u001b[31m\r\n\u0000\u007f\u009b2J\u202Eb")).toBe("a\\u001b[31m\\r\\n\\u0000\\u007f\\u009b2J\\u202eb");
});

test("what is to be kept stays, and so does all other text", () => {
  expect(escapeControls("one\n\ttwo\r é 👩‍🚀 \\n", "\n\t")).toBe("one\n\ttwo\\r é 👩‍🚀 \\n");
});

test("no text keeps a control character, and a second time changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const escaped = escapeControls(text);
      expect(escaped).not.toMatch(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u);
      expect(escapeControls(escaped)).toBe(escaped);
    }),
  );
});
