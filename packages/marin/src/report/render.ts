import { h } from "preact";
import { renderToString } from "preact-render-to-string";

import { contaminationSection } from "./contamination-section.js";
import { duplicatesSection } from "./duplicates-section.js";
import { evaluationSection } from "./evaluation-section.js";
import { funnelSection } from "./funnel-section.js";
import { lineageSection } from "./lineage-section.js";
import type { Markup } from "./markup.js";
import type { Report } from "./report.js";
import type { RunFacts } from "./run-facts.js";
import { runSection } from "./run-section.js";
import { samplesSection } from "./samples-section.js";
import { styles } from "./styles.js";
import { summary } from "./summary.js";
import { trainingSection } from "./training-section.js";
import { visibleText } from "./visible-text.js";

/** Nothing is loaded and nothing is run, whatever the page might come to hold. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The report as one HTML page: no network, no script, light and dark as the reader has it, readable on paper. */
export function renderReport(report: Report, run: RunFacts): string {
  const sections = pageSections(report, run);
  const page = h(
    "html",
    { lang: "en" },
    h(
      "head",
      null,
      h("meta", { charSet: "utf-8" }),
      h("meta", { "http-equiv": "Content-Security-Policy", content: POLICY }),
      h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
      h("meta", { name: "color-scheme", content: "light dark" }),
      h("title", null, `${visibleText(report.title)}: experiment report`),
      h("style", { dangerouslySetInnerHTML: { __html: styles } }),
    ),
    h(
      "body",
      null,
      summary(report, run),
      h("nav", { "aria-label": "Contents" }, h("ul", null, sections.map(({ id, name }) => h("li", null, h("a", { href: `#${id}` }, name))))),
      h("main", null, sections.map(({ content }) => content)),
      h("footer", null, h("p", null, "The facts on this page are in ", h("code", null, "report.json"), " beside it; equal artifacts give equal facts.")),
    ),
  );
  return `<!DOCTYPE html>\n${renderToString(page)}\n`;
}

interface PageSection {
  readonly id: string;
  readonly name: string;
  readonly content: Markup;
}

/** The sections that there is something to say in. */
function pageSections(report: Report, run: RunFacts): PageSection[] {
  const { funnel, contamination, duplicates, training, evaluation, baselines, samples, lineage } = report;
  const sections: (PageSection | false | undefined)[] = [
    funnel && { id: "data", name: "Data", content: funnelSection(funnel) },
    contamination && { id: "contamination", name: "Contamination", content: contaminationSection(contamination) },
    duplicates && { id: "duplicates", name: "Duplicates", content: duplicatesSection(duplicates) },
    training && { id: "training", name: "Training", content: trainingSection(training, evaluation, run.throughput) },
    (evaluation !== undefined || baselines.length > 0) && { id: "evaluation", name: "Evaluation", content: evaluationSection(report) },
    samples.length > 0 && { id: "samples", name: samples.length === 1 ? "Sample" : "Samples", content: samplesSection(samples) },
    { id: "lineage", name: "Lineage", content: lineageSection(lineage) },
    { id: "run", name: "This run", content: runSection(run) },
  ];
  return sections.filter((entry) => entry !== undefined && entry !== false);
}
