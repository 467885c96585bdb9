import { randomUUID } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import type { IrisApi } from "../src/client/iris-api.js";
import { MarinError } from "../src/platform.js";
import { failureToWire } from "../src/runtime/failure.js";
import type { WorkerLink } from "../src/worker/link.js";
import type { AttemptOrder, DesiredAttempt, Observed, Report } from "../src/worker/protocol.js";
import type * as tasks from "./fixtures/tasks.js";

export const tasksModule = new URL("./fixtures/tasks.ts", import.meta.url).href;

/** A controller that has nothing to tell: every question fails. */
export const noApi: IrisApi = new Proxy({} as IrisApi, {
  get: (_target, method) => () => {
    throw new MarinError("IRIS_NO_CONTROLLER", `this test answers no ${String(method)}`);
  },
});

export type Ended = Extract<Report, { readonly type: "ended" }>;

/** An order of a function of the fixtures. */
export function orderOf<K extends keyof typeof tasks>(name: K, args: readonly unknown[] = [], more: Partial<AttemptOrder> = {}): AttemptOrder {
  return order({ kind: "entry", module: tasksModule, export: name, args: serialize(args) }, more);
}

export function order(work: AttemptOrder["work"], more: Partial<AttemptOrder> = {}): AttemptOrder {
  return { jobId: "/job", jobUid: "job", taskIndex: 0, numTasks: 1, attempt: 0, work, setup: [], env: {}, resources: { cpu: 0, memoryBytes: 0, diskBytes: 0 }, ports: [], isolation: "fresh", ...more };
}

/** What a controller does with one worker: wants attempts, stores what it hears, acknowledges it. */
export class Desk implements AsyncDisposable {
  readonly link: WorkerLink;
  readonly epoch: number;
  /** All reports of each attempt. */
  readonly reports: Map<string, Report[]>;
  /** Reports that came again. */
  repeated = 0;
  readonly #desired = new Map<string, DesiredAttempt>();
  readonly #reading = new AbortController();
  #wake: (() => void)[] = [];
  #following: Promise<void> | undefined;

  constructor(link: WorkerLink, epoch = 1, reports = new Map<string, Report[]>()) {
    this.link = link;
    this.epoch = epoch;
    this.reports = reports;
  }

  /** Orders an attempt; gives its uid. */
  async order(what: AttemptOrder, uid: string = randomUUID()): Promise<string> {
    this.#desired.set(uid, { attemptUid: uid, acknowledged: 0, order: what });
    await this.reconcile();
    return uid;
  }

  /** Wants an attempt that the worker has already. */
  want(uid: string): void {
    this.#desired.set(uid, { attemptUid: uid, acknowledged: 0 });
  }

  async stop(uid: string, graceMs: number, reason = "enough"): Promise<void> {
    const wanted = this.#desired.get(uid) ?? { attemptUid: uid, acknowledged: 0 };
    this.#desired.set(uid, { ...wanted, stop: { failure: failureToWire(new MarinError("IRIS_CANCELLED", reason)), graceMs } });
    await this.reconcile();
  }

  async drop(uid: string): Promise<Observed> {
    this.#desired.delete(uid);
    return this.reconcile();
  }

  async reconcile(): Promise<Observed> {
    const desired = [...this.#desired.values()].map((each) => ({ ...each, acknowledged: this.reports.get(each.attemptUid)?.at(-1)?.seq ?? 0 }));
    const observed = await this.link.reconcile({ epoch: this.epoch, desired });
    for (const { attemptUid, state } of observed.attempts) {
      const wanted = this.#desired.get(attemptUid);
      if (wanted === undefined || state === "missing") continue;
      const { order: _, ...known } = wanted;
      this.#desired.set(attemptUid, known);
    }
    this.#following ??= this.#follow();
    return observed;
  }

  /** Waits for the end of an attempt. */
  async ended(uid: string): Promise<Ended> {
    return (await this.until(uid, (report) => report.type === "ended")) as Ended;
  }

  /** Waits for a report. */
  async until(uid: string, wanted: (report: Report) => boolean): Promise<Report> {
    for (;;) {
      const found = this.reports.get(uid)?.find(wanted);
      if (found !== undefined) return found;
      const last = this.reports.get(uid)?.at(-1);
      if (last?.type === "ended") throw new Error(`the attempt ended: ${JSON.stringify(last)}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async line(uid: string, message: string): Promise<Extract<Report, { readonly type: "log" }>> {
    return (await this.until(uid, (report) => report.type === "log" && report.message === message)) as Extract<Report, { readonly type: "log" }>;
  }

  lines(uid: string): string[] {
    return (this.reports.get(uid) ?? []).flatMap((report) => (report.type === "log" ? [report.message] : []));
  }

  /** Runs an attempt to its end. */
  async run(what: AttemptOrder): Promise<Ended> {
    return this.ended(await this.order(what));
  }

  /** Leaves: what it has not heard another one hears. */
  async leave(): Promise<void> {
    this.#reading.abort(new Error("left"));
    await this.#following;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
  }

  async #follow(): Promise<void> {
    try {
      for await (const batch of this.link.reports(this.epoch, this.#reading.signal)) {
        for (const report of batch) this.#store(report);
        const wake = this.#wake;
        this.#wake = [];
        for (const each of wake) each();
      }
    } catch (error) {
      if (!this.#reading.signal.aborted) throw error;
    }
  }

  #store(report: Report): void {
    const known = this.reports.get(report.attemptUid) ?? [];
    this.reports.set(report.attemptUid, known);
    const last = known.at(-1)?.seq ?? 0;
    if (report.seq <= last) this.repeated += 1;
    else if (report.seq === last + 1) known.push(report);
    else throw new Error(`report ${String(report.seq)} of ${report.attemptUid} follows ${String(last)}`);
  }
}

/** What the function returned. */
export function valueOf({ outcome }: Ended): unknown {
  if (outcome.kind !== "returned") throw new Error(`it did not return: ${JSON.stringify(outcome)}`);
  return deserialize(outcome.value);
}
