import type { ExperimentDefinition } from "./experiment-definition.js";
import { irisRunner } from "./iris-runner.js";
import { inlineRunner, type StepRunner } from "./step-runner.js";

/** Where steps run. */
export interface RunPlace {
  /**
   * URL of the module that exports the experiment, such as `import.meta.url`: each step is then a job of the cluster. Default: none, steps run in
   * this process.
   */
  readonly module?: string | undefined;
  /** Name of the cluster. Default "local": processes on this machine. Needs `module`. */
  readonly cluster?: string | undefined;
}

/**
 * The runner of a run's steps.
 *
 * @throws MarinError IRIS_CLUSTER_UNKNOWN, IRIS_CLUSTER_INVALID, IRIS_CLUSTER_UNSUPPORTED
 */
export async function chooseRunner({ name }: ExperimentDefinition, options: unknown, { module, cluster = "local" }: RunPlace): Promise<StepRunner> {
  return module === undefined ? inlineRunner() : irisRunner({ cluster, module, experiment: name, options });
}
