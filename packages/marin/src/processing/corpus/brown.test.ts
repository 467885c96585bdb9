import { expect, test } from "vitest";
import { brownToProse } from "./brown.js";

test("words lose their tags and get English spacing and quotation marks", () => {
  const tagged = "\n\n\tThe/at jury/nn (/( of/in six/cd )/) said/vbd ,/, ``/`` It's/pps+bez not/* over/rp ''/'' ./.\n";
  expect(brownToProse(tagged)).toBe('The jury (of six) said, "It\'s not over".');
});

test("sentences of a paragraph are joined, paragraphs stay apart", () => {
  expect(brownToProse("\tOne/cd ./.\nTwo/cd ?/. ?/.\n\n\n\tThree/cd --/-- yes/rb !/. !/.\n")).toBe("One. Two?\n\nThree -- yes!");
});

test("a slash of the word itself stays, a full stop is not doubled after an abbreviation", () => {
  expect(brownToProse("and/or/cc 1/2/cd by/in J./np Smith/np Jr./np ./.")).toBe("and/or 1/2 by J. Smith Jr.");
});

test("codes for what could not be typed are dropped", () => {
  expect(brownToProse("At/in 32*0C./nn **yl/nn f{t}/nn rose/vbd ./.")).toBe("At 32°C. f rose.");
});
