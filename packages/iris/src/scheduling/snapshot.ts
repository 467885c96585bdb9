import type { Band, Resources } from "../jobs/job-spec.js";
import type { PendingReason } from "../jobs/model.js";
import type { AttributeValue, Constraint } from "./constraints.js";

/** A worker, as the scheduler sees it. */
export interface SchedulingWorker {
  /** Its name, unique. */
  readonly name: string;
  /** All it has. */
  readonly capacity: Resources;
  /** What constraints ask about. "worker", "device-kind" ("cpu" where there is no device) and "device-variant" come from the fields above. */
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** What keeps jobs away that do not tolerate it. */
  readonly taints: readonly string[];
  /** Whether it takes new attempts; false while it cannot be reached or is being emptied. Default true. */
  readonly accepting?: boolean;
}

/** A job with tasks that wait. */
export interface WaitingJob {
  /** Names it in the decision. */
  readonly jobUid: string;
  /** For people. */
  readonly jobId: string;
  /** Whose budget and share it counts against. */
  readonly user: string;
  /** As declared; over budget an INTERACTIVE job counts as BATCH. */
  readonly band: Band;
  /** Jobs above it. Deeper first: they finish what was begun. */
  readonly depth: number;
  /** When the job at the root of its tree was submitted, in milliseconds since the epoch. */
  readonly rootSubmittedAt: number;
  /** What each task asks for. */
  readonly resources: Resources;
  readonly constraints: readonly Constraint[];
  readonly tolerations: readonly string[];
  /** Set for a gang: `taskIndexes` are then all of its tasks, placed at once or not at all. */
  readonly gang?: { readonly groupBy?: string | undefined } | undefined;
  /** The tasks that may start, ascending. */
  readonly taskIndexes: readonly number[];
}

/** An attempt that has a place: assigned, being built, running or being stopped. */
export interface PlacedAttempt {
  readonly attemptUid: string;
  readonly jobUid: string;
  readonly jobId: string;
  readonly taskIndex: number;
  readonly user: string;
  /** As declared by its job. */
  readonly declaredBand: Band;
  /** As stamped when it was assigned. */
  readonly band: Band;
  readonly worker: string;
  readonly resources: Resources;
  /** Set for a task of a gang. */
  readonly gang?: { readonly groupBy?: string | undefined } | undefined;
  /** When it was assigned, in milliseconds since the epoch: the latest are evicted first. */
  readonly assignedAt: number;
  /** Whether its process runs already. */
  readonly running: boolean;
  /** Whether it was told to stop: its room is free soon. */
  readonly stopping: boolean;
}

/** Where tasks of a job will be placed once what was evicted for them has ended. Comes out of one {@link Schedule} and goes into the next snapshot. */
export interface Reservation {
  readonly jobUid: string;
  readonly band: Band;
  readonly places: readonly Place[];
}

/** A task's place. */
export interface Place {
  readonly taskIndex: number;
  readonly worker: string;
}

/** All that the scheduler decides by. */
export interface SchedulingSnapshot {
  readonly workers: readonly SchedulingWorker[];
  readonly waiting: readonly WaitingJob[];
  readonly placed: readonly PlacedAttempt[];
  /** What each user may spend ({@link spendOf}) on tasks that do not count as BATCH; who is missing may spend any amount. */
  readonly budgets: Readonly<Record<string, number>>;
  /** Those of the last decision. */
  readonly reservations: readonly Reservation[];
  /** Most evictions of one decision; default 64. */
  readonly maxPreemptions?: number;
  /** Most attempts of one worker that are assigned and do not run yet; gangs do not count. Default no limit. */
  readonly maxStartingPerWorker?: number;
}

/** What to do now. */
export interface Schedule {
  /** Tasks to start, by job; a gang's all in one. Give each to the state machine as one "assigned". */
  readonly assign: readonly { readonly jobUid: string; readonly band: Band; readonly places: readonly Place[] }[];
  /** Attempts to evict; each makes room for the job that `by` names, which holds a reservation for it. */
  readonly preempt: readonly { readonly attemptUid: string; readonly jobUid: string; readonly by: { readonly jobUid: string; readonly jobId: string } }[];
  /** Why tasks still wait, by job uid. */
  readonly reasons: ReadonlyMap<string, PendingReason>;
  /** For the next snapshot. */
  readonly reservations: readonly Reservation[];
}
