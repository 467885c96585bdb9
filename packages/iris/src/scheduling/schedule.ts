import { formatBytes } from "../platform.js";
import type { Resources } from "../jobs/job-spec.js";

/** A machine, as the scheduler sees it. */
export interface Machine {
  /** Its name. */
  readonly name: string;
  /** All it has. */
  readonly capacity: Resources;
  /** What running tasks leave. */
  readonly free: Resources;
}

/** A task that waits, as the scheduler sees it. */
export interface WaitingTask {
  /** Names it in the decision. */
  readonly key: string;
  /** What it asks for. */
  readonly resources: Resources;
  /** What its ancestors hold until after it has ended: it can never have that. */
  readonly heldByAncestors: Resources;
}

/** What the scheduler says about one waiting task. */
export type Placement =
  | { readonly key: string; readonly kind: "start"; readonly machine: string }
  | { readonly key: string; readonly kind: "wait"; readonly reason: string }
  | { readonly key: string; readonly kind: "impossible"; readonly shortage: Shortage };

/** The dimension in which a task asks for more than any machine has. */
export interface Shortage {
  /** "cpu", "memoryBytes", "gpu", or "combination": each dimension is to be had, but on no single machine. */
  readonly dimension: (typeof dimensions)[number] | "combination";
  /** What the task asks for, for people. */
  readonly asked: string;
  /** The most that a machine of the cluster could give, for people. */
  readonly available: string;
}

/** No resources at all. */
export const noResources: Resources = { cpu: 0, memoryBytes: 0, diskBytes: 0 };

const dimensions = ["cpu", "memoryBytes", "diskBytes", "gpu"] as const;

function valueOf(resources: Resources, dimension: (typeof dimensions)[number]): number {
  return dimension === "gpu" ? (resources.device?.count ?? 0) : resources[dimension];
}

/**
 * Decides which waiting tasks start, and on which machine. Pure: the same question gets the same answer. Tasks are taken in the given
 * order, each on the first machine with room; one that does not fit lets those behind it pass.
 *
 * @param machines - the cluster
 * @param waiting - the tasks, first submitted first
 * @returns one placement for each waiting task, in their order
 */
export function schedule(machines: readonly Machine[], waiting: readonly WaitingTask[]): Placement[] {
  const free = machines.map((machine) => machine.free);
  // Most tasks of a long queue ask for the same as one before them: what was found for that one holds, since room only shrinks.
  const shortages = new Map<string, Shortage | undefined>();
  const refused = new Set<string>();
  const reasons = new Map<string, string>();
  return waiting.map(({ key, resources, heldByAncestors }): Placement => {
    const asked = shapeOf(resources);
    const kind = `${asked} ${shapeOf(heldByAncestors)}`;
    if (!shortages.has(kind)) shortages.set(kind, shortageOf(machines, resources, heldByAncestors));
    const shortage = shortages.get(kind);
    if (shortage !== undefined) return { key, kind: "impossible", shortage };
    const place = refused.has(asked) ? -1 : free.findIndex((room) => fits(resources, room));
    const machine = machines[place];
    const room = free[place];
    if (machine === undefined || room === undefined) {
      refused.add(asked);
      const reason = reasons.get(asked) ?? waitingReason(machines, free, resources);
      reasons.set(asked, reason);
      return { key, kind: "wait", reason };
    }
    free[place] = subtract(room, resources);
    reasons.clear();
    return { key, kind: "start", machine: machine.name };
  });
}

function shapeOf(resources: Resources): string {
  return dimensions.map((dimension) => String(valueOf(resources, dimension))).join(",");
}

/**
 * In what a task asks for more than the cluster could ever give it, or undefined when it fits.
 *
 * @param machines - the cluster
 * @param asked - what the task asks for
 * @param heldByAncestors - what is out of reach because the task's ancestors hold it. Default nothing
 */
export function shortageOf(machines: readonly Pick<Machine, "capacity">[], asked: Resources, heldByAncestors: Resources = noResources): Shortage | undefined {
  // Where the ancestors run is not looked at: with several machines they may leave one of them whole.
  const reachable = machines.map(({ capacity }) => (machines.length === 1 ? subtract(capacity, heldByAncestors) : capacity));
  if (reachable.some((room) => fits(asked, room))) return undefined;
  for (const dimension of dimensions) {
    const most = Math.max(0, ...reachable.map((room) => valueOf(room, dimension)));
    if (valueOf(asked, dimension) > most) return { dimension, asked: amount(dimension, valueOf(asked, dimension)), available: amount(dimension, most) };
  }
  return { dimension: "combination", asked: describe(asked), available: reachable.map(describe).join("; ") };
}

/** `a` and `b` together. */
export function add(a: Resources, b: Resources): Resources {
  return combine(a, b, 1);
}

/** `a` without `b`. */
export function subtract(a: Resources, b: Resources): Resources {
  return combine(a, b, -1);
}

/** Processors are counted in thousandths, so that fractions add up exactly. */
function combine(a: Resources, b: Resources, sign: 1 | -1): Resources {
  return {
    cpu: (Math.round(a.cpu * 1000) + sign * Math.round(b.cpu * 1000)) / 1000,
    memoryBytes: a.memoryBytes + sign * b.memoryBytes,
    diskBytes: a.diskBytes + sign * b.diskBytes,
    ...gpuOf(valueOf(a, "gpu") + sign * valueOf(b, "gpu")),
  };
}

function gpuOf(count: number): Pick<Resources, "device"> {
  return count === 0 ? {} : { device: { kind: "gpu", count } };
}

function fits(asked: Resources, room: Resources): boolean {
  return dimensions.every((dimension) => valueOf(asked, dimension) <= valueOf(room, dimension));
}

function waitingReason(machines: readonly Machine[], free: readonly Resources[], asked: Resources): string {
  const reasons = dimensions
    .map((dimension) => ({ dimension, most: Math.max(...free.map((room) => valueOf(room, dimension))), all: Math.max(...machines.map(({ capacity }) => valueOf(capacity, dimension))) }))
    .filter(({ dimension, most }) => valueOf(asked, dimension) > most)
    .map(({ dimension, most, all }) => `waits for ${dimension}: asks ${amount(dimension, valueOf(asked, dimension))}, free ${amount(dimension, most)} of ${amount(dimension, all)}`);
  return reasons.length > 0 ? reasons.join("; ") : `waits for a machine with room for ${describe(asked)} at once`;
}

function describe(resources: Resources): string {
  const parts = dimensions.filter((dimension) => valueOf(resources, dimension) > 0).map((dimension) => `${dimension} ${amount(dimension, valueOf(resources, dimension))}`);
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function amount(dimension: (typeof dimensions)[number], value: number): string {
  return dimension === "memoryBytes" || dimension === "diskBytes" ? formatBytes(value) : String(value);
}
