import type { WorkerStatus } from "../client/iris-api.js";
import type { Resources } from "../jobs/job-spec.js";
import type { AttemptModel } from "../jobs/model.js";
import type { Clock } from "../platform.js";
import { type WireFailure, failureToWire } from "../runtime/failure.js";
import type { PlacedAttempt, SchedulingWorker } from "../scheduling/snapshot.js";
import type { WorkerLink } from "../worker/link.js";
import type { AttemptOrder, Observed } from "../worker/protocol.js";
import { causeError } from "./cause-error.js";
import type { Controller } from "./controller.js";
import { type JobRecord, isoTime } from "./job-record.js";
import { type DriverTimes, type OpenLink, WorkerDriver } from "./worker-driver.js";

/** An attempt that has a place. */
export interface LiveAttempt {
  readonly uid: string;
  readonly job: JobRecord;
  readonly taskIndex: number;
  readonly number: number;
  readonly worker: string;
  /** Number of the last report that was taken. */
  seq: number;
  /** What its processes were seen to hold, in bytes. */
  memoryBytes: number;
}

interface WorkersOptions {
  readonly epoch: number;
  readonly times: DriverTimes & { readonly graceMs: number };
  readonly clock: Clock;
  readonly controller: Controller;
}

/** The workers of a controller, and the attempts that have a place on them. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #drivers = new Map<string, WorkerDriver>();
  readonly #attempts = new Map<string, LiveAttempt>();
  /** Workers that an earlier controller knew, and that have not come yet: what gives them up. */
  readonly #awaited = new Map<string, NodeJS.Timeout>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** The attempt, while it has a place. */
  attempt(uid: string): LiveAttempt | undefined {
    return this.#attempts.get(uid);
  }

  /** Number of the last report of an attempt that was taken. */
  seqOf(uid: string): number {
    return this.#attempts.get(uid)?.seq ?? 0;
  }

  /** The way to the worker of an attempt. */
  linkOf(attempt: LiveAttempt): WorkerLink | undefined {
    return this.#drivers.get(attempt.worker)?.link;
  }

  /** Takes a worker, or a new way to one that is known. */
  add(link: WorkerLink, open?: OpenLink): void {
    const { name } = link.info;
    let driver = this.#drivers.get(name);
    if (driver === undefined) {
      const { epoch, times, clock, controller } = this.#options;
      driver = new WorkerDriver(
        link.info,
        {
          epoch,
          takeReports: (_, reports) => controller.takeReports(reports),
          observed: (_, observed) => this.#observed(observed),
          reachabilityChanged: (worker) => this.#reachabilityChanged(worker),
          givenUp: (worker, silentMs) => this.#givenUp(worker, silentMs),
        },
        times,
        clock,
      );
      this.#drivers.set(name, driver);
      this.#wantAll(driver);
    }
    clearTimeout(this.#awaited.get(name));
    this.#awaited.delete(name);
    driver.attach(link);
    if (open !== undefined) driver.keepOpen(open);
    controllerWants(this.#options.controller);
  }

  /** Gives an attempt its place. */
  place(job: JobRecord, attempt: AttemptModel): LiveAttempt {
    const { uid, taskIndex, number, worker } = attempt;
    const live: LiveAttempt = { uid, job, taskIndex, number, worker, seq: 0, memoryBytes: 0 };
    this.#attempts.set(uid, live);
    return live;
  }

  /** Orders an attempt that is stored. */
  launch(live: LiveAttempt): void {
    // It may have ended in the same turn.
    if (this.#attempts.get(live.uid) === live) this.#drivers.get(live.worker)?.want(live.uid, orderOf(live), live.seq);
  }

  /** Has an attempt stopped. */
  stop(uid: string, failure: WireFailure, graceMs: number): void {
    const live = this.#attempts.get(uid);
    if (live !== undefined) this.#drivers.get(live.worker)?.stop(uid, failure, graceMs);
  }

  /** The attempt has ended: its place is free. */
  free(uid: string): void {
    this.#attempts.delete(uid);
  }

  /** The worker may forget an attempt whose end is stored. */
  drop({ uid, worker }: AttemptModel): void {
    this.#drivers.get(worker)?.drop(uid);
  }

  /**
   * Takes over an attempt of an earlier controller.
   *
   * @param giveUp - whether its worker is given up when it does not come
   */
  restore(job: JobRecord, attempt: AttemptModel, seq: number, giveUp: boolean): void {
    const live = this.place(job, attempt);
    // Once it runs, all that comes before its last line has been taken, too; before that, its start may have been lost.
    live.seq = attempt.state === "RUNNING" ? Math.max(seq, job.log.lastSeq(attempt.uid)) : seq;
    const { worker } = attempt;
    if (!giveUp || this.#awaited.has(worker)) return;
    const { workerTimeoutMs } = this.#options.times;
    this.#awaited.set(
      worker,
      setTimeout(() => this.#givenUp(worker, workerTimeoutMs), workerTimeoutMs).unref(),
    );
  }

  /** The workers, for the scheduler. */
  forScheduling(): SchedulingWorker[] {
    return [...this.#drivers.values()].map(({ name, info, reachable }) => ({ name, capacity: info.capacity, attributes: info.attributes, taints: info.taints, accepting: reachable }));
  }

  /** What holds room, for the scheduler. */
  placed(): PlacedAttempt[] {
    return [...this.#attempts.values()].flatMap(({ uid, job, taskIndex }) => {
      const { model } = job;
      const attempt = model.tasks[taskIndex]?.current;
      if (attempt?.uid !== uid) return [];
      const { band, worker, assignedAt, state, stop } = attempt;
      const { resources, band: declaredBand, gang } = model.spec;
      return [{ attemptUid: uid, jobUid: model.uid, jobId: model.id, taskIndex, user: model.user, declaredBand, band, worker, resources, gang, assignedAt, running: state === "RUNNING", stopping: stop !== undefined }];
    });
  }

  /** The workers, for people. */
  status(): WorkerStatus[] {
    const { clock } = this.#options;
    return [...this.#drivers.values()].map(({ name, info, reachable, silentMs }) => {
      const attempts = [...this.#attempts.values()].filter(({ worker }) => worker === name);
      return {
        name,
        state: reachable ? "reachable" : "unreachable",
        lastHeardAt: isoTime(clock.now() - silentMs),
        capacity: info.capacity,
        used: sum(attempts.map(({ job }) => job.model.spec.resources)),
        attributes: info.attributes,
        attempts: attempts.map(({ uid, job, taskIndex, memoryBytes }) => ({ attemptUid: uid, job: job.id, taskIndex, memoryBytes })),
      };
    });
  }

  async close(shutdown: boolean): Promise<void> {
    for (const timer of this.#awaited.values()) clearTimeout(timer);
    await Promise.all([...this.#drivers.values()].map((driver) => driver.close(shutdown)));
  }

  /** Tells a driver what its worker is to have already. */
  #wantAll(driver: WorkerDriver): void {
    for (const live of this.#attempts.values()) {
      if (live.worker !== driver.name) continue;
      const attempt = live.job.model.tasks[live.taskIndex]?.current;
      if (attempt?.uid !== live.uid) continue;
      driver.want(live.uid, attempt.state === "ASSIGNED" && attempt.stop === undefined ? orderOf(live) : undefined, live.seq);
      if (attempt.stop !== undefined) driver.stop(live.uid, failureToWire(causeError(live.job.id, attempt.stop, undefined)), this.#options.times.graceMs);
    }
  }

  #observed({ attempts }: Observed): void {
    const { controller } = this.#options;
    for (const { attemptUid, state, memoryBytes } of attempts) {
      const live = this.#attempts.get(attemptUid);
      if (live === undefined) continue;
      live.memoryBytes = memoryBytes;
      if (state !== "missing") {
        if (state !== "ended") controller.endpoints.renewAll(attemptUid);
        continue;
      }
      const { worker, job } = live;
      void controller.turns
        .run(() => controller.apply(job, { type: "ended", attemptUid, outcome: { kind: "failed", cause: { kind: "node-lost", worker, message: "the worker no longer knows it" } } }))
        .catch(() => undefined);
    }
  }

  #reachabilityChanged(name: string): void {
    const { controller, times } = this.#options;
    const reachable = this.#drivers.get(name)?.reachable ?? false;
    void controller.turns
      .run(() => {
        controllerWants(controller);
        for (const { job, worker, taskIndex, number } of this.#attempts.values()) {
          if (worker !== name || controller.closing) continue;
          const message = reachable ? `The worker ${name} can be reached again.` : `The worker ${name} cannot be reached: its tasks go on, and are given up only after ${String(times.workerTimeoutMs)} ms of silence.`;
          controller.say(job, reachable ? "info" : "warn", message, { taskIndex, attempt: number });
        }
      })
      .catch(() => undefined);
  }

  #givenUp(name: string, silentMs: number): void {
    const { controller } = this.#options;
    this.#awaited.delete(name);
    const message = `it was silent for ${String(Math.round(silentMs))} ms`;
    void controller.turns
      .run(() => {
        const jobs = new Set([...this.#attempts.values()].filter(({ worker }) => worker === name).map(({ job }) => job));
        for (const job of jobs) controller.apply(job, { type: "workerLost", worker: name, message });
        controllerWants(controller);
      })
      .catch(() => undefined);
  }
}

function controllerWants(controller: Controller): void {
  controller.wantPlacement();
  controller.turns.wake();
}

function orderOf({ job, taskIndex, number }: LiveAttempt): AttemptOrder {
  const { id, uid, spec } = job.model;
  const { entry, command, env, resources, ports, replicas, timeoutMs, isolation, bundle, setup } = spec;
  return {
    jobId: id,
    jobUid: uid,
    taskIndex,
    numTasks: replicas,
    attempt: number,
    work: entry === undefined ? { kind: "command", argv: command ?? [] } : { kind: "entry", module: entry.module, export: entry.export, args: job.args },
    env,
    resources,
    ports,
    isolation,
    setup: [...setup],
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(bundle === undefined || bundle === null ? {} : { bundle }),
  };
}

function sum(all: readonly Resources[]): Resources {
  let cpuThousandths = 0;
  let [memoryBytes, diskBytes, devices] = [0, 0, 0];
  let device: Resources["device"];
  for (const resources of all) {
    cpuThousandths += Math.round(resources.cpu * 1000);
    memoryBytes += resources.memoryBytes;
    diskBytes += resources.diskBytes;
    devices += resources.device?.count ?? 0;
    device ??= resources.device;
  }
  return { cpu: cpuThousandths / 1000, memoryBytes, diskBytes, ...(device === undefined ? {} : { device: { kind: device.kind, count: devices } }) };
}
