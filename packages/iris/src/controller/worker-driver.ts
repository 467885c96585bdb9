import { setMaxListeners } from "node:events";
import { type Clock, MarinError, isMarinError } from "../platform.js";
import type { WireFailure } from "../runtime/failure.js";
import type { WorkerLink } from "../worker/link.js";
import type { AttemptOrder, DesiredAttempt, Observed, Report, WorkerInfo } from "../worker/protocol.js";

/** Who a {@link WorkerDriver} tells what its worker says. */
export interface DriverHost {
  /** Starts of the controller so far. */
  readonly epoch: number;
  /** Takes reports; resolves when they are stored. */
  takeReports(worker: string, reports: readonly Report[]): Promise<void>;
  /** What the worker has, as it said just now. */
  observed(worker: string, observed: Observed): void;
  /** The worker can be reached again, or no longer. */
  reachabilityChanged(worker: string): void;
  /** The worker was silent for too long. */
  givenUp(worker: string, silentMs: number): void;
}

/** Times of a {@link WorkerDriver}, in milliseconds. */
export interface DriverTimes {
  /** Between two reconciliations when nothing changes. */
  readonly reconcileMs: number;
  /** Silence after which the worker is given up, with all that ran on it. */
  readonly workerTimeoutMs: number;
}

/** Opens the way to a worker; asked again whenever the way is lost. Undefined for workers that come by themselves. */
export type OpenLink = (signal: AbortSignal) => Promise<WorkerLink>;

interface Desired {
  order: AttemptOrder | undefined;
  acknowledged: number;
  stop: DesiredAttempt["stop"];
}

const firstRetryMs = 100;
const longestRetryMs = 5_000;
const answerTimeoutMs = 30_000;

/** Bytes of arguments from which on a message takes no further orders: with one of the largest that a job may have it must still be one. */
const orderBytes = 16 * 2 ** 20;

/**
 * Keeps one worker told of all that it is to run, and takes what it reports, over any number of connections. That it cannot be reached changes nothing
 * but that it gets no new work; what runs on it is lost only when it was silent for `workerTimeoutMs`.
 */
export class WorkerDriver {
  readonly name: string;
  readonly #host: DriverHost;
  readonly #times: DriverTimes;
  readonly #clock: Clock;
  readonly #desired = new Map<string, Desired>();
  readonly #end = new AbortController();
  #info: WorkerInfo;
  #link: WorkerLink | undefined;
  #lastHeard: number;
  #givenUp = false;
  #changed = false;
  #wake: (() => void) | undefined;
  #opened: Promise<void> = Promise.resolve();

