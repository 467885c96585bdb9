import type { SchedulingSnapshot, SchedulingWorker, WaitingJob } from "@marin/iris/testing";

const GIB = 2 ** 30;

/** How large a decision is. */
export interface TickSize {
  readonly tasks: number;
  readonly workers: number;
}

/** What waits, and on what cluster. */
export interface Mix {
  readonly summary: string;
  readonly snapshot: (size: TickSize) => SchedulingSnapshot;
}

/** A cluster of five kinds of workers in four regions and racks of ten; every 25th has a taint. */
function cluster(count: number): SchedulingWorker[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `w${String(index)}`,
    capacity: {
      cpu: 32,
      memoryBytes: 128 * GIB,
      diskBytes: 1024 * GIB,
      ...(index % 5 === 0 ? { device: { kind: "gpu" as const, variant: index % 10 === 0 ? "h100" : "a100", count: 8 } } : {}),
    },
    attributes: { region: `r${String(index % 4)}`, rack: `k${String(index % Math.max(1, Math.floor(count / 10)))}`, speed: index % 17 },
    taints: index % 25 === 0 ? ["flaky"] : [],
  }));
}

function job(index: number, fields: Pick<WaitingJob, "resources" | "taskIndexes"> & Partial<WaitingJob>): WaitingJob {
  const uid = `j${String(index)}`;
  return { jobUid: uid, jobId: `/${uid}`, user: `u${String(index % 10)}`, band: "INTERACTIVE", depth: 0, rootSubmittedAt: index, constraints: [], tolerations: [], ...fields };
}

function tasks(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function bandOf(index: number): WaitingJob["band"] {
  return (["PRODUCTION", "INTERACTIVE", "BATCH"] as const)[index % 3] ?? "BATCH";
}

/** Each task a job of its own, no two alike: nothing that is found out for one can be used for another. */
function distinct(size: TickSize): WaitingJob[] {
  return tasks(size.tasks).map((index) =>
    job(index, {
      user: `u${String(index % 1_000)}`,
      band: bandOf(index),
      depth: index % 3,
      resources: { cpu: 1 + index / 1_000, memoryBytes: GIB + index, diskBytes: index },
      constraints: [
        { attribute: "region", op: "IN", values: [`r${String(index % 4)}`, `r${String((index + 1) % 4)}`] },
        { attribute: "speed", op: "GE", value: (index % 9) + index / 1e5 },
        { attribute: "rack", op: "EQ", value: `k${String(index % 50)}`, soft: true },
      ],
      tolerations: index % 7 === 0 ? ["flaky"] : [],
      taskIndexes: [0],
    }),
  );
}

/** The mixes, by name. */
export const MIXES = {
  plain: {
    summary: "100 jobs of equal tasks, all of which find room",
    snapshot: (size) => ({
      workers: cluster(size.workers),
      waiting: tasks(100).map((index) => job(index, { resources: { cpu: 1, memoryBytes: GIB, diskBytes: 0 }, taskIndexes: tasks(size.tasks / 100) })),
      placed: [],
      budgets: {},
      reservations: [],
    }),
  },
  full: {
    summary: "100 jobs of equal tasks, none of which finds room",
    snapshot: (size) => ({
      workers: cluster(size.workers),
      waiting: tasks(100).map((index) => job(index, { resources: { cpu: 1, memoryBytes: GIB, diskBytes: 0 }, taskIndexes: tasks(size.tasks / 100) })),
      placed: occupied(size, "INTERACTIVE"),
      budgets: {},
      reservations: [],
    }),
  },
  constraints: { summary: "no two tasks alike: each with three constraints of its own, 1,000 users, three bands", snapshot: (size) => ({ workers: cluster(size.workers), waiting: distinct(size), placed: [], budgets: {}, reservations: [] }) },
  evictions: {
    summary: "the same on a cluster full of BATCH tasks, with budgets",
    snapshot: (size) => ({ workers: cluster(size.workers), waiting: distinct(size), placed: occupied(size, "BATCH"), budgets: Object.fromEntries(tasks(500).map((index) => [`u${String(index)}`, 20])), reservations: [] }),
  },
  gangs: {
    summary: "gangs of ten for one rack each, no two alike, on a cluster full of BATCH gangs",
    snapshot: (size) => ({
      workers: cluster(size.workers),
      waiting: tasks(size.tasks / 10).map((index) => job(index, { user: `u${String(index % 50)}`, band: bandOf(index), resources: { cpu: 16 + index / 1_000, memoryBytes: GIB, diskBytes: 0 }, gang: { groupBy: "rack" }, taskIndexes: tasks(10) })),
      placed: tasks(size.workers).map((index) => ({ ...attempt(index, size, "BATCH", 20), jobUid: `g${String(index % (size.workers / 10))}`, taskIndex: Math.floor(index / (size.workers / 10)), gang: { groupBy: "rack" } })),
      budgets: {},
      reservations: [],
    }),
  },
} as const satisfies Readonly<Record<string, Mix>>;

/** Sixteen tasks on each worker, which leave no processor. */
function occupied(size: TickSize, band: WaitingJob["band"]): SchedulingSnapshot["placed"] {
  return tasks(size.workers * 16).map((index) => attempt(index, size, band, 2));
}

function attempt(index: number, { workers }: TickSize, band: WaitingJob["band"], cpu: number): SchedulingSnapshot["placed"][number] {
  const uid = `a${String(index)}`;
  const worker = `w${String(index % workers)}`;
  return { attemptUid: uid, jobUid: uid, jobId: `/${uid}`, taskIndex: 0, user: `u${String(index % 1_000)}`, declaredBand: band, band, worker, resources: { cpu, memoryBytes: 7 * GIB, diskBytes: 0 }, assignedAt: index, running: true, stopping: false };
}
