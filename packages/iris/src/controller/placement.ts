import { randomUUID } from "node:crypto";
import { tasksToPlace } from "../jobs/state-machine.js";
import type { Clock } from "../platform.js";
import { schedule } from "../scheduling/scheduler.js";
import type { Reservation, SchedulingSnapshot, WaitingJob } from "../scheduling/snapshot.js";
import type { Controller } from "./controller.js";
import type { JobRecord } from "./job-record.js";

/** The scheduler gets at most this share of the controller's time... */
const share = 0.25;

/** ... but is not kept waiting for longer than this, in milliseconds. */
const longestWaitMs = 2_000;

/** How often a waiting job's followers hear of another reason at most, in milliseconds. */
const reasonEveryMs = 2_000;

/** Has waiting tasks placed when something has changed, without letting the scheduler take all the time when much does. */
export class Placement {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #wanted = false;
  #notBefore = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #reservations: readonly Reservation[] = [];
  #reasonsAt = -Infinity;

  /**
   * @param wake - has a turn take place, in which {@link run} is called
   */
  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Something has changed: in this turn or soon. */
  want(): void {
    this.#wanted = true;
  }

  /** Places what can be placed, if that is wanted and its time has come. Inside a turn. */
  run(controller: Controller): void {
    if (!this.#wanted) return;
    const start = performance.now();
    if (start < this.#notBefore) return this.#later(this.#notBefore - start);
    this.#wanted = false;
    const snapshot = this.#snapshot(controller);
    if (snapshot.waiting.length > 0) this.#place(controller, snapshot);
    const took = performance.now() - start;
    this.#notBefore = start + took + (took < 1 ? 0 : Math.min(longestWaitMs, (took * (1 - share)) / share));
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #later(milliseconds: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#wake();
    }, milliseconds);
  }

  #place(controller: Controller, snapshot: SchedulingSnapshot): void {
    const { assign, preempt, reasons, reservations } = schedule(snapshot);
    this.#reservations = reservations;
    for (const { jobUid, band, places } of assign) {
      const job = controller.find(jobUid);
      if (job !== undefined) controller.apply(job, { type: "assigned", band, placements: places.map((place) => ({ ...place, attemptUid: randomUUID() })) });
    }
    for (const { attemptUid, jobUid, by } of preempt) {
      const job = controller.find(jobUid);
      if (job !== undefined) controller.apply(job, { type: "preempted", attemptUid, by: by.jobId });
    }
    const now = this.#clock.monotonic();
    const telling = now - this.#reasonsAt >= reasonEveryMs;
    if (telling) this.#reasonsAt = now;
    for (const [jobUid, reason] of reasons) {
      const job = controller.find(jobUid);
      if (job === undefined) continue;
      const news = job.reason === undefined || (telling && job.reason.message !== reason.message);
      job.reason = reason;
      if (news) controller.announce(job);
    }
  }

  #snapshot(controller: Controller): SchedulingSnapshot {
    const now = controller.clock.now();
    const waiting: WaitingJob[] = [];
    for (const job of controller.live) {
      const taskIndexes = tasksToPlace(job.model, now);
      if (taskIndexes.length > 0) waiting.push(waitingJob(job, taskIndexes));
    }
    return {
      workers: controller.workers.forScheduling(),
      waiting,
      placed: waiting.length === 0 ? [] : controller.workers.placed(),
      budgets: Object.fromEntries(controller.budgets),
      reservations: this.#reservations,
    };
  }
}

function waitingJob(job: JobRecord, taskIndexes: number[]): WaitingJob {
  const { uid, id, user, spec } = job.model;
  const { band, resources, constraints, tolerations, gang } = spec;
  return { jobUid: uid, jobId: id, user, band, depth: job.depth, rootSubmittedAt: job.rootSubmittedAt, resources, constraints, tolerations, gang, taskIndexes };
}
