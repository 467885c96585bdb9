import { expect, test } from "vitest";
import { nearest } from "./suggest.js";

const options = ["train.learningRate", "train.steps", "model.layers", "documents.source"];

test.each([
  ["train.learningrate", "train.learningRate"],
  ["train.learnRate", "train.learningRate"],
  ["train.step", "train.steps"],
  ["model.layer", "model.layers"],
  ["documents.sorce", "documents.source"],
])("%s suggests %s", (word, expected) => {
  expect(nearest(word, options)).toBe(expected);
});

test("nothing close suggests nothing", () => {
  expect(nearest("zebra", options)).toBeUndefined();
  expect(nearest("xy", ["ab", "cd"])).toBeUndefined();
  expect(nearest("anything", [])).toBeUndefined();
});

test("of equally close candidates the first wins", () => {
  expect(nearest("cat", ["bat", "rat"])).toBe("bat");
});
