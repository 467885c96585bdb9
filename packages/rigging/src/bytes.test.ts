import fc from "fast-check";
import { expect, test } from "vitest";
import { formatBytes, parseBytes } from "./bytes.js";

test.each([
  ["0B", 0],
  ["64B", 64],
  ["1kB", 1000],
  ["1KiB", 1024],
  [" 1.5 GB ", 1_500_000_000],
  ["512MiB", 536_870_912],
  ["2TiB", 2_199_023_255_552],
])("%s is %d bytes", (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each(["", "5", "5M", "MiB", "5mib", "KB", "1KB", "-1B", "1.5B", "1e3B", "99999999TiB", "5iB"])("%j is refused", (text) => {
  expect(() => parseBytes(text)).toThrow(expect.objectContaining({ code: "RIGGING_BAD_SIZE" }));
});

test.each([
  [0, "0B"],
  [1023, "1023B"],
  [1024, "1KiB"],
  [1536, "1.5KiB"],
  [1_048_575, "1MiB"],
  [25_165_824, "24MiB"],
  [2 ** 50, "1024TiB"],
])("%d bytes is written %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("what is written is within a twentieth of a unit of the truth", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 }), (bytes) => {
      const [, amount, unit] = /^([\d.]+)(\w+)$/.exec(formatBytes(bytes)) ?? [];
      const power = ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(unit ?? "");
      expect(Math.abs(Number(amount) * 1024 ** power - bytes)).toBeLessThanOrEqual(power === 0 ? 0 : 0.0501 * 1024 ** power);
    }),
  );
});
