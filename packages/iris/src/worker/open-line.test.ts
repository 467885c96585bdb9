import { Redactor } from "@marin/rigging";
import fc from "fast-check";
import { expect, test } from "vitest";
import { OpenLine } from "./open-line.js";

const length = 65_536;
const secret = "wq7Zr2Lx9Kd4Tn8V";

const redactor = new Redactor();
redactor.add(secret, "s");

/** What is shown of a line that comes in parts of 65,536 characters. */
function shown(text: string): string[] {
  const line = new OpenLine(redactor);
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += length) lines.push(line.take(text.slice(at, at + length), at + length < text.length));
  expect(lines.join("")).toBe(text);
  return lines.map((each) => redactor.redact(each));
}

test.each([
  ["a known value", secret],
  ["its base64", Buffer.from(secret).toString("base64")],
  ["its hexadecimal", Buffer.from(secret).toString("hex")],
  ["an assignment", `HF_TOKEN=${"k".repeat(300)}`],
  ["a key of a well-known form", `hf_${"k3".repeat(200)}`],
  ["a face", "\u{1F600}".repeat(500)],
])("%s lies on no cut, wherever it stands", (_what, written) => {
  fc.assert(
    // Around the ends of the parts, and around where they are cut.
    fc.property(fc.constantFrom(length, 2 * length, length - 16_384, 2 * length - 16_384), fc.integer({ min: -700, max: 20 }), fc.constantFrom(" ", "-"), (place, shift, filler) => {
      const text = `${filler.repeat(place + shift)} ${written} ${filler.repeat(length)}`;
      const lines = shown(text);
      expect(lines.join("")).toBe(redactor.redact(text));
      expect(lines.every((each) => !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/.test(each))).toBe(true);
    }),
    { numRuns: 12 },
  );
});

test("a secret without an end is one while it may be one, and holds up no more than a bounded part", () => {
  expect(shown(`-----BEGIN PRIVATE KEY-----${"k".repeat(200_000)}`).join("")).toBe("[secret]");
  expect(shown(`-----BEGIN PRIVATE KEY-----${"k".repeat(400_000)}`).slice(0, -1).join("")).toContain("[secret]");
});
