import { h } from "preact";

import { exactCount, facts, foreign, section, table, type Markup } from "./markup.js";
import type { Report } from "./report.js";

/** Which evaluations were found in the documents. */
export function contaminationSection({ contaminated, touched, items, leaked, common, mostLeaked }: NonNullable<Report["contamination"]>): Markup {
  return section(
    "contamination",
    "Evaluations in the documents",
    facts([
      ["Items of evaluations", exactCount(items)],
      ["Found in documents", exactCount(leaked)],
      ...(common === undefined ? [] : ([["Word sequences too common to count", exactCount(common.ngrams)], ["Items of nothing else, not looked for", exactCount(common.items)]] as const)),
      ["Documents left out", exactCount(contaminated.documents)],
      ["Kept with less in common", exactCount(touched.documents)],
    ]),
    mostLeaked.length === 0
      ? h("p", { class: "note" }, "No document gave away an item.")
      : table("Items in the most documents", [{ head: "Item" }, { head: "Documents", numeric: true }], mostLeaked.map(({ id, documents }) => ({ cells: [foreign(id), exactCount(documents)] }))),
  );
}
