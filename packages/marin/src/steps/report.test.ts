import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import type { ExperimentEvent } from "../events.js";
import { defineExperiment } from "../experiment-definition.js";
import { resolveOptions } from "../options/resolve.js";
import { runExperiment } from "../run-experiment.js";
import { defineStep, type StepContext } from "../step.js";
import { reportOptions, reportStep } from "./report.js";

const words = defineStep({ name: "words", version: 3, run: async ({ config }: StepContext<{ count: number }>) => ({ words: config.count }) });
const guess = defineStep({
  name: "guess",
  version: 1,
  run: async ({ inputs }: StepContext<object, { words: { words: number } }>) => ({ validationLoss: 2.5, bitsPerByte: 1.25, tokens: inputs.words.result.words, bytes: 100 }),
});

/** An experiment of other steps than first-lm's: what it has of a report's inputs is enough. */
const experiment = defineExperiment({
  name: "guesses",
  summary: "Guesses words.",
  options: reportOptions,
  steps: (options) => {
    const counted = words({}, { count: 7 });
    const evaluate = guess({ words: counted }, {});
    return { words: counted, evaluate, report: reportStep({ words: counted, evaluate }, options) };
  },
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-report-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

it("reports an experiment of one's own: the same facts in every store, the page beside them and out of the digest", async () => {
  const run = async (prefix: string): Promise<{ events: ExperimentEvent[]; digest: string; json: string; html: string; files: readonly string[]; directory: string }> => {
    const events: ExperimentEvent[] = [];
    const { report } = await runExperiment(experiment, resolveOptions(experiment.options, ["title=Guesses"]), { prefix: join(root, prefix), onEvent: (event) => events.push(event) });
    const { directory = "", record } = report ?? {};
    const [json, html] = await Promise.all(["report.json", "report.html"].map((name) => readFile(join(directory, name), "utf8")));
    return { events, digest: record?.digest ?? "", files: record?.files.map(({ path }) => path) ?? [], json: json ?? "", html: html ?? "", directory };
  };
  const [one, two, again] = [await run("one"), await run("two"), await run("one")];
  expect(two.json).toBe(one.json);
  expect(two.digest).toBe(one.digest);
  expect(one.files).toEqual(["report.json", "result.json"]);
  expect(JSON.parse(one.json)).toMatchObject({
    title: "Guesses",
    evaluation: { bitsPerByte: 1.25, tokens: 7 },
    lineage: [
      { step: "words", kind: "words", version: "3", config: { count: 7 }, inputs: {} },
      { step: "evaluate", kind: "guess", version: "1" },
    ],
  });
  expect(one.html).toContain("<title>Guesses: experiment report</title>");
  for (const { events, directory } of [one, again]) {
    expect(events.find((event) => event.event === "result")).toMatchObject({ lines: [`report: ${join(directory, "report.html")}`] });
  }
  expect(again.events.filter((event) => event.event === "step-finished").map(({ cached }) => cached)).toEqual([true, true, true]);
});
