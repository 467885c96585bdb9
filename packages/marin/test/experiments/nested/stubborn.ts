import { setTimeout } from "node:timers/promises";

import { defineExperiment, defineStep, type StepContext } from "@marin/marin";
import { z } from "zod";

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
