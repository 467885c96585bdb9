import type { Dimension, PendingReason } from "../jobs/model.js";
import { dimensionCount, dimensionName, fits, formatAmount, formatAmounts } from "./amounts.js";
import { nextBit } from "./bits.js";
import { fitGang } from "./gangs.js";
import type { Shape } from "./shapes.js";
import type { WaitingJob } from "./snapshot.js";
import type { WorkerTable } from "./worker-table.js";

/** What a shape finds at the end of a decision; the same for all tasks of it. */
export interface Blockage {
  readonly dimension: Dimension;
  readonly text: string;
  readonly withRoom: number;
}

/** Why no worker takes a task of the shape now. */
export function blockageOf(table: WorkerTable, shape: Shape, maxStarting: number): Blockage {
  const { amounts, device, possible, possibleCount, accepting } = shape;
  if (table.size === 0) return { dimension: "workers", text: "waits for workers: there are none", withRoom: 0 };
  if (possibleCount === 0) return { dimension: "combination", text: "waits for a worker that could run it: none of those there are now can", withRoom: 0 };
  const { free, capacity } = table;
  let withRoom = 0;
  let starting = 0;
  const most: [number, number, number, number] = [-Infinity, -Infinity, -Infinity, -Infinity];
  for (let worker = nextBit(accepting, 0); worker >= 0; worker = nextBit(accepting, worker + 1)) {
    const at = worker * dimensionCount;
    // Written out: this is most of the work where thousands of different shapes wait.
    if ((free[at] as number) > most[0]) most[0] = free[at] as number;
    if ((free[at + 1] as number) > most[1]) most[1] = free[at + 1] as number;
    if ((free[at + 2] as number) > most[2]) most[2] = free[at + 2] as number;
    if ((free[at + 3] as number) > most[3]) most[3] = free[at + 3] as number;
    if (!fits(amounts, free, worker)) continue;
    withRoom += 1;
    if ((table.starting[worker] as number) >= maxStarting) starting += 1;
  }
  if (nextBit(accepting, 0) < 0) return { dimension: "workers", text: "waits for workers: none of those that could run it takes tasks at present", withRoom };
  if (withRoom > 0 && starting === withRoom) return { dimension: "building", text: `waits for a worker: those with room start ${String(maxStarting)} others already`, withRoom };
  const lacking = [0, 1, 2, 3].filter((dimension) => (amounts[dimension] as number) > Math.max(0, most[dimension] as number));
  const [first] = lacking;
  if (first === undefined) return { dimension: "combination", text: `waits for a worker with room for ${formatAmounts(amounts, device)} at once`, withRoom };
  const texts = lacking.map((dimension) => {
    let largest = 0;
    for (let worker = nextBit(possible, 0); worker >= 0; worker = nextBit(possible, worker + 1)) largest = Math.max(largest, capacity[worker * dimensionCount + dimension] as number);
    const show = (amount: number): string => formatAmount(dimension, Math.max(0, amount));
    return `waits for ${dimensionName(dimension, device)}: asks ${show(amounts[dimension] as number)}, free ${show(most[dimension] as number)} of ${show(largest)}`;
  });
  return { dimension: dimensionName(first, device), text: texts.join("; "), withRoom };
}

/** Why a gang does not start now. */
export function gangBlockageOf(table: WorkerTable, shape: Shape, job: WaitingJob): Blockage {
  const size = job.taskIndexes.length;
  const groupBy = job.gang?.groupBy;
  const single = blockageOf(table, shape, Infinity);
  const { group, room } = fitGang(table, table.free, shape, size, groupBy);
  if (room === 0 && single.withRoom === 0) return { ...single, text: `${single.text}; all ${String(size)} tasks at once` };
  const where = groupBy === undefined ? "" : ` with one ${groupBy}`;
  const best = groupBy === undefined || room === 0 ? "" : ` (${groupBy} ${group})`;
  return { dimension: "gang", text: `waits for room for all ${String(size)} tasks at once${where}: there is room for ${String(room)}${best}, each asks for ${formatAmounts(shape.amounts, shape.device)}`, withRoom: single.withRoom };
}

/** Why a job waits, for people and programs. */
export function reasonOf(blockage: Blockage, facts: { readonly workers: number; readonly possible: number } & Pick<PendingReason, "waiting" | "overBudget">): PendingReason {
  const { workers, possible, overBudget } = facts;
  const counts = workers === 0 ? "" : ` (${String(blockage.withRoom)} of ${String(possible)} possible workers have room; ${String(workers)} in all)`;
  const budget = overBudget === undefined ? "" : `; counts as BATCH: its user has spent ${String(Math.round(overBudget.spend))} of a budget of ${String(overBudget.budget)}`;
  return { dimension: blockage.dimension, message: `${blockage.text}${counts}${budget}`, withRoom: blockage.withRoom, ...facts };
}
