import { expect, it } from "vitest";

import { planSteps } from "./plan.js";
import { defineStep, type Step, type StepContext } from "./step.js";

const context = { workingDirectory: "/", signal: new AbortController().signal };

interface Config {
  readonly size: number;
  readonly threads?: number;
}

const source = defineStep({ name: "source", version: 1, executionOnly: ["threads"], run: ({ config }: StepContext<Config>) => Promise.resolve(config.size) });
const sourceNext = defineStep({ name: "source", version: 2, executionOnly: ["threads"], run: ({ config }: StepContext<Config>) => Promise.resolve(config.size) });
const join = defineStep({
  name: "join",
  version: 1,
  run: ({ inputs }: StepContext<object, { left: number; right: number }>) => Promise.resolve(inputs.left.result + inputs.right.result),
});

async function fingerprintOf(step: Step): Promise<string | undefined> {
  return (await planSteps({ ...step.inputs, step }, context)).at(-1)?.fingerprint;
}

it("orders steps after their inputs, each once, unnamed ones under the name of their kind", async () => {
  const left = source({}, { size: 1 });
  const right = source({}, { size: 2 });
  const both = join({ left, right }, {});
  expect((await planSteps({ both, again: join({ left: right, right: left }, {}), left }, context)).map(({ name }) => name)).toEqual(["left", "source", "both", "again"]);
});

it("refuses two steps of one name, and two names of one step", async () => {
  const both = join({ left: source({}, { size: 1 }), right: source({}, { size: 2 }) }, {});
  await expect(planSteps({ both }, context)).rejects.toMatchObject({ code: "MARIN_STEP_DUPLICATE", message: expect.stringContaining("two steps are named source") as string });
  const one = source({}, { size: 1 });
  await expect(planSteps({ one, other: one }, context)).rejects.toMatchObject({ code: "MARIN_STEP_DUPLICATE", message: "one step is named both one and other" });
});

it("refuses a step that is behind itself, with the path that leads there", async () => {
  const left: Step<number> = join({ left: source({}, { size: 1 }), right: source({}, { size: 2 }) }, {}) as Step<number>;
  const top = join({ left, right: source({}, { size: 3 }) }, {});
  Object.assign(left.inputs, { left: top });
  await expect(planSteps({ top, left }, context)).rejects.toMatchObject({
    code: "MARIN_STEP_CYCLE",
    message: expect.stringContaining("top needs left needs top") as string,
    data: { path: ["top", "left", "top"] },
  });
});

it("gives another fingerprint for another configuration, version or input, and the same for what only concerns the execution", async () => {
  const first = source({}, { size: 1 });
  const other = source({}, { size: 2 });
  const prints = await Promise.all([
    fingerprintOf(first),
    fingerprintOf(other),
    fingerprintOf(sourceNext({}, { size: 1 })),
    fingerprintOf(join({ left: first, right: other }, {})),
    fingerprintOf(join({ left: other, right: first }, {})),
  ]);
  expect(new Set(prints).size).toBe(5);
  expect(await fingerprintOf(source({}, { size: 1, threads: 2 }))).toBe(prints[0]);
});

it("gives the same fingerprint where a field that was added has its neutral value, and another one for every other value", async () => {
  const run = ({ config }: StepContext<object>): Promise<unknown> => Promise.resolve(config);
  const before = defineStep({ name: "grown", version: 1, run });
  const after = defineStep<{ size: number; keep?: string; schema?: object }, object, unknown>({ name: "grown", version: 1, neutral: { keep: "central", schema: {} }, run });
  const print = await fingerprintOf(before({}, { size: 1 }));
  for (const config of [{}, { keep: "central" }, { keep: "central", schema: {} }]) expect(await fingerprintOf(after({}, { size: 1, ...config }))).toBe(print);
  for (const config of [{ keep: "first" }, { schema: { year: "int32" } }]) expect(await fingerprintOf(after({}, { size: 1, ...config }))).not.toBe(print);
});

it("refuses names and versions that cannot serve", () => {
  const run = (): Promise<null> => Promise.resolve(null);
  expect(() => defineStep({ name: "My Step", version: 1, run })).toThrow(/lower-case/);
  expect(() => defineStep({ name: "step", version: 0, run })).toThrow(/integer from 1/);
});
