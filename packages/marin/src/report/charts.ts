import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { h } from "preact";

import type { Markup } from "./markup.js";

/** A line chart over training steps. */
export interface LineChart {
  readonly title: string;
  /** What the chart shows, in words, for those who do not see it. */
  readonly description: string;
  /** What is drawn: a name with its unit. */
  readonly label: string;
  readonly points: readonly { readonly step: number; readonly value: number }[];
  /** Horizontal lines to compare with, each with its name. */
  readonly references?: readonly { readonly value: number; readonly name: string }[];
  /** How many neighbours the strong line is the mean of; the points themselves are then a faint one. Default: 1. */
  readonly smoothing?: number;
  /** Height in CSS pixels of the wide form. */
  readonly height: number;
  /** Whether it is one of two beside each other, and has the narrow form only. Default: false. */
  readonly small?: boolean;
  /** "zero": the values begin at 0; "log": each line of the grid is a multiple of the one below. Default: from the least to the greatest. */
  readonly scale?: "zero" | "log";
}

const WIDE = 720;
const NARROW = 340;

/** A line chart as a figure. It is drawn for a wide and for a narrow page, so that its text is readable on both; the page shows one of them. */
export function lineChart(chart: LineChart): Markup {
  const draw = (width: number, height: number, name: string): Markup => h("div", { class: name, dangerouslySetInnerHTML: { __html: svg(chart, width, height) } });
  const narrow = Math.max(chart.height * 0.75, 160);
  const drawings = chart.small === true ? [draw(NARROW, narrow, "small")] : [draw(WIDE, chart.height, "wide"), draw(NARROW, narrow, "narrow")];
  return h("figure", null, h("figcaption", null, chart.title), drawings);
}

function svg({ title, description, label, points, references = [], smoothing = 1, scale }: LineChart, width: number, height: number): string {
  const { document } = parseHTML("<html></html>");
  const narrow = width === NARROW;
  const logarithmic = scale === "log" ? { type: "log" as const, ticks: powersOfTen(points.map(({ value }) => value)), tickFormat: "~g" } : {};
  const plot = Plot.plot({
    document,
    width,
    height,
    marginLeft: 48,
    marginBottom: 40,
    marginTop: 30,
    marginRight: 16,
    ariaLabel: title,
    ariaDescription: description,
    style: { fontSize: "13px", fontFamily: "inherit", background: "none", overflow: "visible" },
    x: { label: "training step", ticks: narrow ? 4 : 8, tickFormat: ",d", nice: false },
    y: { label, grid: true, ticks: narrow ? 4 : 5, zero: scale === "zero", nice: true, labelArrow: "none", ...logarithmic },
    marks: [
      Plot.ruleY(references, { y: "value", stroke: "var(--second)", strokeDasharray: "5 4" }),
      smoothing > 1 ? Plot.lineY(points, { x: "step", y: "value", stroke: "var(--accent)", strokeWidth: 1, strokeOpacity: 0.35 }) : null,
      Plot.lineY(points, Plot.windowY({ k: smoothing, anchor: "middle", reduce: "mean" }, { x: "step", y: "value", stroke: "var(--accent)", strokeWidth: smoothing === 1 && points.length > 200 ? 1 : 1.75 })),
      Plot.text(references, { y: "value", text: "name", frameAnchor: "left", textAnchor: "start", dx: 6, dy: -8, fill: "var(--second-text)", stroke: "var(--page)", strokeWidth: 4 }),
    ],
  });
  plot.setAttribute("role", "img");
  // The picture as a whole has its words; its parts are none of a reader's.
  for (const part of plot.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return plot.outerHTML;
}

/** The powers of ten from the one below the least value to the one above the greatest. */
function powersOfTen(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}
