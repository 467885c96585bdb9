import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { describeRun, redactFields, Store } from "@marin/finestore";
import { isMarinError, type ProcessIdentity } from "@marin/rigging";

import type { ExperimentEvent, PlanEvent, StepPlan } from "./events.js";
import type { ExperimentDefinition } from "./experiment-definition.js";
import { chooseRunner, type RunPlace } from "./choose-runner.js";
import { judgeStep, type InputState, type Verdict } from "./judge-step.js";
import { planSteps, requireSteps, selectSteps, type PlannedStep } from "./plan.js";
import { RunRecorder } from "./run-record.js";
import { RunningSteps } from "./running-steps.js";
import type { Artifact } from "./step.js";
import type { StepRunner } from "./step-runner.js";

/** Which steps of an experiment to run. */
export interface RunSelection {
  /** Only these steps and what they need. Default: all. */
  readonly runOnly?: readonly string[] | undefined;
  /** Steps to run although the store has their artifacts. What is made from them runs again when they come out different. Default: none. */
  readonly force?: readonly string[] | undefined;
}

/** Where and how an experiment runs. */
export interface RunOptions extends RunSelection, RunPlace {
  /** Directory of the store; made when missing. */
  readonly prefix: string;
  /** Directory that relative paths in options start from. Default: the process's. */
  readonly workingDirectory?: string;
  /** Stops the run; what is finished and checkpointed is kept. */
  readonly signal?: AbortSignal;
  /** Told everything that happens. */
  readonly onEvent?: (event: ExperimentEvent) => void;
  /** Steps that run at the same time at most. Default: what the cluster's processors allow; one where steps run in this process. */
  readonly maxConcurrent?: number | undefined;
  /** The command's arguments, for the artifacts' provenance; secrets among them are not kept. Default: none. */
  readonly commandArguments?: readonly string[];
  /** A process that this one works for and soon follows to its end, from rigging's `ownIdentity` there. Default: none. */
  readonly onBehalfOf?: ProcessIdentity | undefined;
}

/**
 * Runs an experiment's steps, each after its inputs, several at the same time where the machine has room. A step whose artifact is in the store is
 * not run again; its files are checked against their digests. With `module`, each step is a job of the cluster, in a process of its own; without,
 * it runs in this process. The run leaves its record in `<prefix>/runs/`.
 *
 * @param options - the experiment's options, complete; plain JSON where steps are jobs
 * @returns the artifact of each step, by step name
 * @throws what a step throws; `MARIN_STEP_RESULT` when it returns what JSON has no form for; `MARIN_STEP_CYCLE`, `MARIN_STEP_DUPLICATE`, `MARIN_UNKNOWN_STEP`; the
 * signal's reason when it stops the run; finestore's errors (`FINESTORE_CORRUPT`, `FINESTORE_BUSY`, ...); iris's (`IRIS_TASK_EXITED`, `IRIS_UNSCHEDULABLE`, ...)
 */
export async function runExperiment(experiment: ExperimentDefinition, options: unknown, run: RunOptions): Promise<Record<string, Artifact<unknown>>> {
  const { prefix, workingDirectory = process.cwd(), signal = new AbortController().signal, onEvent = () => undefined, commandArguments = [] } = run;
  const started = performance.now();
  const steps = await select(experiment, options, run, { workingDirectory, signal });
  const runner = await chooseRunner(experiment, options, run);
  try {
    const sources = run.module?.startsWith("file:") === true ? dirname(fileURLToPath(run.module)) : workingDirectory;
    const provenance = await describeRun(sources, commandArguments);
    const recorder = new RunRecorder(prefix, { experiment: experiment.name, options: redactFields(options), cluster: runner.cluster, provenance });
    onEvent({ event: "run-started", experiment: experiment.name, run: recorder.id, cluster: runner.cluster, options, prefix, steps: steps.map((step) => step.name) });
    const store = await Store.open(prefix);
    await recorder.save();
    try {
      const concurrency = run.maxConcurrent ?? runner.defaultConcurrency;
      const running = new RunningSteps({ store, runner, recorder, provenance, workingDirectory, signal, onEvent, concurrency, forced: new Set(run.force), onBehalfOf: run.onBehalfOf });
      const artifacts = await running.all(steps);
      const lines = steps.flatMap(({ name, step }) => step.definition.lines?.(artifacts[name]?.result, artifacts[name]?.directory ?? "") ?? []);
      const results = Object.fromEntries(Object.values(artifacts).map(({ step, result }) => [step, result]));
      recorder.run({ state: "finished", seconds: secondsSince(started) });
      await recorder.save();
      onEvent({ event: "result", experiment: experiment.name, seconds: secondsSince(started), results, lines });
      return artifacts;
    } catch (error) {
      const told = { code: isMarinError(error) ? error.code : "MARIN_UNEXPECTED", message: error instanceof Error ? error.message : String(error) };
      recorder.run({ state: signal.aborted ? "interrupted" : "failed", seconds: secondsSince(started), error: told });
      // The failure itself is what the user must hear of.
      await recorder.save().catch(() => undefined);
      throw error;
    }
  } finally {
    await runner.close();
  }
}

/**
 * Says what {@link runExperiment} would do with the same arguments, and why. Writes nothing.
 *
 * @throws as `runExperiment`, as far as it can be known before anything runs
 */
export async function planExperiment(experiment: ExperimentDefinition, options: unknown, run: RunOptions): Promise<PlanEvent> {
  const { prefix, workingDirectory = process.cwd(), signal = new AbortController().signal } = run;
  const steps = await select(experiment, options, run, { workingDirectory, signal });
  const runner = await chooseRunner(experiment, options, run);
  try {
    const store = await Store.openExisting(prefix);
    const forced = new Set(run.force);
    const verdicts = new Map<string, Verdict>();
    const plans: StepPlan[] = [];
    for (const planned of steps) {
      const verdict = await judgeStep(store, planned, inputStates(planned, verdicts), forced.has(planned.name));
      verdicts.set(planned.name, verdict);
      plans.push(stepPlan(planned, verdict, prefix, runner));
    }
    return { event: "plan", experiment: experiment.name, prefix, cluster: runner.cluster, steps: plans };
  } finally {
    await runner.close();
  }
}

async function select(experiment: ExperimentDefinition, options: unknown, run: RunSelection, context: { workingDirectory: string; signal: AbortSignal }): Promise<PlannedStep[]> {
  const steps = selectSteps(await planSteps(experiment.steps(options), context), run.runOnly);
  requireSteps(steps, run.force ?? []);
  return steps;
}

function inputStates({ inputs }: PlannedStep, verdicts: ReadonlyMap<string, Verdict>): Record<string, InputState> {
  const states: Record<string, InputState> = {};
  for (const [role, step] of Object.entries(inputs)) {
    const verdict = verdicts.get(step);
    const artifact = verdict?.action === "cached" ? verdict.artifact : undefined;
    states[role] = { step, artifact, runs: artifact === undefined ? "would run" : undefined };
  }
  return states;
}

function stepPlan({ name, step, fingerprint }: PlannedStep, { action, reason }: Verdict, prefix: string, runner: StepRunner): StepPlan {
  const { definition, config } = step;
  return { step: name, action, reason, fingerprint, directory: join(prefix, definition.name, fingerprint), cpu: runner.cpusOf(definition.resources?.(config) ?? {}) };
}

function secondsSince(start: number): number {
  return Math.round(performance.now() - start) / 1000;
}
