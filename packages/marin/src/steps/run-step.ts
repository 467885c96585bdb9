import { irisCtx, withLocalContext } from "@marin/iris";
import { parentConnection } from "@marin/fray";
import { Store, type RunProvenance } from "@marin/finestore";
import { MarinError, type ProcessIdentity } from "@marin/rigging";

import { isExperimentDefinition, type ExperimentDefinition } from "../experiment-definition.js";
import { identifyStep, orderSteps, type PlannedStep } from "../plan.js";
import { produceStep, readArtifact } from "../produce-step.js";
import type { Artifact } from "../step.js";
import { contextExtensions } from "../wire.js";
import { untilSettledOrLost } from "./until-settled.js";

/** One step of an experiment, as its run asks a worker for it: plain data. */
export interface StepRequest {
  /** URL of the module that exports the experiment. */
  readonly module: string;
  /** The experiment's name. */
  readonly experiment: string;
  /** Its options, complete. */
  readonly options: unknown;
  /** The step's name within the experiment. */
  readonly step: string;
  /** The fingerprint that the run has computed; the worker must come to the same. */
  readonly fingerprint: string;
  /** What the step's definition said of the outside world when the run was planned. */
  readonly identity: unknown;
  /** The step's inputs, by input name. */
  readonly inputs: Readonly<Record<string, { readonly step: string; readonly name: string; readonly fingerprint: string }>>;
  /** Directory of the store. */
  readonly prefix: string;
  readonly workingDirectory: string;
  readonly replace: boolean;
  readonly provenance: RunProvenance;
  /** The command's process. */
  readonly onBehalfOf: ProcessIdentity;
}

/**
 * Runs one step as the task of an iris job: imports the experiment's module, finds the step, and puts what it leaves into the store. The process that
 * runs the step holds its place in the store.
 *
 * @returns the artifact's content digest
 * @throws MarinError `MARIN_STEP_CHANGED` when the module no longer describes the step that the run has planned; what the step throws; finestore's errors
 */
export async function runStep(request: StepRequest): Promise<string> {
  const { jobId, taskIndex, numTasks, attempt, signal } = irisCtx();
  const planned = findStep(await loadExperiment(request), request);
  const store = await Store.open(request.prefix);
  const inputs: Record<string, Artifact<unknown>> = {};
  for (const [role, { step, name, fingerprint }] of Object.entries(request.inputs)) {
    const stored = await store.get(name, fingerprint);
    if (stored === undefined) throw new MarinError("MARIN_INPUT_MISSING", `the artifact of step ${step} is gone from ${request.prefix}: run the same command again to rebuild it`, { data: { step, fingerprint } });
    inputs[role] = await readArtifact(step, stored);
  }
  const options = { jobId, taskIndex, numTasks, attempt, extensions: contextExtensions({ taskIndex, numTasks }) };
  const { prefix: _prefix, ...work } = request;
  const produced = withLocalContext(options, () => {
    const context = irisCtx();
    return produceStep(
      { ...work, planned, store, inputs },
      {
        signal,
        progress: (progress) => {
          context.progress(progress);
        },
        metrics: (metrics) => {
          context.metrics.report(metrics);
        },
        log: (message) => {
          context.log.info(message);
        },
      },
    );
  });
  return (await untilSettledOrLost(produced, parentConnection())).record.digest;
}

async function loadExperiment({ module, experiment }: StepRequest): Promise<ExperimentDefinition> {
  // eslint-disable-next-line marin/computed-import -- the module that the run was started with
  const exports = (await import(module)) as Record<string, unknown>;
  const found = Object.values(exports).filter(isExperimentDefinition).find(({ name }) => name === experiment);
  if (found !== undefined) return found;
  throw new MarinError("MARIN_STEP_CHANGED", `${module} does not export the experiment ${experiment}: export what defineExperiment returns`, { data: { module, experiment } });
}

function findStep(experiment: ExperimentDefinition, { step, identity, inputs, fingerprint, options, module }: StepRequest): PlannedStep {
  const ordered = orderSteps(experiment.steps(options)).find(({ name }) => name === step);
  const planned = ordered && identifyStep(ordered, identity, Object.fromEntries(Object.entries(inputs).map(([role, input]) => [role, input.fingerprint])));
  if (planned?.fingerprint === fingerprint) return planned;
  throw new MarinError(
    "MARIN_STEP_CHANGED",
    `step ${step} of ${experiment.name} is another one in the worker than in the run: ${module} was changed meanwhile, its options are no plain JSON, or its steps depend on more than the options. Run the same command again`,
    { data: { step, module, expected: fingerprint, found: planned?.fingerprint ?? null } },
  );
}
