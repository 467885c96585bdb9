import { timesFitting } from "./amounts.js";
import { type Bits, hasBit } from "./bits.js";
import type { Shape } from "./shapes.js";
import type { WorkerTable } from "./worker-table.js";

/** The group in which most of a gang's tasks have room. */
export interface GangFit {
  /** Its value of the `groupBy` attribute; "" without one. */
  readonly group: string;
  /** The worker of each task, by its place in the gang; undefined unless all have room. */
  readonly workers: readonly number[] | undefined;
  /** How many tasks have room. */
  readonly room: number;
}

/**
 * Where all tasks of a gang have room at once: in one group of workers that have the same value of an attribute, task i on the i-th worker of the group. Where the group has
 * fewer workers than the gang has tasks, neighbours share one. A group with a worker that the gang may not use for a taint is left out as a whole, as is a slice of TPUs
 * on which another gang is. Of several groups the one whose workers are preferred, then the one with the least room left over.
 *
 * @param table - the workers
 * @param room - which of the table's rooms counts
 * @param shape - what each task asks for
 * @param size - how many tasks
 * @param groupBy - the attribute; undefined: all workers are one group
 */
export function fitGang(table: WorkerTable, room: Float64Array, shape: Shape, size: number, groupBy: string | undefined): GangFit {
  let best: Found | undefined;
  for (const [group, members] of table.groups(groupBy)) {
    if (groupBy !== undefined && !isOpen(table, shape, members)) continue;
    let total = 0;
    let tier = 0;
    for (const worker of members) {
      const place = tierOf(shape, worker);
      const times = place < 0 ? 0 : timesFitting(shape.amounts, room, worker, size);
      total += times;
      if (times > 0 && place > tier) tier = place;
    }
    const found = { group, members, total, tier };
    if (best === undefined || better(found, best, size)) best = found;
  }
  if (best === undefined || best.total < size) return { group: best?.group ?? "", workers: undefined, room: best?.total ?? 0 };
  return { group: best.group, workers: spread(room, shape, size, best.members, groupBy !== undefined), room: size };
}

/** A group of workers, and how many tasks have room there. */
interface Found {
  readonly group: string;
  readonly members: readonly number[];
  readonly total: number;
  /** The least preferred worker with room. */
  readonly tier: number;
}

function tierOf({ tiers }: Shape, worker: number): number {
  for (let tier = 0; tier < tiers.length; tier += 1) if (hasBit(tiers[tier] as Bits, worker)) return tier;
  return -1;
}

function isOpen(table: WorkerTable, shape: Shape, members: readonly number[]): boolean {
  return members.every((worker) => hasBit(shape.untainted, worker) && (shape.device?.kind !== "tpu" || table.tpuGangTasks[worker] === 0));
}

function better(a: Found, b: Found, size: number): boolean {
  const [left, right] = [Math.min(a.total, size), Math.min(b.total, size)];
  if (left !== right) return left > right;
  return left === size && (a.tier !== b.tier ? a.tier < b.tier : a.total < b.total);
}

/** Gives the tasks out in order: evenly over the workers of a group, else worker by worker, the preferred ones first. */
function spread(room: Float64Array, shape: Shape, size: number, members: readonly number[], evenly: boolean): number[] {
  const usable = members.flatMap((worker) => {
    const tier = tierOf(shape, worker);
    const times = tier < 0 ? 0 : timesFitting(shape.amounts, room, worker, size);
    return times === 0 ? [] : [{ worker, tier, times }];
  });
  // In a group the order of the workers is that of the tasks.
  if (!evenly) usable.sort((a, b) => a.tier - b.tier);
  let most = evenly ? 1 : size;
  while (usable.reduce((sum, { times }) => sum + Math.min(times, most), 0) < size) most += 1;
  const workers: number[] = [];
  for (const { worker, times } of usable) {
    for (let count = Math.min(times, most, size - workers.length); count > 0; count -= 1) workers.push(worker);
  }
  return workers;
}
