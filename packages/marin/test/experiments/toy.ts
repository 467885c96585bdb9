import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { z } from "zod";

// Not by the package's name: each test starts many processes, and what they load counts.
import { defineExperiment } from "../../src/experiment-definition.js";
import { defineStep, type StepContext } from "../../src/step.js";
import { withPresets } from "../../src/options/presets.js";

interface NumbersConfig {
  readonly count: number;
  readonly label: string;
}

const numbersStep = defineStep({
  name: "numbers",
  version: 1,
  executionOnly: ["label"],
  async run({ config, directory, log }: StepContext<NumbersConfig>) {
    log(`counting for ${config.label}`);
    const numbers = Array.from({ length: config.count }, (_, index) => index + 1);
    await writeFile(join(directory, "numbers.json"), JSON.stringify(numbers));
    return { count: numbers.length };
  },
});

interface SumConfig {
  readonly factor: number;
  readonly pauseMs: number;
  readonly failAt: number | null;
}

/** Adds up one number at a time and can continue where it stopped. */
const sumStep = defineStep({
  name: "sum",
  version: 1,
  resumable: true,
  executionOnly: ["pauseMs", "failAt"],
  async run({ config, inputs, directory, signal, progress, metrics, log }: StepContext<SumConfig, { numbers: { count: number } }>) {
    const numbers = JSON.parse(await readFile(join(inputs.numbers.directory, "numbers.json"), "utf8")) as number[];
    const stateFile = join(directory, "state.json");
    const state = await readFile(stateFile, "utf8").then(
      (text) => JSON.parse(text) as { next: number; sum: number },
      () => ({ next: 0, sum: 0 }),
    );
    log(`from ${state.next}`);
    while (state.next < numbers.length) {
      signal.throwIfAborted();
      if (config.failAt === state.next) throw new Error("as asked");
      state.sum += (numbers[state.next] ?? 0) * config.factor;
      state.next += 1;
      await writeFile(stateFile, JSON.stringify(state));
      progress({ done: state.next, total: numbers.length, unit: "numbers", detail: `sum ${state.sum}` });
      await setTimeout(config.pauseMs, undefined, { signal });
    }
    metrics({ sum: state.sum });
    return { sum: state.sum };
  },
  lines: ({ sum }) => [`sum: ${sum}`],
});

const averageStep = defineStep({
  name: "average",
  version: 1,
  run: ({ inputs }: StepContext<object, { numbers: { count: number }; sum: { sum: number } }>) =>
    Promise.resolve({ average: inputs.sum.result.sum / inputs.numbers.result.count }),
  lines: ({ average }) => [`average: ${average}`],
});

export const toy = defineExperiment({
  name: "toy",
  summary: "Adds up numbers.",
  options: z.strictObject({
    numbers: z.strictObject({
      count: z.int().min(1).default(4).describe("How many numbers."),
      label: z.string().default("toy").describe("Shown, and of no consequence."),
    }),
    sum: withPresets(
      z.strictObject({
        factor: z.number().default(1).describe("What each number is multiplied by."),
        pauseMs: z.int().min(0).default(0).describe("Pause after each number, in milliseconds."),
        failAt: z.int().nullable().default(null).describe("Number at which to fail."),
      }),
      { once: { factor: 1 }, twice: { factor: 2 } },
      "once",
    ),
  }),
  steps(options) {
    const numbers = numbersStep({}, options.numbers);
    const sum = sumStep({ numbers }, options.sum);
    return { numbers, sum, average: averageStep({ numbers, sum }, {}) };
  },
});
