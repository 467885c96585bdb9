import type { Dataset } from "../dataset.js";
import { explain } from "../plan/describe.js";
import { Fingerprints } from "../plan/fingerprint.js";
import type { Plan, ShardPlan } from "../plan/stage.js";
import { makePlan } from "./make-plan.js";
import { type ExecuteOptions, settingsOf } from "./options.js";
import { outputState } from "./output-claims.js";
import { requireNamed } from "./require-named.js";

/** A file that a dataset would read. */
export interface PlannedInput {
  readonly path: string;
  /** Its size, as it is stored. */
  readonly bytes: number;
}

/** A file that a dataset would write. */
export interface PlannedOutput {
  readonly path: string;
  /** Written, written over, left as it is, or refused with ZEPHYR_PLAN_CHANGED. */
  readonly action: "write" | "replace" | "skip" | "refuse";
}

/** What executing a dataset would do. */
export interface DryRun {
  readonly plan: Plan;
  /** The plan, inputs and outputs as text. */
  readonly text: string;
  /** In the order of the plan, each once. */
  readonly inputs: readonly PlannedInput[];
  readonly outputs: readonly PlannedOutput[];
}

/** The plan of a dataset: pure data, that {@link explain} prints. Looks up files, and does nothing else. @throws what `execute` throws before it begins */
export async function plan<T>(dataset: Dataset<T>, options: Pick<ExecuteOptions, "signal"> = {}): Promise<Plan> {
  return makePlan(dataset, settingsOf(options));
}

/**
 * What executing a dataset would read, do and write, and which outputs are there already. Creates and changes nothing.
 *
 * @param dataset - what would be executed
 * @param options - as for `execute`
 * @throws what `execute` throws before it begins
 */
export async function dryRun<T>(dataset: Dataset<T>, options: Pick<ExecuteOptions, "workers" | "signal"> = {}): Promise<DryRun> {
  const settings = settingsOf(options);
  const made = await makePlan(dataset, settings);
  if (settings.workers > 0) requireNamed(made, settings.workers);
  const inputs = inputsOfPlan(made);
  const outputs = await outputsOfPlan(made, settings.storage);
  const lines = [...inputs.map(({ path, bytes }) => `reads ${path} (${String(bytes)} bytes)`), ...outputs.map(({ path, action }) => `${texts[action]} ${path}`)];
  return { plan: made, text: `${explain(made)}${lines.map((line) => `${line}\n`).join("")}`, inputs, outputs };
}

const texts = { write: "writes", replace: "replaces", skip: "skips", refuse: "refuses to skip" } as const;
const actions = { new: "write", replace: "replace", skip: "skip", changed: "refuse" } as const;

function inputsOfPlan({ stages }: Plan): PlannedInput[] {
  const inputs = new Map<string, PlannedInput>();
  const look = ({ input }: ShardPlan): void => {
    if (input.kind === "file") inputs.set(input.file.path, { path: input.file.path, bytes: input.file.bytes });
    if (input.kind !== "join") return;
    look(input.left);
    look(input.right);
  };
  for (const { shards } of stages) shards.forEach(look);
  return [...inputs.values()];
}

async function outputsOfPlan(made: Plan, storage: Parameters<typeof outputState>[1]): Promise<PlannedOutput[]> {
  const fingerprints = new Fingerprints(made, storage);
  const outputs: PlannedOutput[] = [];
  for (const { shards, output } of made.stages) {
    if (output.kind !== "write") continue;
    for (const [shard, path] of output.paths.entries()) {
      const { write } = output;
      const state = await outputState({ write, path, fingerprint: write.skipExisting ? await fingerprints.shard(shards[shard] as ShardPlan) : "" }, storage);
      outputs.push({ path, action: actions[state.kind] });
    }
  }
  return outputs;
}
