/**
 * Turns a file of the Brown corpus (`word/tag` tokens, one sentence a line, empty lines between paragraphs) into prose.
 *
 * Tags go, `` and '' become quotation marks, tokens are joined by English spacing rules. The corpus writes some marks twice
 * (`;/. ;/.`); one is kept. Its codes for what could not be typed in 1964 (`**yf`, `{t}`: formulas, Greek letters) are dropped,
 * `*0` becomes a degree sign.
 *
 * @param tagged - a file's content
 * @returns paragraphs separated by an empty line
 */
export function brownToProse(tagged: string): string {
  return tagged
    .split(/\n\s*\n/)
    .map((paragraph) => joinTokens(paragraph.split(/\s+/).filter((token) => token !== "")))
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}

const noSpaceBefore = new Set([",", ".", ";", ":", "?", "!", ")", "]", "''", "'", "%"]);
const noSpaceAfter = new Set(["(", "[", "``", "$"]);
const writtenTwice = new Set([";", "?", "!"]);

function joinTokens(tokens: readonly string[]): string {
  let text = "";
  let previous = "";
  for (const token of tokens) {
    const word = plainWord(token);
    if (word === "" || (word === previous && writtenTwice.has(word))) continue;
    // An abbreviation's full stop ends the sentence too.
    if (word === "." && text.endsWith(".")) continue;
    if (text !== "" && !noSpaceBefore.has(word) && !noSpaceAfter.has(previous)) text += " ";
    text += word === "``" || word === "''" ? '"' : word;
    previous = word;
  }
  return text;
}

/** The word of a `word/tag` token, without the corpus's codes. */
function plainWord(token: string): string {
  const slash = token.lastIndexOf("/");
  return (slash < 0 ? token : token.slice(0, slash))
    .replace(/\*\*[a-z]+/g, "")
    .replace(/\{[^}]*\}/g, "")
    .replace(/\*&?0/g, "°");
}
