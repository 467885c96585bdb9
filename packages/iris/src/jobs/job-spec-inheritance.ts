import type { Constraint } from "../scheduling/constraints.js";
import type { Band, CheckedJobSpec } from "./job-spec.js";

/** A job's spec with all that it takes from its parent. */
export type ResolvedJobSpec = Omit<CheckedJobSpec, "band" | "constraints" | "tolerations" | "setup"> & {
  readonly band: Band;
  readonly constraints: readonly Constraint[];
  readonly tolerations: readonly string[];
  readonly setup: readonly string[];
};

/**
 * Fills in what a job takes from its parent: environment (the child's own variables win), band, constraints (the child's own take the place of the parent's for the same attributes),
 * tolerations, setup and bundle. What is left out is the parent's; an empty list is none.
 *
 * @param spec - the child
 * @param parent - its parent's, resolved; undefined for a job without one
 */
export function inheritJobSpec(spec: CheckedJobSpec, parent: ResolvedJobSpec | undefined): ResolvedJobSpec {
  const bundle = spec.bundle === undefined ? parent?.bundle : spec.bundle;
  return {
    ...spec,
    env: { ...parent?.env, ...spec.env },
    band: spec.band ?? parent?.band ?? "INTERACTIVE",
    constraints: joinConstraints(spec.constraints, parent?.constraints ?? []),
    tolerations: spec.tolerations ?? parent?.tolerations ?? [],
    setup: spec.setup ?? parent?.setup ?? [],
    ...(bundle === undefined ? {} : { bundle }),
  };
}

function joinConstraints(own: readonly Constraint[] | null | undefined, inherited: readonly Constraint[]): readonly Constraint[] {
  if (own === null || own === undefined) return inherited;
  if (own.length === 0) return [];
  const named = new Set(own.map(({ attribute }) => attribute));
  return [...inherited.filter(({ attribute }) => !named.has(attribute)), ...own];
}
