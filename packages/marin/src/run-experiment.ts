import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { canonicalJson, Store } from "@marin/finestore";
import { isMarinError, MarinError } from "@marin/rigging";

import type { ExperimentEvent } from "./events.js";
import type { ExperimentDefinition } from "./experiment.js";
import { planSteps, type PlannedStep } from "./plan.js";
import { ProgressMeter } from "./progress-meter.js";
import type { Artifact } from "./step.js";

/** Where and how an experiment runs. */
export interface RunOptions {
  /** Directory of the store; made when missing. */
  readonly prefix: string;
  /** Directory that relative paths in options start from. Default: the process's. */
  readonly workingDirectory?: string;
  /** Stops the run; what is finished and checkpointed is kept. */
  readonly signal?: AbortSignal;
  /** Told everything that happens. */
  readonly onEvent?: (event: ExperimentEvent) => void;
}

const RESULT_FILE = "result.json";

/**
 * Runs an experiment's steps one after the other, each after its inputs. A step whose artifact is in the store is not run again; its files
 * are checked against their digests.
 *
 * @param options - the experiment's options, complete
 * @returns the artifact of each step, by step name
 * @throws what a step throws; `MARIN_STEP_RESULT` when it returns what JSON has no form for; the signal's reason when it stops the run; finestore's errors (`FINESTORE_CORRUPT`, `FINESTORE_BUSY`, ...)
 */
export async function runExperiment(experiment: ExperimentDefinition, options: unknown, run: RunOptions): Promise<Record<string, Artifact<unknown>>> {
  const { prefix, workingDirectory = process.cwd(), signal = new AbortController().signal, onEvent = () => undefined } = run;
  const started = performance.now();
  const steps = await planSteps(experiment.steps(options), { workingDirectory, signal });
  onEvent({ event: "run-started", experiment: experiment.name, options, prefix, steps: steps.map((step) => step.name) });
  const store = await Store.open(prefix);
  const artifacts: Record<string, Artifact<unknown>> = {};
  const lines: string[] = [];
  for (const planned of steps) {
    signal.throwIfAborted();
    const artifact = await provide(planned, artifacts, store, { workingDirectory, signal, onEvent });
    artifacts[planned.name] = artifact;
    lines.push(...(planned.step.definition.lines?.(artifact.result, artifact.directory) ?? []));
  }
  const results = Object.fromEntries(Object.values(artifacts).map(({ step, result }) => [step, result]));
  onEvent({ event: "result", experiment: experiment.name, seconds: secondsSince(started), results, lines });
  return artifacts;
}

type StepRun = Required<Omit<RunOptions, "prefix">>;

/** The artifact of a step: from the store, or produced now. */
async function provide(planned: PlannedStep, artifacts: Readonly<Record<string, Artifact<unknown>>>, store: Store, run: StepRun): Promise<Artifact<unknown>> {
  const { name, parts, fingerprint } = planned;
  const { definition } = planned.step;
  const started = performance.now();
  let present = await store.get(definition.name, fingerprint);
  const cached = present !== undefined;
  if (present === undefined) {
    const description = {
      version: parts.version,
      config: parts.config,
      inputs: parts.inputs,
      resumable: definition.resumable ?? false,
      runRecords: definition.runRecords ?? [],
    };
    present = await store.produce(definition.name, fingerprint, description, async (directory, { resume }) => {
      run.onEvent({ event: "step-started", step: name, fingerprint, resumed: resume });
      const result = await runStep(planned, directory, artifacts, run);
      await writeFile(join(directory, RESULT_FILE), resultText(result));
    });
  } else {
    await store.verify(present);
  }
  const { directory } = present;
  const result: unknown = JSON.parse(await readFile(join(directory, RESULT_FILE), "utf8"));
  const seconds = cached ? 0 : secondsSince(started);
  run.onEvent({ event: "step-finished", step: name, cached, fingerprint, directory, seconds, result });
  return { step: name, fingerprint, directory, result };
}

/** JSON has no form for maps, dates, NaN: what would come back as something else is refused. */
function resultText(result: unknown): string {
  try {
    canonicalJson(result ?? null);
  } catch (cause) {
    if (!isMarinError(cause)) throw cause;
    throw new MarinError("MARIN_STEP_RESULT", `what the step returns is kept as JSON: ${cause.message}`, { data: cause.data, cause });
  }
  return `${JSON.stringify(result ?? null)}\n`;
}

async function runStep(planned: PlannedStep, directory: string, artifacts: Readonly<Record<string, Artifact<unknown>>>, run: StepRun): Promise<unknown> {
  const { name, step } = planned;
  const { workingDirectory, signal, onEvent } = run;
  const inputs: Record<string, Artifact<unknown>> = {};
  for (const [input, from] of Object.entries(planned.inputs)) inputs[input] = artifacts[from] as Artifact<unknown>;
  const meter = new ProgressMeter(name, onEvent);
  const result = await step.definition.run({
    config: step.config,
    inputs,
    directory,
    workingDirectory,
    signal,
    progress: (progress) => {
      meter.report(progress);
    },
    metrics: (metrics) => {
      onEvent({ event: "metrics", step: name, metrics });
    },
    log: (message) => {
      onEvent({ event: "message", step: name, message });
    },
  });
  meter.flush();
  return result;
}

function secondsSince(start: number): number {
  return Math.round(performance.now() - start) / 1000;
}
