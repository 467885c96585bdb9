import { EventEmitter, once } from "node:events";
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { z } from "zod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ExperimentEvent } from "./events.js";
import { defineExperiment, type ExperimentDefinition } from "./experiment-definition.js";
import { planExperiment, runExperiment, type RunOptions } from "./run-experiment.js";
import type { RunRecord } from "./run-record.js";
import { defineStep, type StepContext } from "./step.js";

let prefix: string;
beforeEach(async () => {
  prefix = await mkdtemp(join(tmpdir(), "marin-run-"));
});
afterEach(async () => {
  await rm(prefix, { recursive: true, force: true });
});

/** What `letters` writes; not in its configuration, as with a step that is not deterministic. */
let letters = "abc";
/** Steps that are at work, the most that ever were, and how many have to be before one may end. */
let [working, most, together] = [0, 0, 1];
const arrivals = new EventEmitter();

const lettersStep = defineStep({ name: "letters", version: 1, run: async ({ directory }: StepContext<object>) => writeFile(join(directory, "letters"), letters) });
const countStep = defineStep({
  name: "count",
  version: 1,
  run: async ({ inputs }: StepContext<{ of: string }, { letters: unknown }>) => {
    most = Math.max(most, ++working);
    arrivals.emit("arrival");
    while (most < together) await once(arrivals, "arrival");
    const text = await readFile(join(inputs.letters.directory, "letters"), "utf8");
    working--;
    return { count: text.length };
  },
});
const failStep = defineStep({ name: "fail", version: 1, run: (_: StepContext<object, { letters: unknown }>) => Promise.reject(new Error("as asked")) });
const waitStep = defineStep({
  name: "wait",
  version: 1,
  run: ({ signal }: StepContext<object, { letters: unknown }>) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        reject(signal.reason as Error);
      });
    }),
});

const counting = defineExperiment({
  name: "counting",
  summary: "Counts letters.",
  options: z.strictObject({}),
  steps: () => {
    const source = lettersStep({}, {});
    return { source, first: countStep({ letters: source }, { of: "first" }), second: countStep({ letters: source }, { of: "second" }) };
  },
});

async function run(options: Partial<RunOptions> = {}, experiment: ExperimentDefinition = counting): Promise<{ ran: string[]; events: ExperimentEvent[] }> {
  const events: ExperimentEvent[] = [];
  await runExperiment(experiment, {}, { prefix, onEvent: (event) => events.push(event), ...options });
  return { events, ran: events.flatMap((event) => (event.event === "step-started" ? [`${event.step}: ${event.reason}`] : [])) };
}

async function plan(options: Partial<RunOptions> = {}): Promise<string[]> {
  return (await planExperiment(counting, {}, { prefix, ...options })).steps.map(({ step, action, reason }) => `${step} ${action}: ${reason}`);
}

async function records(): Promise<RunRecord[]> {
  const names = await readdir(join(prefix, "runs"));
  const found = await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(prefix, "runs", name), "utf8")) as RunRecord));
  return found.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

describe("a plan", () => {
  it("says what would run and why, and writes nothing", async () => {
    prefix = join(prefix, "store");
    const all = ["source run: no artifact", "first run: input source would run", "second run: input source would run"];
    expect(await plan()).toEqual(all);
    await expect(readdir(prefix)).rejects.toThrow("ENOENT");
    await run();
    expect(await plan()).toEqual(["source cached: in the store", "first cached: in the store", "second cached: in the store"]);
    expect(await plan({ force: ["source"], runOnly: ["first"] })).toEqual(["source run: forced", "first cached: in the store; runs only if source comes out different"]);
    await rm(join(prefix, "count"), { recursive: true });
    expect((await plan()).slice(1)).toEqual(["first run: no artifact", "second run: no artifact"]);
  });

  it.each([{ runOnly: ["frist"] }, { force: ["frist"] }])("names the nearest step for an unknown one: %j", async (options) => {
    await expect(plan(options)).rejects.toMatchObject({ code: "MARIN_UNKNOWN_STEP", message: expect.stringContaining("did you mean first?") as string });
  });

  it("is refused where an artifact is damaged", async () => {
    const { events } = await run();
    const source = events.find((event) => event.event === "step-finished" && event.step === "source") as { directory: string } & ExperimentEvent;
    await writeFile(join(source.directory, "letters"), "abd");
    await expect(plan()).rejects.toMatchObject({ code: "FINESTORE_CORRUPT", data: { file: "letters" } });
    await expect(run()).rejects.toMatchObject({ code: "FINESTORE_CORRUPT", data: { file: "letters" } });
  });
});

