import { h } from "preact";

import { count } from "./format.js";
import { bar, barred, foreign, measure, section, size, table, type Markup } from "./markup.js";
import type { Report } from "./report.js";

/** The model beside the baselines, best first. */
export function evaluationSection({ evaluation, baselines }: Report): Markup {
  const models = [...baselines.map((baseline) => ({ ...baseline, own: false })), ...(evaluation === undefined ? [] : [{ name: "this model", bitsPerByte: evaluation.bitsPerByte, own: true }])].sort(
    (a, b) => a.bitsPerByte - b.bitsPerByte,
  );
  const most = Math.max(...models.map(({ bitsPerByte }) => bitsPerByte), 1e-9);
  const rows = models.map(({ name, bitsPerByte, own }) => ({ class: own ? "own" : "", cells: [barred(foreign(name), bar(bitsPerByte / most, { tone: own ? "" : "other" })), measure(bitsPerByte, 4)] }));
  return section(
    "evaluation",
    "Evaluation",
    evaluation === undefined
      ? null
      : h("p", null, "On all validation documents: ", size(evaluation.bytes), " of text in ", count(evaluation.tokens), " tokens. The model's loss is ", measure(evaluation.validationLoss, 4), " nats per token. Fewer bits per byte are better."),
    table("Bits per byte of the validation documents", [{ head: "Model" }, { head: "Bits per byte", numeric: true }], rows, "bars"),
  );
}
