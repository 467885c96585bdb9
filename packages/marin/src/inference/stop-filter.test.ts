import fc from "fast-check";
import { expect, test } from "vitest";
import { StopFilter } from "./stop-filter.js";

/** The text up to the first place where any stop text is complete, found in the whole. */
function expected(text: string, stops: readonly string[]): string {
  for (let end = 1; end <= text.length; end++) {
    const ended = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    if (ended.length > 0) return text.slice(0, end - Math.max(...ended.map((stop) => stop.length)));
  }
  return text;
}

const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });

test("passes on what stands before the stop text that is complete first, letter by letter", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 }), fc.array(word, { maxLength: 3 }), (text, stops) => {
      const filter = new StopFilter(stops);
      const passed = Array.from(text, (letter) => filter.pass(letter)).join("") + filter.end();
      expect(passed).toBe(expected(text, stops));
      expect(filter.stopped).toBe(stops.some((stop) => text.includes(stop)));
    }),
    { numRuns: 2000 },
  );
});

test("passes on at once what can't be part of a stop text", () => {
  const filter = new StopFilter(["\n\n", "END"]);
  expect(["one", "\n", "two E", "N", "x", "\n", "\n", "more"].map((piece) => filter.pass(piece))).toEqual(["one", "", "\ntwo ", "", "ENx", "", "", ""]);
  expect(filter.stopped).toBe(true);
  expect(filter.end()).toBe("");
});
