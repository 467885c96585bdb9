import type { Shortage } from "../jobs/model.js";
import type { Resources } from "../jobs/job-spec.js";
import { type Amounts, amountsOf, dimensionCount, dimensionName, formatAmount, formatAmounts } from "./amounts.js";
import { countBits, keepOnly, nextBit } from "./bits.js";
import type { Constraint } from "./constraints.js";
import { fitGang } from "./gangs.js";
import { Shapes, type TaskRequest, suitable } from "./shapes.js";
import type { SchedulingWorker } from "./snapshot.js";
import { WorkerTable } from "./worker-table.js";

/** What a job asks for, and what of the cluster is out of its reach. */
export interface JobRequest extends TaskRequest {
  /** Tasks of the job. */
  readonly replicas: number;
  /** Set for a gang. */
  readonly gang?: { readonly groupBy?: string | undefined } | undefined;
  /** What its ancestors hold until after it has ended. Looked at where there is one worker: of several they may leave one whole. Default nothing. */
  readonly heldByAncestors?: Resources;
}

/**
 * In what a job asks for more than these workers could give it if nothing else ran, with the nearest that could be had; undefined when it can run.
 *
 * @param request - what it asks for
 * @param workers - all workers, those that take no tasks at present included
 */
export function feasibility(request: JobRequest, workers: readonly SchedulingWorker[]): Shortage | undefined {
  if (workers.length === 0) return { dimension: "workers", asked: "a worker", available: "none", nearest: "start a worker" };
  const table = new WorkerTable(workers.map((worker) => ({ ...worker, accepting: true })));
  const shape = new Shapes(table).of(request);
  if (shape.possibleCount === 0) return unlikeAny(table, request) ?? tooLarge(table, request, shape.amounts);
  if (request.gang !== undefined) {
    const { groupBy } = request.gang;
    const { group, room, workers: fit } = fitGang(table, table.capacity, shape, request.replicas, groupBy);
    if (fit === undefined) {
      const where = groupBy === undefined ? "" : ` with one ${groupBy}`;
      const best = groupBy === undefined || room === 0 ? "" : ` (${groupBy} ${group})`;
      const available = `room for ${String(room)}${best}`;
      const nearest = room === 0 ? `a gang without groupBy, or with another attribute than ${groupBy ?? ""}` : `replicas ${String(room)}${best}`;
      return { dimension: "gang", asked: `${String(request.replicas)} tasks at once${where}, each ${formatAmounts(shape.amounts, shape.device)}`, available, nearest };
    }
  }
  const [worker] = workers;
  return request.heldByAncestors === undefined || worker === undefined || workers.length > 1 ? undefined : heldBack(request, worker, request.heldByAncestors);
}

/** The constraint, device or taint that no worker, or none of those that fulfil the others, is right for. */
function unlikeAny(table: WorkerTable, request: TaskRequest): Shortage | undefined {
  if (countBits(suitable(table, request)) > 0) return undefined;
  const { constraints, tolerations, resources } = request;
  const { device } = resources;
  if (device !== undefined && nextBit(table.having(device), 0) < 0) {
    const asked = `${device.kind}${device.variant === undefined ? "" : ` ${device.variant}`}`;
    if (nextBit(table.having({ kind: device.kind, count: 1 }), 0) < 0) {
      return { dimension: device.kind, asked: String(device.count), available: "0", nearest: `no device, or one of: ${table.valuesOf("device-kind").join(", ")}` };
    }
    const variants = table.valuesOf("device-variant");
    return { dimension: "device", asked, available: variants.length === 0 ? `${device.kind} of no variant` : variants.join(", "), nearest: `device variant ${variants[0] ?? "left out"}` };
  }
  for (const left of constraints.filter(({ soft }) => soft !== true)) {
    const others = suitable(table, { ...request, constraints: constraints.filter((constraint) => constraint !== left) });
    if (nextBit(others, 0) < 0) continue;
    const alone = nextBit(table.matching(left), 0) < 0;
    const values = table.valuesOf(left.attribute);
    const available = values.length === 0 ? `no worker has ${left.attribute}` : `${left.attribute} ${values.join(", ")}${alone ? "" : ", not together with the rest"}`;
    return { dimension: "constraint", asked: formatConstraint(left), available, nearest: alternative(table, left, others) };
  }
  const tainted = [...new Set(table.workers.flatMap(({ taints }) => taints))].filter((taint) => !tolerations.includes(taint)).sort();
  const tolerant = suitable(table, { ...request, tolerations: [...tolerations, ...tainted] });
  if (nextBit(tolerant, 0) >= 0) {
    return { dimension: "taint", asked: "workers without taints", available: `all that are right have one of: ${tainted.join(", ")}`, nearest: `tolerations ${tainted.join(", ")}` };
  }
  return { dimension: "constraint", asked: constraints.map(formatConstraint).join(" and "), available: "no worker fulfils them together", nearest: `one of them alone` };
}

