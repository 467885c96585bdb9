import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { z } from "zod";

import { buildReport } from "../report/build-report.js";
import type { ReportInputs } from "../report/inputs.js";
import { collectLineage } from "../report/lineage.js";
import { collectRunFacts } from "../report/run-facts.js";
import { defineStep, type StepContext } from "../step.js";

/** Options of {@link reportStep}. */
export const reportOptions = z.strictObject({
  title: z.string().min(1).default("Experiment").describe("Headline of the page."),
  examples: z.int().min(0).default(5).describe("Most pairs of duplicates that are shown."),
});

/** What {@link reportStep} wrote. */
export interface ReportResult {
  /** Artifacts whose lineage is told. */
  readonly artifacts: number;
}

/**
 * Tells what an experiment did: `report.json` holds the facts, equal for equal artifacts; `report.html` shows them on one page that needs nothing
 * else, with times and machines beside them.
 */
export const reportStep = defineStep({
  name: "report",
  version: 1,
  runRecords: ["report.html"],
  async run({ config, inputs, directory }: StepContext<z.output<typeof reportOptions>, ReportInputs>): Promise<ReportResult> {
    const lineage = await collectLineage(Object.values(inputs).filter((input) => input !== undefined));
    const report = await buildReport(inputs, lineage, config);
    await writeFile(join(directory, "report.json"), `${JSON.stringify(report)}\n`);
    // With the libraries that draw: nothing else in an experiment needs them.
    const { renderReport } = await import("../report/render.js");
    await writeFile(join(directory, "report.html"), renderReport(report, await collectRunFacts(inputs, lineage)));
    return { artifacts: lineage.length };
  },
  lines: (_result, directory) => [`report: ${join(directory, "report.html")}`],
});
