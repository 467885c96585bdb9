import type { Device, Resources } from "../jobs/job-spec.js";
import { type Amounts, amountsOf, fits } from "./amounts.js";
import { type Bits, both, countBits, join, keepOnly, less, nextBit, removeBit } from "./bits.js";
import type { Constraint } from "./constraints.js";
import { type WorkerTable, keyOfConstraint } from "./worker-table.js";

/** What a task asks for, and of what kind of worker. */
export interface TaskRequest {
  readonly resources: Resources;
  readonly constraints: readonly Constraint[];
  readonly tolerations: readonly string[];
}

/** All tasks that ask for the same: what is found out for one of them holds for all, since room only shrinks during a decision. */
export class Shape {
  /** Tells it from other shapes of the same decision. */
  readonly id: number;
  readonly amounts: Amounts;
  readonly device: Device | undefined;
  /** Workers without a taint that is not tolerated. */
  readonly untainted: Bits;
  /** Workers that could hold such a task if they were empty. */
  readonly possible: Bits;
  /** How many those are. */
  readonly possibleCount: number;
  /** Those of them that take new attempts. */
  readonly accepting: Bits;
  /** From where on the next worker with room is looked for. */
  readonly cursor = { tier: 0, worker: 0 };
  readonly #wishes: readonly Bits[];
  #tiers: readonly Bits[] | undefined;

  constructor(table: WorkerTable, request: TaskRequest, id: number) {
    const { resources, constraints, tolerations } = request;
    this.id = id;
    this.amounts = amountsOf(resources);
    this.device = resources.device;
    this.untainted = table.untainted(tolerations);
    this.possible = suitable(table, request);
    if (!table.allHold(this.amounts)) {
      for (let worker = nextBit(this.possible, 0); worker >= 0; worker = nextBit(this.possible, worker + 1)) {
        if (!fits(this.amounts, table.capacity, worker)) removeBit(this.possible, worker);
      }
    }
    this.possibleCount = countBits(this.possible);
    this.accepting = table.allAccept ? this.possible : both(this.possible, table.accepting);
    this.#wishes = constraints.flatMap((constraint) => (constraint.soft === true ? [table.matching(constraint)] : []));
  }

  /** The workers that take new attempts by soft constraints, the preferred ones first. */
  get tiers(): readonly Bits[] {
    this.#tiers ??= byWishes(this.accepting, this.#wishes);
    return this.#tiers;
  }
}

/** Finds the shape of a request; one object for equal requests. */
export class Shapes {
  readonly #table: WorkerTable;
  readonly #shapes = new Map<string, Shape>();

  constructor(table: WorkerTable) {
    this.#table = table;
  }

  of({ resources, constraints, tolerations }: TaskRequest): Shape {
    const { cpu, memoryBytes, diskBytes, device } = resources;
    const devices = device === undefined ? "" : `${device.kind} ${device.variant ?? ""} ${String(device.count)}`;
    const wishes = constraints.map(keyOfConstraint).join();
    const key = `${String(cpu)} ${String(memoryBytes)} ${String(diskBytes)} ${devices} ${wishes} ${tolerations.join()}`;
    let shape = this.#shapes.get(key);
    if (shape === undefined) this.#shapes.set(key, (shape = new Shape(this.#table, { resources, constraints, tolerations }, this.#shapes.size)));
    return shape;
  }
}

/** The workers that are as the request asks, whatever their size. */
export function suitable(table: WorkerTable, { resources: { device }, constraints, tolerations }: TaskRequest): Bits {
  const bits = table.untainted(tolerations).slice();
  for (const constraint of constraints) if (constraint.soft !== true) keepOnly(bits, table.matching(constraint));
  if (device !== undefined) keepOnly(bits, table.having(device));
  return bits;
}

/** Workers that fulfil more of the wishes come before those that fulfil fewer. */
function byWishes(workers: Bits, wishes: readonly Bits[]): Bits[] {
  // By the number of wishes that are fulfilled.
  let tiers: Bits[] = [workers];
  for (const wish of wishes) {
    const next: Bits[] = [];
    for (const [count, tier] of tiers.entries()) {
      const rest = next[count];
      if (rest === undefined) next[count] = less(tier, wish);
      else join(rest, less(tier, wish));
      next[count + 1] = both(tier, wish);
    }
    tiers = next;
  }
  return tiers.reverse();
}
