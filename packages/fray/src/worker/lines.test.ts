import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readLines, Tail } from "./lines.js";

async function linesOf(chunks: readonly Uint8Array[]): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  readLines(stream, (line) => lines.push(line));
  await finished(stream);
  return lines;
}

test("lines do not depend on how the bytes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom("a", "ä", "\u{1F600}", " ", "\n", "\n", "\r\n"), { maxLength: 40 }), fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 60 }), async (parts, sizes) => {
      const bytes = Buffer.from(parts.join(""));
      const chunks: Buffer[] = [];
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        chunks.push(bytes.subarray(at, at + size));
        at += size;
      }
      const expected = parts.join("").split("\n").map((line) => line.replace(/\r$/, ""));
      if (expected.at(-1) === "") expected.pop();
      expect(await linesOf(chunks)).toEqual(expected);
    }),
  );
});

test("a line without an end is passed on in parts", async () => {
  const lines: string[] = [];
  const goesOn: boolean[] = [];
  const stream = Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(10_000, "x")));
  readLines(stream, (line, more) => {
    lines.push(line);
    goesOn.push(more);
  });
  await finished(stream);
  expect(goesOn).toEqual(lines.map((_, index) => index < lines.length - 1));
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  expect(lines.join("")).toHaveLength(500_000);
});

test("the tail holds the last 40 lines", () => {
  const tail = new Tail();
  for (let n = 0; n < 50; n += 1) tail.add(n === 49 ? "y".repeat(1_000) : `line ${n}`);
  expect(tail.text().split("\n")).toEqual([...Array.from({ length: 39 }, (_, n) => `line ${n + 10}`), `${"y".repeat(500)}...`]);
});
