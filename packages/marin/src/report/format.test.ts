import { expect, test } from "vitest";

import { bytes, count, duration, moment, percent, shortCount } from "./format.js";

test.each([
  [count, 17_148_840, "17,148,840"],
  [shortCount, 0, "0"],
  [shortCount, 999, "999"],
  [shortCount, 523.47, "523"],
  [shortCount, 999.6, "1.00 k"],
  [shortCount, 1000, "1.00 k"],
  [shortCount, 999_499, "999 k"],
  [shortCount, 999_500, "1.00 M"],
  [shortCount, 4_402_689, "4.40 M"],
  [bytes, 1, "1 byte"],
  [bytes, 812, "812 bytes"],
  [bytes, 17_148_840, "17.1 MB"],
  [bytes, 2.5e15, "2.50e+3 TB"],
  [percent, 0, "0.0 %"],
  [percent, 0.0001, "< 0.1 %"],
  [percent, 0.9441, "94.4 %"],
  [percent, 0.9999, "> 99.9 %"],
  [percent, 1, "100.0 %"],
  [duration, 42, "0.0 s"],
  [duration, 9949, "9.9 s"],
  [duration, 9950, "10 s"],
  [duration, 59_600, "1 min 0 s"],
  [duration, 492_000, "8 min 12 s"],
  [duration, 3_599_600, "1 h 0 min"],
  [duration, 7_380_000, "2 h 3 min"],
])("%o writes %d as %s", (write, value, text) => {
  expect(write(value)).toBe(text);
});

test("a moment is told in UTC, to the second", () => {
  expect(moment("2026-11-30T12:28:39.487Z")).toBe("2026-11-30 12:28:39 UTC");
});
