import fc from "fast-check";
import { expect, test } from "vitest";
import { documentId } from "./corpus/document.js";
import { checkSplitRule, splitOf } from "./split-rule.js";

test("the share is about the fraction: 0.25 of 10,000 within five standard deviations", () => {
  const rule = { validationFraction: 0.25, salt: "" };
  const count = Array.from({ length: 10000 }, (_, i) => documentId(String(i))).filter((id) => splitOf(id, rule) === "validation").length;
  expect(Math.abs(count - 2500)).toBeLessThan(5 * Math.sqrt(10000 * 0.25 * 0.75));
});

test("a larger fraction only adds to the validation part; another salt gives another split", () => {
  fc.assert(
    fc.property(fc.string(), fc.double({ min: 0.01, max: 0.99 }), fc.double({ min: 0.01, max: 0.99 }), (id, a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      if (splitOf(id, { validationFraction: low, salt: "" }) === "validation") expect(splitOf(id, { validationFraction: high, salt: "" })).toBe("validation");
    }),
  );
  const parts = (salt: string): string[] => Array.from({ length: 400 }, (_, i) => splitOf(documentId(String(i)), { validationFraction: 0.5, salt }));
  expect(parts("a")).not.toEqual(parts("b"));
});

test.each([0, 1, -0.1, Number.NaN])("a fraction of %d is refused", (validationFraction) => {
  expect(() => {
    checkSplitRule({ validationFraction, salt: "" });
  }).toThrow(expect.objectContaining({ code: "MARIN_SPLIT_FRACTION" }));
});