describe("a run", () => {
  it("runs what is asked for and what that needs", async () => {
    expect((await run({ runOnly: ["second"] })).ran).toEqual(["source: no artifact", "second: input source ran"]);
    expect((await run()).ran).toEqual(["first: no artifact"]);
  });

  it("runs a forced step again, and what is made from it only when it comes out different", async () => {
    letters = "abc";
    await run();
    expect((await run({ force: ["source"] })).ran).toEqual(["source: forced"]);
    letters = "abcd";
    const again = await run({ force: ["source"] });
    expect(again.ran.sort()).toEqual(["first: input source has other content than before", "second: input source has other content than before", "source: forced"]);
    expect(again.events.at(-1)).toMatchObject({ event: "result", results: { first: { count: 4 } } });
    expect((await run()).ran).toEqual([]);
  });

  it("does not count what a step waited for its turn as time of the step", async () => {
    const pauseStep = defineStep({ name: "pause", version: 1, run: (_: StepContext<{ of: string }>) => setTimeout(500) });
    const pausing = defineExperiment({ ...counting, name: "pausing", steps: () => ({ first: pauseStep({}, { of: "first" }), second: pauseStep({}, { of: "second" }) }) });
    const { events } = await run({ maxConcurrent: 1 }, pausing);
    const seconds = events.flatMap((event) => (event.event === "step-finished" ? [event.seconds] : [])).reduce((a, b) => a + b);
    const whole = events.flatMap((event) => (event.event === "result" ? [event.seconds] : [])).reduce((a, b) => a + b);
    expect(seconds).toBeGreaterThan(0.9);
    expect(seconds).toBeLessThan(whole + 0.2);
  });

  it.each([[undefined, 1], [1, 1], [2, 2]])("has at most %j steps at work at the same time", async (maxConcurrent, expected) => {
    [working, most, together] = [0, 0, expected];
    await run({ maxConcurrent });
    together = 1;
    expect(most).toBe(expected);
  });

  it("stops the others when a step fails, and names that step's error", async () => {
    const failing = defineExperiment({
      name: "failing",
      summary: "Fails.",
      options: z.strictObject({}),
      steps: () => {
        const source = lettersStep({}, {});
        return { source, wait: waitStep({ letters: source }, {}), fail: failStep({ letters: source }, {}) };
      },
    });
    await expect(run({ maxConcurrent: 2 }, failing)).rejects.toThrow("as asked");
    const [record] = await records();
    expect(record).toMatchObject({ state: "failed", error: { message: "as asked" } });
    expect(record?.steps.map(({ step, state }) => `${step} ${state}`)).toEqual(["source finished", "wait stopped", "fail failed"]);
  });

  it("leaves a record of times, machine and arguments, without secrets, of which no artifact knows", async () => {
    const { events } = await run({ commandArguments: ["counting", "--set", "hub.token=abc"] });
    await run();
    const [first, second] = await records();
    expect(first).toMatchObject({
      experiment: "counting",
      state: "finished",
      cluster: null,
      provenance: { arguments: ["counting", "--set", "hub.token=[redacted]"] },
      steps: [{ step: "source", name: "letters", state: "finished", reason: "no artifact" }, { step: "first" }, { step: "second" }],
    });
    expect(second?.steps.map(({ state }) => state)).toEqual(["cached", "cached", "cached"]);
    expect(events[0]).toMatchObject({ event: "run-started", run: first?.id });
    const digests = (record: RunRecord | undefined): unknown => record?.steps.map(({ digest }) => digest);
    expect(digests(second)).toEqual(digests(first));
    prefix = join(prefix, "elsewhere");
    await run();
    expect(digests((await records())[0])).toEqual(digests(first));
  });

  it("keeps an artifact's lineage, and who made it", async () => {
    const artifacts = await runExperiment(counting, {}, { prefix, commandArguments: ["counting"] });
    expect(artifacts["first"]?.record).toMatchObject({
      inputs: { letters: { name: "letters", fingerprint: artifacts["source"]?.fingerprint, digest: artifacts["source"]?.record.digest } },
      provenance: { arguments: ["counting"], nodeVersion: process.version },
    });
  });

  it("refuses a store that a newer version wrote, before anything runs", async () => {
    await writeFile(join(prefix, "finestore.json"), '{"formatVersion":99}');
    await expect(run()).rejects.toMatchObject({ code: "FINESTORE_NEWER_FORMAT" });
    await expect(plan()).rejects.toMatchObject({ code: "FINESTORE_NEWER_FORMAT" });
    expect(await readdir(prefix)).toEqual(["finestore.json"]);
  });

  it("goes on where an artifact's directory holds more than its files", async () => {
    const { events } = await run();
    const source = events.find((event) => event.event === "step-finished") as { directory: string } & ExperimentEvent;
    await appendFile(join(source.directory, "notes"), "mine");
    expect((await run()).ran).toEqual([]);
  });
});
