import { isDeepStrictEqual } from "node:util";

import { fingerprint, type FingerprintParts } from "@marin/finestore";
import { MarinError } from "@marin/rigging";

import { nearest } from "./options/nearest.js";
import type { IdentityContext, Step } from "./step.js";

/** A step with its place among the others. */
export interface OrderedStep {
  /** Name within the experiment. */
  readonly name: string;
  readonly step: Step;
  /** Names of the input steps, by input name. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** A step with its place in the run and what identifies it. */
export interface PlannedStep extends OrderedStep {
  /** What the step's definition says of the outside world; part of the fingerprint. Undefined when it says nothing. */
  readonly identity: unknown;
  /** What the artifact's identity is made of. */
  readonly parts: FingerprintParts;
  readonly fingerprint: string;
}

/**
 * Puts steps in an order in which every step comes after its inputs. Input steps that `steps` does not name are included under the name of their kind.
 *
 * @throws MarinError `MARIN_STEP_DUPLICATE` when one step has two names or two steps have one; `MARIN_STEP_CYCLE` when a step is behind itself, with the path that leads there
 */
export function orderSteps(steps: Readonly<Record<string, Step>>): OrderedStep[] {
  const names = new Map<Step, string>();
  for (const [name, step] of Object.entries(steps)) {
    const other = names.get(step);
    if (other !== undefined) throw duplicate(`one step is named both ${other} and ${name}`);
    names.set(step, name);
  }
  const ordered = new Map<Step, OrderedStep>();
  const byName = new Map<string, Step>();
  const path: Step[] = [];
  const nameOf = (step: Step): string => names.get(step) ?? step.definition.name;
  const visit = (step: Step): string => {
    const name = nameOf(step);
    if (path.includes(step)) throw cycle([...path.slice(path.indexOf(step)), step].map(nameOf));
    if (ordered.has(step)) return name;
    path.push(step);
    const inputs = mapValues(step.inputs, visit);
    path.pop();
    if (byName.has(name)) throw duplicate(`two steps are named ${name}: name each of them where the experiment returns its steps`);
    byName.set(name, step);
    ordered.set(step, { name, step, inputs });
    return name;
  };
  for (const step of Object.values(steps)) visit(step);
  return [...ordered.values()];
}

/**
 * Orders steps and computes their fingerprints. Reads what identifies the steps (digests of the user's files), writes nothing.
 *
 * @throws MarinError as {@link orderSteps}
 */
export async function planSteps(steps: Readonly<Record<string, Step>>, context: IdentityContext): Promise<PlannedStep[]> {
  const fingerprints: Record<string, string> = {};
  const planned: PlannedStep[] = [];
  for (const ordered of orderSteps(steps)) {
    context.signal.throwIfAborted();
    const identity = await ordered.step.definition.identity?.(ordered.step.config, context);
    const step = identifyStep(ordered, identity, mapValues(ordered.inputs, (input) => fingerprints[input] ?? ""));
    fingerprints[step.name] = step.fingerprint;
    planned.push(step);
  }
  return planned;
}

/** A step with its fingerprint, from what is known of the outside world and its inputs' fingerprints. */
export function identifyStep(ordered: OrderedStep, identity: unknown, inputs: Readonly<Record<string, string>>): PlannedStep {
  const { definition } = ordered.step;
  const config = identifyingConfig(ordered.step);
  const parts: FingerprintParts = {
    name: definition.name,
    version: String(definition.version),
    config: identity === undefined ? { config } : { config, identity },
    inputs,
  };
  return { ...ordered, identity, parts, fingerprint: fingerprint(parts) };
}

/**
 * The named steps and everything they need, in order; all steps when no names are given.
 *
 * @throws MarinError `MARIN_UNKNOWN_STEP` naming the nearest
 */
export function selectSteps(steps: readonly PlannedStep[], names: readonly string[] | undefined): PlannedStep[] {
  if (names === undefined) return [...steps];
  requireSteps(steps, names);
  const needed = new Set<string>();
  const need = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const input of Object.values(steps.find((step) => step.name === name)?.inputs ?? {})) need(input);
  };
  for (const name of names) need(name);
  return steps.filter(({ name }) => needed.has(name));
}

/**
 * Checks that there are steps of these names.
 *
 * @throws MarinError `MARIN_UNKNOWN_STEP` naming the nearest
 */
export function requireSteps(steps: readonly PlannedStep[], names: readonly string[]): void {
  const known = steps.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new MarinError("MARIN_UNKNOWN_STEP", `there is no step ${name} in this run: did you mean ${nearest(name, known) ?? "another experiment"}? Its steps: ${known.join(", ")}`, {
      data: { step: name, steps: known },
    });
  }
}

function identifyingConfig({ config, definition }: Step): unknown {
  const left: readonly string[] = definition.executionOnly ?? [];
  const neutral = (definition.neutral ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof config !== "object" || config === null || (left.length === 0 && definition.neutral === undefined)) return config ?? null;
  return Object.fromEntries(Object.entries(config).filter(([key, value]) => !left.includes(key) && !(Object.hasOwn(neutral, key) && isDeepStrictEqual(value, neutral[key]))));
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function duplicate(message: string): MarinError {
  return new MarinError("MARIN_STEP_DUPLICATE", message);
}

function cycle(names: readonly string[]): MarinError {
  return new MarinError("MARIN_STEP_CYCLE", `a step cannot be behind itself: ${names.join(" needs ")}; give one of them another input`, { data: { path: names } });
}