  /**
   * @param info - what the worker said about itself
   * @param clock - its sleeps should not keep the process alive
   */
  constructor(info: WorkerInfo, host: DriverHost, times: DriverTimes, clock: Clock) {
    this.name = info.name;
    this.#info = info;
    this.#host = host;
    this.#times = times;
    this.#clock = clock;
    this.#lastHeard = clock.monotonic();
    // Readings of lost connections may still be ending.
    setMaxListeners(0, this.#end.signal);
    void this.#watch();
  }

  get info(): WorkerInfo {
    return this.#info;
  }

  get reachable(): boolean {
    return this.#link !== undefined;
  }

  /** Milliseconds since it was heard last. */
  get silentMs(): number {
    return this.#clock.monotonic() - this.#lastHeard;
  }

  /** Takes a way to the worker, in place of an earlier one. */
  attach(link: WorkerLink): void {
    if (this.#end.signal.aborted) return;
    this.#link = link;
    this.#info = link.info;
    this.#heard();
    this.#host.reachabilityChanged(this.name);
    void this.#serve(link);
  }

  /** Opens the way itself, whenever there is none. */
  keepOpen(open: OpenLink): void {
    this.#opened = this.#open(open);
  }

  /** Wants an attempt. With no order: one that the worker knows already. */
  want(attemptUid: string, order: AttemptOrder | undefined, acknowledged: number): void {
    this.#desired.set(attemptUid, { order, acknowledged, stop: undefined });
    this.#poke();
  }

  /** Wants an attempt to end. */
  stop(attemptUid: string, failure: WireFailure, graceMs: number): void {
    const desired = this.#desired.get(attemptUid);
    if (desired === undefined) return;
    desired.stop = { failure, graceMs };
    this.#poke();
  }

  /** Wants an attempt no longer: its end is stored, or it is given up. */
  drop(attemptUid: string): void {
    if (this.#desired.delete(attemptUid)) this.#poke();
  }

  /** Reports up to that one are stored. */
  acknowledge(attemptUid: string, seq: number): void {
    const desired = this.#desired.get(attemptUid);
    if (desired !== undefined) desired.acknowledged = Math.max(desired.acknowledged, seq);
  }

  /**
   * Runs a command beside an attempt.
   *
   * @throws MarinError IRIS_WORKER_UNREACHABLE
   */
  get link(): WorkerLink {
    if (this.#link === undefined) throw new MarinError("IRIS_WORKER_UNREACHABLE", `The worker ${this.name} cannot be reached now.`, { data: { worker: this.name } });
    return this.#link;
  }

  /**
   * Lets go of the worker.
   *
   * @param shutdown - whether the worker is to stop what it runs and end
   */
  async close(shutdown: boolean): Promise<void> {
    const link = this.#link;
    this.#end.abort(new MarinError("IRIS_CLOSED", "The controller is closed."));
    this.#wake?.();
    if (shutdown) await link?.shutdown(this.#host.epoch).catch(() => undefined);
    await this.#opened;
  }

  #poke(): void {
    this.#changed = true;
    this.#wake?.();
  }

  #heard(): void {
    this.#lastHeard = this.#clock.monotonic();
    this.#givenUp = false;
  }

  async #serve(link: WorkerLink): Promise<void> {
    const current = (): boolean => this.#link === link && !this.#end.signal.aborted;
    let reading: Promise<void> | undefined;
    void link.closed.then(() => this.#lose(link));
    try {
      while (current()) {
        this.#changed = false;
        await this.#reconcile(link);
        if (!current()) break;
        reading ??= this.#read(link, current).catch(() => this.#lose(link));
        if (!this.#changed) await this.#nextTurn();
      }
    } catch {
      // Unreachable is not dead: the next connection goes on where this one ended.
    }
    this.#lose(link);
    await reading;
  }

  async #reconcile(link: WorkerLink): Promise<void> {
    const ordered: string[] = [];
    let bytes = 0;
    const desired = [...this.#desired].flatMap(([attemptUid, { order, acknowledged, stop }]): DesiredAttempt[] => {
      if (order !== undefined) {
        // The next message has the rest. What was in one is in all later ones, whose answers may be lost: what stands before it only gets less.
        if (bytes > orderBytes) {
          this.#changed = true;
          return [];
        }
        bytes += order.work.kind === "entry" ? order.work.args.byteLength : 0;
        ordered.push(attemptUid);
      }
      return [{ attemptUid, acknowledged, ...(order === undefined ? {} : { order }), ...(stop === undefined ? {} : { stop }) }];
    });
    const timeout = new AbortController();
    const late = this.#clock.sleep(answerTimeoutMs, timeout.signal).then(
      () => Promise.reject(new MarinError("IRIS_WORKER_UNREACHABLE", `The worker ${this.name} does not answer.`, { data: { worker: this.name } })),
      () => new Promise<never>(() => undefined),
    );
    try {
      const observed = await Promise.race([link.reconcile({ epoch: this.#host.epoch, desired }), late]);
      this.#heard();
      // It has them now: an order that it had lost again would be one that it has run.
      for (const uid of ordered) {
        const entry = this.#desired.get(uid);
        if (entry !== undefined) entry.order = undefined;
      }
      this.#host.observed(this.name, observed);
    } finally {
      timeout.abort();
    }
  }

  async #read(link: WorkerLink, current: () => boolean): Promise<void> {
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    this.#end.signal.addEventListener("abort", abort, { once: true });
    try {
      for await (const reports of link.reports(this.#host.epoch, stop.signal)) {
        if (!current()) return;
        this.#heard();
        await this.#host.takeReports(this.name, reports);
        for (const { attemptUid, seq } of reports) this.acknowledge(attemptUid, seq);
      }
    } finally {
      this.#end.signal.removeEventListener("abort", abort);
      stop.abort();
    }
    // The stream has no end of its own.
    this.#lose(link);
  }

  #lose(link: WorkerLink): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#wake?.();
    this.#host.reachabilityChanged(this.name);
  }

  /** Resolves when there is something to tell, or it is time to ask. */
  async #nextTurn(): Promise<void> {
    const wake = new AbortController();
    this.#wake = () => wake.abort();
    await this.#clock.sleep(this.#times.reconcileMs, wake.signal).catch(() => undefined);
    this.#wake = undefined;
  }

  /** Gives the worker up when it is silent for too long. */
  async #watch(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const left = this.#times.workerTimeoutMs - this.silentMs;
      if (left <= 0 && this.#link === undefined && !this.#givenUp) {
        this.#givenUp = true;
        this.#host.givenUp(this.name, this.silentMs);
      }
      await this.#clock.sleep(left > 0 ? left : this.#times.workerTimeoutMs, signal).catch(() => undefined);
    }
  }

  async #open(open: OpenLink): Promise<void> {
    const { signal } = this.#end;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      try {
        const link = this.#link ?? (await open(signal));
        if (signal.aborted) return;
        if (this.#link === undefined) this.attach(link);
        const opened = this.#clock.monotonic();
        await Promise.race([link.closed, new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })), this.#lostOf(link)]);
        if (this.#clock.monotonic() - opened > longestRetryMs) retryMs = firstRetryMs;
      } catch (error) {
        if (isMarinError(error, "IRIS_STALE_CONTROLLER")) return;
      }
      await this.#clock.sleep(retryMs, signal).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    }
  }

  /** Resolves when the link is used no longer. */
  async #lostOf(link: WorkerLink): Promise<void> {
    while (this.#link === link && !this.#end.signal.aborted) await this.#clock.sleep(longestRetryMs, this.#end.signal).catch(() => undefined);
  }
}
