import { h } from "preact";

import { percent } from "./format.js";
import { bar, barred, exactCount, foreign, measure, section, size, table, type Markup, type Row } from "./markup.js";
import type { Funnel, FunnelStage, LeftOut } from "./report.js";

const stageNames: Readonly<Record<FunnelStage["name"], string>> = {
  read: "Read",
  collected: "Long enough",
  decontaminated: "In no evaluation",
  unique: "Unique",
  kept: "Kept",
};

const reasonNames: Readonly<Record<LeftOut["reason"], string>> = {
  unreadable: "unreadable records",
  "too short": "too short",
  "in an evaluation": "in evaluations",
  "exact duplicate": "exact copies",
  "near-duplicate": "near copies",
};

/** The way of the data, from what was read to tokens. */
export function funnelSection(funnel: Funnel): Markup {
  return section("data", "From documents to tokens", h("p", null, introduction(funnel)), funnelTable(funnel), tokensPerByte(funnel), sourcesTable(funnel));
}

/** Bars are shares of the text's bytes, or of documents where bytes are not known of the first stage. */
function funnelTable({ stages, parts }: Funnel): Markup {
  const widest = Math.max(...[...stages, ...parts].map(({ bytes }) => bytes ?? 0), 1);
  const rows: Row[] = [];
  for (const { name, documents, bytes, leftOut } of stages) {
    rows.push({ cells: [barred(stageNames[name], bar(bytes === undefined ? 1 : bytes / widest)), exactCount(documents), size(bytes), ""] });
    let end = (bytes ?? 0) / widest;
    for (const { reason, documents: count, bytes: out } of leftOut) {
      const share = (out ?? 0) / widest;
      end -= share;
      const line = out === undefined ? null : bar(share, { from: Math.max(0, end), tone: "lost" });
      rows.push({ class: "out", cells: [barred(["− ", reasonNames[reason]], line), less(count, exactCount), out === undefined ? "" : less(out, size), ""] });
    }
  }
  let from = 0;
  for (const { name, documents, bytes, tokens } of parts) {
    const share = bytes / widest;
    const line = bar(share, { from, tone: name });
    rows.push({ class: "part", cells: [barred(name === "training" ? "Training" : "Validation", line), exactCount(documents), size(bytes), tokens === undefined ? "" : exactCount(tokens)] });
    from += share;
  }
  const columns = [{ head: "Stage" }, { head: "Documents", numeric: true }, { head: "Text", numeric: true }, { head: "Tokens", numeric: true }];
  return table("Documents, text and tokens at each stage", columns, rows, "bars");
}

function introduction({ stages, parts }: Funnel): Markup {
  const [first, last] = [stages[0], stages.at(-1)];
  if (first === undefined || last === undefined || first === last) return `Bars show each part's share of the text.`;
  const validation = parts.find(({ name }) => name === "validation");
  const held = validation === undefined || last.bytes === undefined || last.bytes === 0 ? "" : ` Of that text ${percent(validation.bytes / last.bytes)} is held out for validation.`;
  return `${percent(first.documents === 0 ? 0 : last.documents / first.documents)} of the documents read are kept.${held} Bars show how much of the text is there at each stage, and what is left out before the next.`;
}

function tokensPerByte({ parts }: Funnel): Markup {
  const training = parts.find(({ name }) => name === "training");
  if (training?.tokens === undefined || training.tokens === 0) return null;
  return h("p", { class: "note" }, "A training token stands for ", measure(training.bytes / training.tokens, 2), " bytes of text on average, ends of documents counted as tokens.");
}

function sourcesTable({ sources }: Funnel): Markup {
  if (sources.length === 0) return null;
  const hasDamage = sources.some(({ unreadable = 0, damagedFiles = 0 }) => unreadable > 0 || damagedFiles > 0);
  const columns = [{ head: "Source" }, ...["Files", ...(hasDamage ? ["Damaged files"] : []), "Read", ...(hasDamage ? ["Unreadable"] : []), "Too short", "Documents", "Text"].map((head) => ({ head, numeric: true }))];
  const rows = sources.map(({ name, files, damagedFiles = 0, read, unreadable = 0, tooShort, documents, bytes }) => ({
    cells: [foreign(name), exactCount(files), ...(hasDamage ? [exactCount(damagedFiles)] : []), exactCount(read), ...(hasDamage ? [exactCount(unreadable)] : []), exactCount(tooShort), exactCount(documents), size(bytes)],
  }));
  return [h("h3", null, "Sources"), table("Documents by source", columns, rows)];
}

/** An amount that is taken away; nothing has no sign. */
function less(amount: number, format: (amount: number) => Markup): Markup {
  return amount === 0 ? format(amount) : ["−", format(amount)];
}
