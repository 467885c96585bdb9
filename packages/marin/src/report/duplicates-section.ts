import { diffWordsWithSpace, type Change } from "diff";
import { h } from "preact";

import { percent } from "./format.js";
import { digest, exactCount, facts, foreign, section, type Markup } from "./markup.js";
import type { DuplicateExample, Report } from "./report.js";
import { visibleText } from "./visible-text.js";

/** Longest text that is compared word by word, in characters; longer ones are cut. */
const MAX_CHARACTERS = 700;

/** What deduplication removed, shown by examples. */
export function duplicatesSection(duplicates: NonNullable<Report["duplicates"]>): Markup {
  const { clusters, candidates, verified, examples } = duplicates;
  return section(
    "duplicates",
    "Duplicates",
    facts([
      ["Pairs of texts compared", exactCount(candidates)],
      ["Found to be near copies", exactCount(verified)],
      ["Documents kept in place of copies", exactCount(clusters)],
    ]),
    examples.length === 0 ? h("p", { class: "note" }, "No document was removed.") : [h("p", null, "The beginnings of removed documents, beside those of the documents kept in their place. Words that only one of the two has are marked."), examples.map(example)],
  );
}

function example({ reason, similarity, keptText, keptSource, keptId, removedText, removedSource, removedId }: DuplicateExample): Markup {
  if (reason === "exact") {
    const sources = h("h4", null, "Kept: ", foreign(keptSource), ". Removed: ", foreign(removedSource));
    return h("article", { class: "pair" }, h("h3", null, "Exact copy"), sources, h("blockquote", { class: "text", dir: "auto" }, visibleText(beginning(keptText))), documentNote(keptId));
  }
  const changes = diffWordsWithSpace(beginning(keptText), beginning(removedText));
  return h(
    "article",
    { class: "pair" },
    h("h3", null, `Near copy, ${percent(similarity)} similar`),
    h("div", { class: "sides" }, side("Kept", keptSource, keptId, changes, "added"), side("Removed", removedSource, removedId, changes, "removed")),
    note(changes),
  );
}

/** What the beginnings alone do not show. */
function note(changes: readonly Change[]): Markup | null {
  const lengthOf = (which: readonly Change[]): number => which.reduce((sum, { value }) => sum + value.length, 0);
  const equal = lengthOf(changes.filter(({ added, removed }) => !added && !removed));
  const other = lengthOf(changes) - equal;
  if (other === 0) return h("p", { class: "note" }, "The beginnings are equal: the texts differ further on.");
  return 2 * equal < other ? h("p", { class: "note" }, "The beginnings differ: what the texts have in common stands further on.") : null;
}

/** One of the two texts: everything but what only the other has. */
function side(title: string, source: string, id: string, changes: readonly Change[], others: "added" | "removed"): Markup {
  const own = changes.filter((change) => !change[others]);
  return h(
    "div",
    null,
    h("h4", null, title, ": ", foreign(source)),
    h("blockquote", { class: "text", dir: "auto" }, own.map(({ added, removed, value }) => (added || removed ? h("mark", null, visibleText(value)) : visibleText(value)))),
    documentNote(id),
  );
}

function documentNote(id: string): Markup {
  return h("p", { class: "note" }, "Document ", digest(id));
}

function beginning(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)} …`;
}