/** A value of the attribute on a worker that is right otherwise. */
function alternative(table: WorkerTable, { attribute }: Constraint, others: ReturnType<typeof suitable>): string {
  for (let worker = nextBit(others, 0); worker >= 0; worker = nextBit(others, worker + 1)) {
    const value = table.workers[worker]?.attributes[attribute];
    if (value !== undefined) return `${attribute} ${String(value)} (worker ${table.workers[worker]?.name ?? ""})`;
  }
  return `without the constraint on ${attribute}`;
}

/** The dimension in which all right workers are too small, and the shape that the nearest of them could hold. */
function tooLarge(table: WorkerTable, request: TaskRequest, asked: Amounts): Shortage {
  const { device } = request.resources;
  const right = suitable(table, request);
  const most = new Float64Array(dimensionCount);
  let nearest = { worker: -1, excess: Infinity };
  for (let worker = nextBit(right, 0); worker >= 0; worker = nextBit(right, worker + 1)) {
    let excess = 0;
    for (const [dimension, amount] of asked.entries()) {
      const capacity = table.capacity[worker * dimensionCount + dimension] as number;
      most[dimension] = Math.max(most[dimension] as number, capacity);
      if (amount > capacity) excess += (amount - capacity) / amount;
    }
    if (excess < nearest.excess) nearest = { worker, excess };
  }
  const possible = asked.map((amount, dimension) => Math.min(amount, table.capacity[nearest.worker * dimensionCount + dimension] as number)) as unknown as Amounts;
  const shape = `${formatAmounts(possible, device)} on worker ${table.workers[nearest.worker]?.name ?? ""}`;
  for (const [dimension, amount] of asked.entries()) {
    if (amount <= (most[dimension] as number)) continue;
    return { dimension: dimensionName(dimension, device), asked: formatAmount(dimension, amount), available: formatAmount(dimension, most[dimension] as number), nearest: shape };
  }
  return { dimension: "combination", asked: formatAmounts(asked, device), available: describeAll(table, right), nearest: shape };
}

function describeAll(table: WorkerTable, right: ReturnType<typeof suitable>): string {
  const shapes = new Set<string>();
  const workers = right.slice();
  keepOnly(workers, table.accepting);
  for (let worker = nextBit(workers, 0); worker >= 0 && shapes.size < 8; worker = nextBit(workers, worker + 1)) {
    const { capacity } = table.workers[worker] ?? {};
    if (capacity !== undefined) shapes.add(formatAmounts(amountsOf(capacity), capacity.device));
  }
  return [...shapes].join("; ");
}

/** A lone worker is what the ancestors run on: what they hold is never free while the job waits. */
function heldBack(request: JobRequest, worker: SchedulingWorker, held: Resources): Shortage | undefined {
  const { heldByAncestors: _, ...alone } = request;
  const shortage = feasibility(alone, [{ ...worker, capacity: without(worker.capacity, held) }]);
  if (shortage === undefined) return undefined;
  return { ...shortage, available: `${shortage.available} beside what its ancestors hold`, nearest: `${shortage.nearest}, or less for the ancestors (cpu 0 for a parent that only waits)` };
}

function without(capacity: Resources, held: Resources): Resources {
  const [cpu, memoryBytes, diskBytes, devices] = amountsOf(capacity).map((amount, dimension) => Math.max(0, amount - (amountsOf(held)[dimension] ?? 0))) as unknown as Amounts;
  const { device } = capacity;
  return { cpu: cpu / 1000, memoryBytes, diskBytes, ...(device === undefined ? {} : { device: { ...device, count: devices } }) };
}

function formatConstraint(constraint: Constraint): string {
  const what = "values" in constraint ? JSON.stringify(constraint.values) : "value" in constraint ? JSON.stringify(constraint.value) : "";
  return `${constraint.attribute} ${constraint.op} ${what}`.trimEnd();
}
