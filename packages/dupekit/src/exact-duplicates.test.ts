import { expect, test } from "vitest";
import { findExactDuplicates } from "./exact-duplicates.js";

const documents = ["c 1", "a 1", "d 2", "b 1", "e 3"].map((line) => ({ id: line.slice(0, 1), hash: line.slice(2) }));
const gone = (keep?: "central" | "longest" | "first" | "none"): (readonly [number, number])[] =>
  findExactDuplicates(documents, keep === undefined ? {} : { keep }).removed.map(({ index, duplicateOf }) => [index, duplicateOf]);

test("of equal hashes one stays: that of the smallest id, the first, or none", () => {
  expect(gone()).toEqual([[0, 1], [3, 1]]);
  expect(gone("longest")).toEqual([[0, 1], [3, 1]]);
  expect(gone("first")).toEqual([[1, 0], [3, 0]]);
  expect(gone("none")).toEqual([[0, 1], [1, 0], [3, 1]]);
  expect(findExactDuplicates(documents)).toMatchObject({ clusters: 1, candidates: 0, verified: 0 });
  expect(findExactDuplicates([])).toEqual({ removed: [], clusters: 0, candidates: 0, verified: 0 });
});

test("two documents of one id, and a policy that is none, are refused", () => {
  expect(() => findExactDuplicates([{ id: "a", hash: "1" }, { id: "a", hash: "2" }])).toThrow(/"a" occurs twice/);
  // @ts-expect-error -- as a JavaScript user may write it
  expect(() => findExactDuplicates([], { keep: "last" })).toThrow(/central, longest, first, none, found "last"/);
});
