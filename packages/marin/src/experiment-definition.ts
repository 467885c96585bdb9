import { MarinError } from "@marin/rigging";
import type { z } from "zod";

import type { Step } from "./step.js";

const brand: unique symbol = Symbol.for("marin.experiment");

/** An experiment as a script declares it. */
export interface ExperimentOptions<Options> {
  /** The script's file name without its ending; what `pnpm experiment` is given. */
  readonly name: string;
  /** One sentence for `--list` and `--help`. */
  readonly summary: string;
  /** Schema of the options; every field has a default and a description. Sections are strict objects. */
  readonly options: z.ZodType<Options>;
  /** The steps, by the names shown to people. Pure: it only puts steps together, nothing runs. */
  steps(options: Options): Readonly<Record<string, Step>>;
}

/** An experiment that {@link defineExperiment} made, its option types known only to itself. */
export interface ExperimentDefinition extends ExperimentOptions<unknown> {
  readonly [brand]: true;
}

/**
 * Declares an experiment. A script exports the result; `pnpm experiment <name>` finds and runs it.
 *
 * @throws MarinError `MARIN_EXPERIMENT_DEFINITION` when the name is not made of lower-case words joined by hyphens or underscores
 */
export function defineExperiment<Options>(experiment: ExperimentOptions<Options>): ExperimentDefinition {
  if (!/^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/.test(experiment.name)) {
    throw new MarinError(
      "MARIN_EXPERIMENT_DEFINITION",
      `experiment name ${JSON.stringify(experiment.name)} must be lower-case words joined by hyphens or underscores, like the script's file name`,
    );
  }
  return { ...(experiment as unknown as ExperimentOptions<unknown>), [brand]: true };
}

/** Whether `value` was made by {@link defineExperiment}, in this or any other copy of the package. */
export function isExperimentDefinition(value: unknown): value is ExperimentDefinition {
  return typeof value === "object" && value !== null && (value as { readonly [brand]?: unknown })[brand] === true;
}
