import { h } from "preact";

import { bytes, count, duration, shortCount } from "./format.js";
import { foreign, measure, plural, roundCount, size, type Markup } from "./markup.js";
import type { Report } from "./report.js";
import type { RunFacts } from "./run-facts.js";

/** The top of the page: what came out, in one sentence and a few numbers. */
export function summary(report: Report, run: RunFacts): Markup {
  return h(
    "header",
    null,
    h("p", { class: "kicker" }, "Experiment report"),
    h("h1", null, foreign(report.title)),
    h("p", { class: "lede" }, sentence(report)),
    h("dl", { class: "tiles" }, [qualityTile(report), dataTile(report), modelTile(report), timeTile(run)].filter((tile) => tile !== undefined).map(tileMarkup)),
  );
}

interface Tile {
  readonly name: string;
  readonly value: Markup;
  readonly unit: string;
  readonly note: Markup;
}

function tileMarkup({ name, value, unit, note }: Tile): Markup {
  return h("div", null, h("dt", null, name), h("dd", null, h("span", { class: "figure" }, value), " ", h("span", { class: "unit" }, unit)), h("dd", { class: "note" }, note));
}

/** The baseline that is hardest to beat. */
export function bestBaseline({ baselines }: Report): Report["baselines"][number] | undefined {
  return baselines.toSorted((a, b) => a.bitsPerByte - b.bitsPerByte)[0];
}

function sentence(report: Report): string {
  const { training, evaluation, funnel } = report;
  const tokens = funnel?.parts.find(({ name }) => name === "training")?.tokens;
  const best = bestBaseline(report);
  const parts: string[] = [];
  if (training !== undefined) {
    parts.push(`A model of ${shortCount(training.parameters)} parameters, trained for ${plural(training.steps, "step")}${tokens === undefined ? "" : ` on a text of ${shortCount(tokens)} tokens`}`);
  }
  if (evaluation !== undefined) {
    parts.push(`${parts.length === 0 ? "The model" : ","} predicts text that it has not seen at ${evaluation.bitsPerByte.toFixed(3)} bits per byte`);
    if (best !== undefined) parts.push(`; the best baseline, ${best.name}, needs ${best.bitsPerByte.toFixed(3)}`);
  }
  return parts.length === 0 ? ofData(report) : `${parts.join("").replace(" ,", ",")}.`;
}

/** What a report without a model says first. */
function ofData({ funnel, lineage }: Report): string {
  const [first, last] = [funnel?.stages[0], funnel?.stages.at(-1)];
  if (first === undefined || last === undefined || first === last) return `${plural(lineage.length, "artifact")}, with what they were made from.`;
  return `${plural(last.documents, "document")}${last.bytes === undefined ? "" : ` (${bytes(last.bytes)} of text)`} kept of ${plural(first.documents, "document")} that ${first.documents === 1 ? "was" : "were"} read.`;
}

function qualityTile(report: Report): Tile | undefined {
  const { evaluation } = report;
  if (evaluation === undefined) return undefined;
  const best = bestBaseline(report);
  const saved = best === undefined ? 0 : 1 - evaluation.bitsPerByte / best.bitsPerByte;
  const note = best === undefined ? `${evaluation.validationLoss.toFixed(3)} nats per token` : `${Math.abs(saved * 100).toFixed(1)} % ${saved >= 0 ? "fewer" : "more"} than ${best.name}`;
  return { name: "Held-out text", value: measure(evaluation.bitsPerByte, 3), unit: "bits per byte", note };
}

function dataTile({ funnel }: Report): Tile | undefined {
  const first = funnel?.stages[0];
  const training = funnel?.parts.find(({ name }) => name === "training");
  if (training?.tokens === undefined) return undefined;
  return { name: "Data", value: roundCount(training.tokens), unit: "training tokens", note: first === undefined ? size(training.bytes) : ["from ", plural(first.documents, "document"), " read"] };
}

function modelTile({ training }: Report): Tile | undefined {
  return training && { name: "Model", value: roundCount(training.parameters), unit: "parameters", note: `${count(training.steps)} steps, last loss ${training.loss.toFixed(3)} nats per token` };
}

function timeTile({ artifacts }: RunFacts): Tile | undefined {
  if (artifacts.length === 0) return undefined;
  const total = artifacts.reduce((sum, { provenance }) => sum + provenance.durationMs, 0);
  const longest = artifacts.reduce((most, artifact) => (artifact.provenance.durationMs > most.provenance.durationMs ? artifact : most));
  return { name: "Time", value: duration(total), unit: "of work", note: [duration(longest.provenance.durationMs), " of it ", longest.step] };
}
