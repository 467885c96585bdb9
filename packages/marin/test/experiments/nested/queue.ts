import { setTimeout } from "node:timers/promises";

import { z } from "zod";

// Not by the package's name: each test starts many processes, and what they load counts.
import { defineExperiment } from "../../../src/experiment-definition.js";
import { defineStep, type StepContext } from "../../../src/step.js";

const occupy = defineStep({
  name: "occupy",
  version: 1,
  resources: () => ({ cpu: "all" as const }),
  async run({ signal, config }: StepContext<{ name: string }>) {
    await setTimeout(60_000, undefined, { signal });
    return config;
  },
});

export const queue = defineExperiment({
  name: "queue",
  summary: "Two steps that ask for the whole machine.",
  options: z.strictObject({}),
  steps: () => ({ working: occupy({}, { name: "working" }), queued: occupy({}, { name: "queued" }) }),
});
