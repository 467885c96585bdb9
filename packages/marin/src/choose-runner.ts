import type { ExperimentDefinition } from "./experiment.js";
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

/** The runner of a run's steps. */
export async function chooseRunner(_experiment: ExperimentDefinition, _options: unknown, _place: RunPlace): Promise<StepRunner> {
  return inlineRunner();
}
