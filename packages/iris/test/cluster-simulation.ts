import type { ResolvedJobSpec } from "../src/jobs/job-spec-inheritance.js";
import type { AttemptModel, Cause, JobModel, JobModelEvent } from "../src/jobs/model.js";
import { apply, newJob, tasksToPlace } from "../src/jobs/state-machine.js";
import { schedule } from "../src/scheduling/scheduler.js";
import type { PlacedAttempt, Reservation, Schedule, SchedulingWorker, WaitingJob } from "../src/scheduling/snapshot.js";

/**
 * A cluster without processes: the state machine, the scheduler, and workers that do at the next tick what they were told in this one. Time is counted in ticks.
 */
export class ClusterSimulation {
  now = 0;
  workers: SchedulingWorker[];
  /** Jobs that have not ended. */
  readonly jobs = new Map<string, JobModel>();
  readonly ended: JobModel[] = [];
  /** Attempts that have processes, by uid. */
  readonly processes = new Map<string, AttemptModel>();
  /** The last decision. */
  decision: Schedule | undefined;
  readonly #budgets: Readonly<Record<string, number>>;
  #reservations: readonly Reservation[] = [];
  #told: string[] = [];
  #count = 0;

  constructor(workers: readonly SchedulingWorker[], budgets: Readonly<Record<string, number>> = {}) {
    this.workers = [...workers];
    this.#budgets = budgets;
  }

  submit(user: string, spec: ResolvedJobSpec): string {
    const uid = `j${String((this.#count += 1))}`;
    this.jobs.set(uid, newJob({ uid, id: `/${uid}`, user, spec, now: this.now }).job);
    return uid;
  }

  on(jobUid: string, event: JobModelEvent): void {
    const job = this.jobs.get(jobUid);
    if (job === undefined) return;
    const transition = apply(job, event, this.now);
    if (transition.job.ended === undefined) {
      this.jobs.set(jobUid, transition.job);
    } else {
      this.jobs.delete(jobUid);
      this.ended.push(transition.job);
    }
    for (const effect of transition.effects) {
      if (effect.type === "launch") this.processes.set(effect.attempt.uid, effect.attempt);
      if (effect.type === "stop") this.#told.push(effect.attemptUid);
      if (effect.type === "attemptEnded") this.processes.delete(effect.attempt.uid);
    }
  }

  /** The attempt's process ends. */
  processEnded(attempt: AttemptModel, cause?: Cause): void {
    const job = this.jobOf(attempt.uid);
    if (job !== undefined) this.on(job.uid, { type: "ended", attemptUid: attempt.uid, outcome: cause === undefined ? { kind: "succeeded" } : { kind: "failed", cause } });
  }

  jobOf(attemptUid: string): JobModel | undefined {
    return this.jobs.get(attemptUid.split(".")[0] ?? "");
  }

  loseWorker(name: string): void {
    for (const uid of this.jobs.keys()) this.on(uid, { type: "workerLost", worker: name, message: "silent" });
    this.workers = this.workers.filter((each) => each.name !== name);
  }

  /** Time passes: what was told to stop has stopped, what was launched runs; then the scheduler decides. */
  tick(): void {
    this.now += 1;
    const told = this.#told;
    this.#told = [];
    for (const uid of told) {
      const attempt = this.processes.get(uid);
      if (attempt !== undefined) this.processEnded(attempt, { kind: "signal", signal: "SIGTERM" });
    }
    for (const attempt of this.processes.values()) {
      const job = this.jobOf(attempt.uid);
      const current = job?.tasks[attempt.taskIndex]?.current;
      if (job !== undefined && current?.uid === attempt.uid && current.state === "ASSIGNED") this.on(job.uid, { type: "started", attemptUid: attempt.uid });
    }
    for (const uid of this.jobs.keys()) this.on(uid, { type: "tick" });
    this.#decide();
  }

  #decide(): void {
    const decision = schedule({ workers: this.workers, waiting: this.#waiting(), placed: this.placed(), budgets: this.#budgets, reservations: this.#reservations });
    this.decision = decision;
    this.#reservations = decision.reservations;
    for (const { jobUid, attemptUid, by } of decision.preempt) this.on(jobUid, { type: "preempted", attemptUid, by: by.jobUid });
    for (const { jobUid, band, places } of decision.assign) {
      const placements = places.map(({ taskIndex, worker }) => ({ taskIndex, worker, attemptUid: `${jobUid}.${String(taskIndex)}.${String(this.now)}` }));
      this.on(jobUid, { type: "assigned", band, placements });
    }
    for (const [jobUid, reason] of decision.reasons) this.on(jobUid, { type: "reason", reason });
  }

  #waiting(): WaitingJob[] {
    return [...this.jobs.values()].flatMap((job) => {
      const taskIndexes = tasksToPlace(job, this.now);
      if (taskIndexes.length === 0) return [];
      const { band, resources, constraints, tolerations, gang } = job.spec;
      return [{ jobUid: job.uid, jobId: job.id, user: job.user, band, depth: 0, rootSubmittedAt: job.submittedAt, resources, constraints, tolerations, gang, taskIndexes }];
    });
  }

  placed(): PlacedAttempt[] {
    return [...this.jobs.values()].flatMap((job) =>
      job.tasks.flatMap(({ index, current }) => {
        if (current === undefined) return [];
        const { resources, gang, band } = job.spec;
        const { uid, worker, assignedAt, state, stop } = current;
        return [{ attemptUid: uid, jobUid: job.uid, jobId: job.id, taskIndex: index, user: job.user, declaredBand: band, band: current.band, worker, resources, gang, assignedAt, running: state === "RUNNING", stopping: stop !== undefined }];
      }),
    );
  }
}
