import { serialize } from "node:v8";
import { MarinError } from "../platform.js";
import type { Resources } from "../jobs/job-spec.js";
import type { WorkerLink } from "../worker/link.js";
import type { AttemptOrder, AttemptOutcome, Observed, ReconcileRequest, Report, WorkerInfo } from "../worker/protocol.js";

/** An attempt on a simulated worker. */
interface SimulatedAttempt {
  readonly uid: string;
  readonly order: AttemptOrder;
  readonly journal: Report[];
  acknowledged: number;
  ended: boolean;
  stopping: boolean;
}

/** A report without what the worker adds. */
type Told = { readonly [K in Report["type"]]: Omit<Extract<Report, { readonly type: K }>, "attemptUid" | "seq" | "time"> }[Report["type"]];

/** What an attempt does, step by step: an entry of this list for each {@link SimulatedWorker.step}. */
export type Script = (order: AttemptOrder, attemptUid: string) => readonly Told[];

/** The usual course of an attempt. */
export const succeeds: Script = () => [{ type: "building" }, { type: "started", pid: 1, ports: {} }, ended({ kind: "returned", value: serialize(undefined) })];

/** The end of an attempt. */
export function ended(outcome: AttemptOutcome): Told {
  return { type: "ended", outcome, peakMemoryBytes: 0 };
}

/**
 * A worker that keeps the worker protocol and runs nothing: attempts go on by {@link step}. It lives on when its connections and its controllers do not.
 */
export class SimulatedWorker {
  readonly info: WorkerInfo;
  /** Every order that was started, over all controllers. */
  readonly started: { readonly attemptUid: string; readonly order: AttemptOrder }[] = [];
  readonly #script: Script;
  readonly #attempts = new Map<string, SimulatedAttempt>();
  readonly #plans = new Map<string, Told[]>();
  #epoch = 0;
  #wake: (() => void)[] = [];
  #links = new Set<() => void>();
  /** Whether it answers at present. */
  reachable = true;

  constructor(name: string, capacity: Resources, script: Script = succeeds) {
    this.info = { name, incarnation: name, pid: 1, capacity, attributes: {}, taints: [] };
    this.#script = script;
  }

  /** Attempts that have not ended. */
  get running(): number {
    return [...this.#attempts.values()].filter(({ ended: over }) => !over).length;
  }

  /** Takes each attempt, or one, a step further. */
  step(attemptUid?: string): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.ended || (attemptUid !== undefined && attempt.uid !== attemptUid)) continue;
      const next = attempt.stopping ? ended({ kind: "stopped" }) : this.#plans.get(attempt.uid)?.shift();
      if (next !== undefined) this.#tell(attempt, next);
    }
    this.#notify();
  }

  /**
   * Each attempt that has not ended reports something.
   *
   * @param told - what
   */
  tell(told: Told): void {
    for (const attempt of this.#attempts.values()) if (!attempt.ended) this.#tell(attempt, told);
    this.#notify();
  }

  /** Breaks all connections: what was on its way is lost. */
  disconnect(): void {
    for (const close of this.#links) close();
    this.#links.clear();
  }

  /** Forgets everything, as if its disk were gone: attempts are not told of any more. */
  forget(): void {
    this.#attempts.clear();
    this.#plans.clear();
  }

  /** A new way to it. */
  link(): WorkerLink {
    if (!this.reachable) throw new MarinError("DUCKY_CLOSED", "simulated: not reachable");
    let close = (): void => undefined;
    let open = true;
    const closed = new Promise<void>((resolve) => (close = resolve));
    this.#links.add(() => {
      open = false;
      close();
      this.#notify();
    });
    const check = (): void => {
      if (!open || !this.reachable) throw new MarinError("DUCKY_CLOSED", "simulated: connection lost");
    };
    return {
      info: this.info,
      closed,
      reconcile: async (request) => {
        check();
        return this.#reconcile(request);
      },
      reports: (epoch, signal) => this.#reports(epoch, signal, check),
      exec: () => {
        throw new MarinError("IRIS_NO_ATTEMPT", "simulated");
      },
      shutdown: async () => undefined,
    };
  }

  #reconcile({ epoch, desired }: ReconcileRequest): Observed {
    if (epoch < this.#epoch) throw new MarinError("IRIS_STALE_CONTROLLER", "simulated: a later controller has spoken");
    this.#epoch = epoch;
    const wanted = new Set(desired.map(({ attemptUid }) => attemptUid));
    for (const uid of this.#attempts.keys()) {
      if (wanted.has(uid)) continue;
      this.#attempts.delete(uid);
      this.#plans.delete(uid);
    }
    const attempts = desired.map(({ attemptUid, acknowledged, order, stop }): Observed["attempts"][number] => {
      let attempt = this.#attempts.get(attemptUid);
      if (attempt === undefined && order === undefined) return { attemptUid, state: "missing", lastSeq: 0, memoryBytes: 0 };
      if (attempt === undefined && order !== undefined) {
        attempt = { uid: attemptUid, order, journal: [], acknowledged, ended: false, stopping: false };
        this.#attempts.set(attemptUid, attempt);
        this.#plans.set(attemptUid, [...this.#script(order, attemptUid)]);
        this.started.push({ attemptUid, order });
      }
      const known = attempt as SimulatedAttempt;
      known.acknowledged = Math.max(known.acknowledged, acknowledged);
      if (stop !== undefined) known.stopping = true;
      return { attemptUid, state: known.ended ? "ended" : known.stopping ? "stopping" : known.journal.length > 1 ? "running" : "starting", lastSeq: known.journal.length, memoryBytes: 0 };
    });
    this.#notify();
    return { incarnation: this.info.incarnation, attempts };
  }

  async *#reports(epoch: number, signal: AbortSignal, check: () => void): AsyncGenerator<readonly Report[], void, void> {
    const sent = new Map<string, number>();
    signal.addEventListener("abort", () => this.#notify(), { once: true });
    for (;;) {
      check();
      if (signal.aborted || epoch < this.#epoch) return;
      const batch: Report[] = [];
      for (const uid of sent.keys()) if (!this.#attempts.has(uid)) sent.delete(uid);
      for (const { uid, journal, acknowledged } of this.#attempts.values()) {
        const from = sent.get(uid) ?? acknowledged;
        batch.push(...journal.slice(from));
        sent.set(uid, journal.length);
      }
      if (batch.length > 0) {
        yield batch;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  #tell(attempt: SimulatedAttempt, told: Told): void {
    attempt.journal.push({ ...told, attemptUid: attempt.uid, seq: attempt.journal.length + 1, time: Date.now() } as Report);
    if (told.type === "ended") attempt.ended = true;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }
}
