import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { backgroundClock } from "@marin/rigging";
import type { SubmitRequest } from "../client/iris-api.js";
import type { AttemptModel, Cause, JobEffect, JobModelEvent } from "../jobs/model.js";
import { apply } from "../jobs/state-machine.js";
import type { LineLog } from "../jobs/line-log.js";
import { type Clock, MarinError, systemClock } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import type { WorkerLink } from "../worker/link.js";
import type { Report } from "../worker/protocol.js";
import { type Caller, type Limits, admit, defaultLimits } from "./admission.js";
import { causeError } from "./cause-error.js";
import { ChangeSet } from "./change-set.js";
import { type Endpoint, EndpointTable } from "../runtime/endpoints.js";
import type { JobRecord } from "./job-record.js";
import { Placement } from "./placement.js";
import { takeReports } from "./reports.js";
import { jobFromRows } from "./rows.js";
import type { Seal } from "./seal.js";
import type { Store } from "./store.js";
import { Turns } from "./turns.js";
import type { DriverTimes, OpenLink } from "./worker-driver.js";
import { type LiveAttempt, Workers } from "./workers.js";

/** Times and limits of a {@link Controller}; all have defaults. */
export interface ControllerSettings {
  readonly times?: Partial<DriverTimes & { readonly leaseMs: number; readonly graceMs: number }>;
  readonly limits?: Partial<Limits>;
  /** Jobs that have ended and are held in memory. */
  readonly endedInMemory: number;
  /** Jobs that have ended and are kept at all. */
  readonly endedKept: number;
  /** Whose jobs are those that name nobody. */
  readonly user: string;
  /** Default the system's. */
  readonly clock?: Clock;
  /** Opens the log of a job. */
  readonly openLog: (job: { readonly uid: string; readonly id: string }) => LineLog;
  /** Removes the log of a job that is no longer kept. */
  readonly removeLog: (uid: string) => void;
  /** Takes no jobs, and decides nothing. Default false. */
  readonly readOnly?: boolean;
}

const defaultTimes = { reconcileMs: 5_000, workerTimeoutMs: 60_000, leaseMs: 30_000, graceMs: 4_000 };

/**
 * Holds jobs, and has workers run their tasks. Whatever changes is decided by the state machine and the scheduler, stored, and only then acted on and
 * answered: a controller that is killed at any moment is continued by the next one on the same store.
 */
export class Controller {
  readonly endpoints: EndpointTable;
  readonly workers: Workers;
  readonly clock: Clock;
  readonly settings: ControllerSettings;
  readonly store: Store;
  /** Aborted when the controller is closed, or could not store something: with the reason. */
  readonly closed: AbortSignal;
  /** What each user may spend. */
  readonly budgets: Map<string, number>;
  readonly turns: Turns;
  readonly #seal: Seal;
  readonly #close = new AbortController();
  readonly #taskCounts = new Map<string, number>();
  #taskCount = 0;
  readonly #limits: Limits;
  readonly #times: typeof defaultTimes;
  readonly #placement: Placement;
  readonly #live = new Map<string, JobRecord>();
  readonly #liveIds = new Map<string, JobRecord>();
  /** The latest jobs that have ended, oldest first. */
  readonly #ended = new Map<string, JobRecord>();
  readonly #announced = new Set<JobRecord>();
  #changes = new ChangeSet();
  #wakeAt = Infinity;
  #wake = new AbortController();
  #endedSinceForgetting = 0;
  #closing = false;

