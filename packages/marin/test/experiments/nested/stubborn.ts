import { setTimeout } from "node:timers/promises";

import { z } from "zod";

// Not by the package's name: each test starts many processes, and what they load counts.
import { defineExperiment } from "../../../src/experiment-definition.js";
import { defineStep, type StepContext } from "../../../src/step.js";

const wait = defineStep({
  name: "wait",
  version: 1,
  async run({ log }: StepContext<object>) {
    log("blocking");
    await setTimeout(60_000);
    return {};
  },
});

export const stubborn = defineExperiment({
  name: "stubborn",
  summary: "Does not stop when told.",
  options: z.strictObject({}),
  steps: () => ({ wait: wait({}, {}) }),
});
