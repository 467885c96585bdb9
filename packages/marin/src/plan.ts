import { fingerprint, type FingerprintParts } from "@marin/finestore";
import { MarinError } from "@marin/rigging";

import type { IdentityContext, Step } from "./step.js";

/** A step with its place in the run and what identifies it. */
export interface PlannedStep {
  /** Name within the experiment. */
  readonly name: string;
  readonly step: Step;
  /** What the artifact's identity is made of. */
  readonly parts: FingerprintParts;
  readonly fingerprint: string;
  /** Names of the input steps, by input name. */
  readonly inputs: Readonly<Record<string, string>>;
}

/**
 * Puts steps in an order in which every step comes after its inputs, and computes their fingerprints. Reads what identifies the steps
 * (digests of the user's files), writes nothing. Input steps that `steps` does not name are included under the name of their kind.
 *
 * @throws MarinError `MARIN_STEP_DUPLICATE` when one step has two names or two steps have one
 */
export async function planSteps(steps: Readonly<Record<string, Step>>, context: IdentityContext): Promise<PlannedStep[]> {
  const names = new Map<Step, string>();
  for (const [name, step] of Object.entries(steps)) {
    const other = names.get(step);
    if (other !== undefined) throw duplicate(`one step is named both ${other} and ${name}`);
    names.set(step, name);
  }
  const planned = new Map<Step, PlannedStep>();
  const visit = async (step: Step): Promise<PlannedStep> => {
    const done = planned.get(step);
    if (done !== undefined) return done;
    const inputs: Record<string, PlannedStep> = {};
    for (const [input, inputStep] of Object.entries(step.inputs)) inputs[input] = await visit(inputStep);
    const plannedStep = await planStep(names.get(step) ?? step.definition.name, step, inputs, context);
    if ([...planned.values()].some((other) => other.name === plannedStep.name)) {
      throw duplicate(`two steps are named ${plannedStep.name}: name each of them where the experiment returns its steps`);
    }
    planned.set(step, plannedStep);
    return plannedStep;
  };
  for (const step of Object.values(steps)) await visit(step);
  return [...planned.values()];
}

async function planStep(name: string, step: Step, inputs: Readonly<Record<string, PlannedStep>>, context: IdentityContext): Promise<PlannedStep> {
  context.signal.throwIfAborted();
  const { definition } = step;
  const identity = await definition.identity?.(step.config, context);
  const config = identifyingConfig(step);
  const parts: FingerprintParts = {
    name: definition.name,
    version: String(definition.version),
    config: identity === undefined ? { config } : { config, identity },
    inputs: mapValues(inputs, (input) => input.fingerprint),
  };
  return { name, step, inputs: mapValues(inputs, (input) => input.name), parts, fingerprint: fingerprint(parts) };
}

function identifyingConfig({ config, definition }: Step): unknown {
  const left: readonly string[] = definition.executionOnly ?? [];
  if (left.length === 0 || typeof config !== "object" || config === null) return config ?? null;
  return Object.fromEntries(Object.entries(config).filter(([key]) => !left.includes(key)));
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function duplicate(message: string): MarinError {
  return new MarinError("MARIN_STEP_DUPLICATE", message);
}