  /** Continues what the store holds. */
  constructor(store: Store, seal: Seal, settings: ControllerSettings) {
    this.store = store;
    this.#seal = seal;
    this.closed = this.#close.signal;
    // Everybody who waits listens to it.
    setMaxListeners(0, this.closed);
    this.settings = settings;
    this.clock = settings.clock ?? systemClock;
    this.#limits = { ...defaultLimits, ...settings.limits };
    this.#times = { ...defaultTimes, ...settings.times };
    this.endpoints = new EndpointTable(this.#times.leaseMs, () => this.clock.monotonic());
    this.turns = new Turns(
      () => this.#endTurn(),
      (failure) => this.#close.abort(failure),
    );
    this.budgets = new Map(store.budgets().map(({ user, amount }) => [user, amount]));
    this.#placement = new Placement(this.clock, () => this.turns.wake());
    this.workers = new Workers({ epoch: store.nextEpoch(), times: this.#times, clock: settings.clock ?? backgroundClock, controller: this });
    this.#recover();
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#live.size === 0;
  }

  /** Whether it takes no more jobs. */
  get closing(): boolean {
    return this.#closing;
  }

  /** The jobs that have not ended, first submitted first. */
  get live(): Iterable<JobRecord> {
    return this.#live.values();
  }

  /** Tasks of jobs that have not ended, of all users and of one. */
  liveTasks(user: string): { readonly total: number; readonly ofUser: number } {
    return { total: this.#taskCount, ofUser: this.#taskCounts.get(user) ?? 0 };
  }

  /** The job that has not ended and has that id. */
  liveById(id: string): JobRecord | undefined {
    return this.#liveIds.get(id);
  }

  /** The job with that uid, or the latest with that id. */
  find(reference: string): JobRecord | undefined {
    const live = reference.startsWith("/") ? this.#liveIds.get(reference) : this.#live.get(reference);
    if (live !== undefined) return live;
    const row = reference.startsWith("/") ? this.store.latest(reference) : undefined;
    const uid = row?.uid ?? reference;
    const known = this.#live.get(uid) ?? this.#ended.get(uid);
    if (known !== undefined) return known;
    const found = row ?? this.store.job(uid);
    if (found === undefined) return undefined;
    const { job } = jobFromRows(found, this.store, this.#seal, () => this.settings.openLog(found));
    this.#keepEnded(job);
    return job;
  }

  /**
   * The job with that uid, or the latest with that id.
   *
   * @throws MarinError IRIS_NO_JOB
   */
  job(reference: string): JobRecord {
    const job = this.find(reference);
    if (job !== undefined) return job;
    const meant = this.find(`/${reference}`)?.id;
    const advice = meant === undefined ? "Ask for the list of jobs; those that ended long ago are forgotten." : `Did you mean ${meant}?`;
    throw new MarinError("IRIS_NO_JOB", `There is no job "${reference}". ${advice}`, { data: { job: reference } });
  }

  /** Takes a worker that has dialled in, or dials by itself. */
  addWorker(link: WorkerLink, open?: OpenLink): void {
    this.workers.add(link, open);
  }

  /** Takes a job; answered once it is stored. See {@link admit}. */
  submit(request: SubmitRequest, caller: Caller): Promise<JobRecord> {
    return this.turns.run(() => {
      const { submissionId } = request;
      const admitted = admit(this, this.#limits, request, caller, this.#changes.submissionOf(submissionId) ?? this.store.submission(submissionId));
      if ("existing" in admitted) {
        if (admitted.digest !== undefined) this.#changes.submission(submissionId, admitted.existing.uid, admitted.digest);
        return admitted.existing;
      }
      const { job, transition, digest, shortage } = admitted;
      this.#addLive(job);
      this.#changes.submission(submissionId, job.uid, digest);
      this.#took(job, transition.effects, transition.wakeAt);
      if (shortage !== undefined) this.apply(job, { type: "unschedulable", shortage });
      return job;
    });
  }

  /** Ends a job and its descendants; answered once that is stored. */
  endTree(job: JobRecord, event: Extract<JobModelEvent, { readonly type: "cancelled" | "completed" }>): Promise<void> {
    return this.turns.run(() => this.applyToTree(job, event));
  }

  /** For use inside a turn. */
  applyToTree(job: JobRecord, event: Extract<JobModelEvent, { readonly type: "cancelled" | "completed" }>): void {
    for (const child of [...job.children]) this.applyToTree(child, event);
    this.apply(job, event);
  }

  /** Takes what a worker reports; answered once it is stored. */
  takeReports(reports: readonly Report[]): Promise<void> {
    return this.turns.run(() => takeReports(this, reports));
  }

  /** What a task's function returned. For use inside a turn. */
  setValue(job: JobRecord, taskIndex: number, value: Uint8Array | null): void {
    this.#changes.value(job.uid, taskIndex, value);
  }

  /** Sets or lifts what a user may spend. */
  setBudget(user: string, budget: number | null): Promise<void> {
    return this.turns.run(() => {
      if (budget === null) this.budgets.delete(user);
      else this.budgets.set(user, budget);
      this.#changes.budget(user, budget);
      this.#placement.want();
    });
  }

  /** Offers an endpoint of a running attempt. */
  register(endpoint: Omit<Endpoint, "id">): Promise<string> {
    return this.turns.run(() => {
      const { offered, replaced } = this.endpoints.add({ ...endpoint, id: randomUUID() });
      if (replaced !== undefined) this.#changes.removeEndpoint(replaced.id);
      this.#changes.endpoint({ ...offered, metadata: JSON.stringify(offered.metadata) });
      return offered.id;
    });
  }

  /** Takes an endpoint back. */
  unregister(id: string, attemptUid: string): Promise<void> {
    return this.turns.run(() => {
      if (this.endpoints.remove(id, attemptUid) !== undefined) this.#changes.removeEndpoint(id);
    });
  }

  /** Has the state machine take an event. For use inside a turn. */
  apply(job: JobRecord, event: JobModelEvent): void {
    const { job: model, effects, wakeAt } = apply(job.model, event, this.clock.now());
    if (model === job.model) return;
    job.model = model;
    this.#took(job, effects, wakeAt);
  }

  /** Has tasks placed in the next turn. */
  wantPlacement(): void {
    this.#placement.want();
  }

  /** A line of iris's own in a job's log. */
  say(job: JobRecord, level: "info" | "warn", message: string, from: { readonly taskIndex: number; readonly attempt: number } = { taskIndex: 0, attempt: 0 }): void {
    const line = { time: new Date(this.clock.now()).toISOString(), level, source: "iris", ...from, message } as const;
    for (const added of job.log.append([{ line, attemptUid: "", seq: 0 }])) job.feed.push({ type: "log", line: added });
  }

  /** Takes no more jobs. */
  stopTaking(): void {
    this.#closing = true;
  }

  /**
   * Lets go of the workers, and changes nothing any more. What is stored can still be asked for.
   *
   * @param shutdown - whether the workers are to end as well
   */
  async close(shutdown: boolean): Promise<void> {
    this.#closing = true;
    await this.turns.run(() => undefined).catch(() => undefined);
    this.#wake.abort();
    this.#placement.close();
    await this.workers.close(shutdown);
    this.turns.stop(new MarinError("IRIS_CLOSED", "The controller is closed."));
  }

  #took(job: JobRecord, effects: readonly JobEffect[], wakeAt: number | undefined): void {
    this.#changes.job(job);
    job.wakeAt = wakeAt;
    if (wakeAt !== undefined) this.#wakeBy(wakeAt);
    for (const effect of effects) this.#do(job, effect);
  }

  #do(job: JobRecord, effect: JobEffect): void {
    switch (effect.type) {
      case "launch": {
        const live = this.workers.place(job, effect.attempt);
        return this.turns.after(() => this.workers.launch(live));
      }
      case "stop":
        return this.turns.after(() => this.workers.stop(effect.attemptUid, this.#stopFailure(job, effect.cause), this.#times.graceMs));
      case "attemptEnded":
        return this.#attemptEnded(job, effect.attempt);
      case "retry":
        return this.#retry(job, effect);
      case "startWanted":
        return this.#placement.want();
      case "jobEnded":
        for (const child of [...job.children]) {
          const gone = new MarinError("IRIS_CANCELLED", `The job ${job.id}, whose child it is, has ended.`, { data: { parent: job.id } });
          this.applyToTree(child, { type: "cancelled", by: job.id, reason: gone.message, failure: failureToWire(gone) });
        }
        return this.#finish(job);
    }
  }

  #stopFailure(job: JobRecord, cause: Cause): ReturnType<typeof failureToWire> {
    return failureToWire(causeError(job.id, cause, undefined));
  }

  #attemptEnded(job: JobRecord, attempt: AttemptModel): void {
    this.#changes.attemptEnded(job.uid, job.addHistory(attempt));
    for (const { id } of this.endpoints.removeAll(attempt.uid)) this.#changes.removeEndpoint(id);
    this.workers.free(attempt.uid);
    this.turns.after(() => this.workers.drop(attempt));
    this.#placement.want();
  }

  #retry(job: JobRecord, { taskIndexes, number, at, cause }: Extract<JobEffect, { readonly type: "retry" }>): void {
    for (const taskIndex of taskIndexes) this.setValue(job, taskIndex, null);
    const wait = Math.max(0, at - this.clock.now());
    const [taskIndex = 0] = taskIndexes;
    const what = taskIndexes.length > 1 ? "All tasks start" : "It starts";
    this.say(job, "warn", `${causeError(job.id, cause, { taskIndex, attempt: number - 1 }).message} ${what} again: attempt ${String(number)}${wait === 0 ? "" : `, after ${String(wait)} ms`}.`, { taskIndex, attempt: number - 1 });
    const { preemptionPolicy, replicas } = job.model.spec;
    if ((preemptionPolicy ?? (replicas === 1 ? "terminateChildren" : "preserveChildren")) === "preserveChildren") return;
    const gone = new MarinError("IRIS_CANCELLED", `The job ${job.id}, whose child it is, starts again.`, { data: { parent: job.id } });
    for (const child of [...job.children]) this.applyToTree(child, { type: "cancelled", by: job.id, reason: gone.message, failure: failureToWire(gone) });
  }

  /** Ends a job once its tasks and its children have. */
  #finish(job: JobRecord): void {
    if (job.model.ended === undefined || job.children.size > 0 || job.end !== undefined) return;
    job.finish(this.clock.now());
    this.#changes.job(job);
    this.#live.delete(job.uid);
    this.#count(job, -1);
    if (this.#liveIds.get(job.id) === job) this.#liveIds.delete(job.id);
    this.turns.after(() => {
      this.#announced.delete(job);
      job.close();
      this.#keepEnded(job);
      this.#endedSinceForgetting += 1;
    });
    const parent = job.parent === undefined ? undefined : this.#live.get(job.parent);
    if (parent !== undefined) {
      parent.children.delete(job);
      this.#finish(parent);
    }
  }

  #addLive(job: JobRecord): void {
    this.#live.set(job.uid, job);
    this.#liveIds.set(job.id, job);
    this.#count(job, 1);
    if (job.parent !== undefined) this.#live.get(job.parent)?.children.add(job);
  }

  #count({ model }: JobRecord, sign: 1 | -1): void {
    const count = sign * model.tasks.length;
    this.#taskCount += count;
    const ofUser = (this.#taskCounts.get(model.user) ?? 0) + count;
    if (ofUser === 0) this.#taskCounts.delete(model.user);
    else this.#taskCounts.set(model.user, ofUser);
  }

  #keepEnded(job: JobRecord): void {
    this.#ended.delete(job.uid);
    this.#ended.set(job.uid, job);
    for (const [uid] of this.#ended) {
      if (this.#ended.size <= this.settings.endedInMemory) break;
      this.#ended.delete(uid);
    }
  }

  #endTurn(): void {
    this.#placement.run(this);
    const changes = this.#changes;
    this.#changes = new ChangeSet();
    if (!changes.empty) {
      this.store.commit(changes.rows(this.#seal, (attemptUid) => (attemptUid === undefined ? 0 : this.workers.seqOf(attemptUid))));
      changes.stored();
    }
    for (const job of changes.jobs) this.announce(job);
    if (this.#endedSinceForgetting > Math.max(100, this.settings.endedKept / 10)) {
      this.#endedSinceForgetting = 0;
      for (const uid of this.store.forget(this.settings.endedKept)) this.settings.removeLog(uid);
    }
  }

  /** Tells followers of a job that its state has changed: at once, and for a job of many tasks in intervals. */
  announce(job: JobRecord): void {
    if (job.end !== undefined || this.#announced.has(job)) return;
    const wait = job.announceWaitMs(this.clock.monotonic());
    if (wait <= 0) return this.turns.after(() => job.announce(this.clock.monotonic()));
    this.#announced.add(job);
    setTimeout(() => {
      if (this.#announced.delete(job)) job.announce(this.clock.monotonic());
    }, wait).unref();
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#wake.abort();
    this.#wake = new AbortController();
    // While there are jobs that wait for their time, the process stays.
    void this.clock
      .sleep(at - this.clock.now(), this.#wake.signal)
      .then(() => this.turns.run(() => this.#tick()))
      .catch(() => undefined);
  }

  #tick(): void {
    const now = this.clock.now();
    this.#wakeAt = Infinity;
    for (const job of this.#live.values()) {
      if (job.wakeAt === undefined) continue;
      if (job.wakeAt <= now) {
        if (job.reason !== undefined && job.model.spec.schedulingTimeoutMs !== undefined) this.apply(job, { type: "reason", reason: job.reason });
        this.apply(job, { type: "tick" });
      }
      if (job.wakeAt !== undefined) this.#wakeBy(Math.max(job.wakeAt, now + 1));
    }
  }

  #recover(): void {
    for (const row of this.store.liveJobs()) {
      const { job, seqs } = jobFromRows(row, this.store, this.#seal, () => this.settings.openLog(row));
      this.#addLive(job);
      for (const { current, index } of job.model.tasks) if (current !== undefined) this.workers.restore(job, current, seqs[index] ?? 0, this.settings.readOnly !== true);
    }
    for (const { metadata, ...endpoint } of this.store.endpoints()) this.endpoints.add({ ...endpoint, metadata: JSON.parse(metadata) as Record<string, string> });
    if (this.settings.readOnly === true) {
      this.#closing = true;
      return;
    }
    // What a transition wanted beyond what was stored is found again: timers, ends of trees, places.
    void this.turns
      .run(() => {
        for (const job of [...this.#live.values()].reverse()) {
          this.apply(job, { type: "tick" });
          if (job.model.ended !== undefined) this.#do(job, { type: "jobEnded", state: job.model.ended.state });
        }
        this.#wakeBy(this.clock.now());
        this.#placement.want();
      })
      // Whoever asks next hears why.
      .catch(() => undefined);
  }

  /** The attempt, while it is its task's current one. */
  attempt(uid: string): LiveAttempt | undefined {
    return this.workers.attempt(uid);
  }
}
