import { MarinError } from "@marin/rigging";
import { z } from "zod";

// Not by the package's name: each test starts many processes, and what they load counts.
import { defineExperiment } from "../../../src/experiment-definition.js";
import { defineStep, type StepContext } from "../../../src/step.js";

const misbehaveStep = defineStep({
  name: "misbehave",
  version: 1,
  resources: ({ how }: { how: string }) => ({ cpu: how === "greedy" ? 4096 : 1 }),
  async run({ config }: StepContext<{ how: string }>): Promise<unknown> {
    switch (config.how) {
      case "die":
        process.kill(process.pid, "SIGKILL");
        return new Promise((resolve) => setTimeout(resolve, 60_000));
      case "exit":
        return process.exit(3);
      case "print":
        console.log("this is no event");
        return {};
      case "reject":
        void Promise.reject(new Error("nobody waits for this"));
        return new Promise((resolve) => setTimeout(resolve, 60_000));
      case "throw-later":
        setTimeout(() => {
          throw new Error("nobody catches this");
        }, 0);
        return new Promise((resolve) => setTimeout(resolve, 60_000));
      case "stall":
        return new Promise(() => undefined);
      case "throw-nothing":
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- what a careless script may do
        throw undefined;
      case "bad-data": {
        const loop: Record<string, unknown> = { size: 12n };
        throw new MarinError("TOY_BAD", "with data that JSON has no form for", { data: { size: 12n, loop: (loop["self"] = loop), path: "a" } });
      }
      case "steer":
        throw new Error("\u001b[2Jclean\u009b2J");
      case "map":
        return { counts: new Map([["a", 1]]) };
      case "nan":
        return { loss: NaN };
      default:
        return {};
    }
  },
  lines: () => ["done\u001b[2J"],
});

export const unruly = defineExperiment({
  name: "unruly",
  summary: "Does what a step should not.",
  options: z.strictObject({ how: z.string().default("").describe("What it does.") }),
  steps: (options) => ({ misbehave: misbehaveStep({}, options) }),
});
