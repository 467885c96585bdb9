/** Words of a text that are looked at, and words around a change that are shown. */
const [examined, context] = [2000, 5];
/** Changes that are shown, and words of one of them. */
const [shownChanges, shownWords] = [4, 20];
/** Beyond so many words added and removed two texts are no versions of each other. */
const mostEdits = 600;

/** A text's beginning on one line, with Markdown's characters escaped. @param length - characters at most */
export function excerpt(text: string, length = 200): string {
  const line = text.slice(0, 8 * length).replace(/\s+/gu, " ").trim();
  const characters = Array.from(line);
  const cut = characters.length > length ? `${characters.slice(0, length).join("")} …` : line;
  return cut.replace(/[\\`*_{}[\]<>|#~]/gu, "\\$&");
}

/**
 * The words in which one text differs from another, each change among the words around it, as Markdown: what the first has alone struck through, what the second has alone in bold.
 */
export async function wordChanges(before: string, after: string): Promise<string> {
  // Loaded for a report alone: workers that sketch texts have no use for it.
  const { diffArrays } = await import("diff");
  const parts = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength: mostEdits });
  if (parts === undefined) return "the texts differ in most of their words";
  const changes: string[] = [];
  let shown = 0;
  for (const [index, { value, added, removed }] of parts.entries()) {
    const isEqual = !added && !removed;
    if (!isEqual) {
      if (shown === shownChanges) {
        changes.push("…");
        break;
      }
      shown += removed && parts[index + 1]?.added ? 0 : 1;
      changes.push(marked(value, removed ? "~~" : "**"));
      continue;
    }
    const [before, after] = [index === 0 ? 0 : context, index === parts.length - 1 ? 0 : context];
    const words = value.length <= before + after ? value : [...value.slice(0, before), "…", ...value.slice(value.length - after)];
    changes.push(words.map((word) => excerpt(word, 80)).join(" "));
  }
  return shown === 0 ? "only white space, or words far behind, differ" : changes.join(" ");
}

function wordsOf(text: string): string[] {
  // Ten characters a word are more than any language's words have on average.
  return text.slice(0, 10 * examined).split(/\s+/u).filter((word) => word !== "").slice(0, examined);
}

function marked(words: readonly string[], mark: string): string {
  const cut = words.length > shownWords ? [...words.slice(0, shownWords), "…"] : words;
  return `${mark}${excerpt(cut.join(" "), 400)}${mark}`;
}
