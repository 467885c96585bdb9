import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./duration.js";

test.each([
  ["250ms", 250],
  ["30s", 30_000],
  ["2.5s", 2500],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  [" 1d 2h ", 93_600_000],
  ["1m5ms", 60_005],
  ["0s", 0],
])("%s is %d ms", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", " ", "5", "m", "5 minutes", "-5s", "5m5m", "5s1m", "1..2s", "1e3s", ".5s", "Infinity"])("%j is refused", (text) => {
  expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: "RIGGING_BAD_DURATION" }));
});

test.each([
  [0, "0ms"],
  [999.4, "999ms"],
  [999.6, "1s"],
  [2_449, "2.4s"],
  [59_960, "1m"],
  [90_000, "1m30s"],
  [7_500_000, "2h5m"],
  [86_400_000, "1d"],
  [-1500, "-1.5s"],
])("%d ms is written %s", (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test("what is written reads back within the rounding, and is then written the same", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 10 }), (milliseconds) => {
      const text = formatDuration(milliseconds);
      const back = parseDuration(text);
      expect(Math.abs(back - milliseconds)).toBeLessThanOrEqual(milliseconds < 1000 ? 0 : milliseconds < 59_950 ? 50 : 500);
      expect(formatDuration(back)).toBe(text);
    }),
  );
});
