import { MarinError } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import type { WorkerLink } from "../worker/link.js";
import type { AttemptOrder, DesiredAttempt, Report } from "../worker/protocol.js";
import type { ClusterBackend, ClusterLine, ClusterLines, ClusterSubmission, ClusterTask } from "./backend.js";

type Ended = Extract<Report, { readonly type: "ended" }>;

/** One task of a submission, as it was heard of. */
interface Task {
  readonly uid: string;
  readonly order: AttemptOrder;
  readonly lines: ClusterLine[];
  lastSeq: number;
  known: boolean;
  running: boolean;
  ended: Ended | undefined;
  stop: DesiredAttempt["stop"];
}

interface Submission {
  readonly submission: ClusterSubmission;
  readonly tasks: readonly Task[];
  readonly unschedulable: string | undefined;
}

/** One worker as a cluster. What it was asked for lives in memory: who comes back after a restart submits the same keys again. */
export class WorkerBackend implements ClusterBackend {
  readonly name: string;
  readonly #worker: WorkerLink;
  readonly #epoch: number;
  readonly #submissions = new Map<string, Submission>();
  readonly #tasks = new Map<string, Task>();
  readonly #closing = new AbortController();
  #reading: Promise<void> | undefined;

  /**
   * @param worker - the way to it
   * @param epoch - larger than that of whoever used the worker before
   */
  constructor(worker: WorkerLink, epoch: number) {
    this.name = worker.info.name;
    this.#worker = worker;
    this.#epoch = epoch;
  }

  async submit(submission: ClusterSubmission): Promise<void> {
    if (!this.#submissions.has(submission.key)) this.#take(submission);
    await this.#reconcile();
  }

  async status(keys: readonly string[]): Promise<ReadonlyMap<string, readonly ClusterTask[]>> {
    await this.#reconcile();
    const found = keys.flatMap((key): [string, ClusterTask[]][] => {
      const submission = this.#submissions.get(key);
      return submission === undefined ? [] : [[key, submission.tasks.map((task) => stateOf(task, submission))]];
    });
    return new Map(found);
  }

  async cancel(key: string, graceMs: number): Promise<void> {
    this.#stop(key, graceMs, "The submission was cancelled.");
    await this.#reconcile();
  }

  async logs(key: string, taskIndex: number, offset: number): Promise<ClusterLines> {
    const submission = this.#submissions.get(key);
    const task = submission?.tasks[taskIndex];
    if (submission === undefined || task === undefined) {
      throw new MarinError("IRIS_NO_SUBMISSION", `The cluster ${this.name} knows no task ${String(taskIndex)} of a submission "${key}".`, { data: { key, taskIndex } });
    }
    const lines = task.lines.slice(offset);
    return { lines, next: offset + lines.length, end: task.ended !== undefined || submission.unschedulable !== undefined };
  }

  async forget(key: string): Promise<void> {
    for (const { uid } of this.#submissions.get(key)?.tasks ?? []) this.#tasks.delete(uid);
    this.#submissions.delete(key);
    await this.#reconcile();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new MarinError("IRIS_CLOSED", `The cluster ${this.name} is closed.`));
    await this.#reading;
  }

  #take(submission: ClusterSubmission): void {
    const unschedulable = this.#shortage(submission);
    const { jobId, jobUid, tasks: count, attempt, work, setup, env, resources, ports, timeoutMs } = submission;
    const tasks = Array.from({ length: count }, (_, taskIndex): Task => {
      const order: AttemptOrder = {
        jobId,
        jobUid,
        taskIndex,
        numTasks: count,
        attempt,
        work,
        setup: [...setup],
        env: { ...env },
        resources,
        ports: [...ports],
        isolation: "fresh",
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      };
      return { uid: `${submission.key}-${String(taskIndex)}`, order, lines: [], lastSeq: 0, known: false, running: false, ended: undefined, stop: undefined };
    });
    this.#submissions.set(submission.key, { submission, tasks, unschedulable });
    if (unschedulable === undefined) for (const task of tasks) this.#tasks.set(task.uid, task);
  }

  /** Why the worker could never run it: of a gang, all tasks at once. */
  #shortage({ resources, tasks, gang }: ClusterSubmission): string | undefined {
    const { capacity, name } = this.#worker.info;
    const factor = gang ? tasks : 1;
    for (const dimension of ["cpu", "memoryBytes", "diskBytes"] as const) {
      const asked = resources[dimension] * factor;
      if (asked > capacity[dimension]) return `${dimension}: ${String(asked)} are asked for, and ${name} has ${String(capacity[dimension])}`;
    }
    const devices = (resources.device?.count ?? 0) * factor;
    const has = capacity.device?.kind === resources.device?.kind ? (capacity.device?.count ?? 0) : 0;
    return devices > has ? `device: ${String(devices)} are asked for, and ${name} has ${String(has)}` : undefined;
  }

  #stop(key: string, graceMs: number, message: string): void {
    const stop = { failure: failureToWire(new MarinError("IRIS_CANCELLED", message)), graceMs };
    for (const task of this.#submissions.get(key)?.tasks ?? []) if (task.ended === undefined) task.stop ??= stop;
  }

  async #reconcile(): Promise<void> {
    const desired = [...this.#tasks.values()].map(({ uid, lastSeq, known, order, stop }) => ({
      attemptUid: uid,
      acknowledged: lastSeq,
      ...(known ? {} : { order }),
      ...(stop === undefined ? {} : { stop }),
    }));
    const { attempts } = await this.#worker.reconcile({ epoch: this.#epoch, desired });
    for (const { attemptUid, state } of attempts) {
      const task = this.#tasks.get(attemptUid);
      if (task === undefined) continue;
      if (state !== "missing") task.known = true;
      else if (task.known) task.ended ??= lost(task, this.name);
    }
    // Where it breaks, the next question begins it anew.
    this.#reading ??= this.#read()
      .catch(() => undefined)
      .finally(() => (this.#reading = undefined));
  }

  async #read(): Promise<void> {
    for await (const batch of this.#worker.reports(this.#epoch, this.#closing.signal)) for (const report of batch) this.#hear(report);
  }

  #hear(report: Report): void {
    const task = this.#tasks.get(report.attemptUid);
    if (task === undefined || report.seq <= task.lastSeq) return;
    task.lastSeq = report.seq;
    if (report.type === "started") task.running = true;
    if (report.type === "log") task.lines.push({ time: report.time, level: report.level, source: report.source, message: report.message });
    if (report.type !== "ended") return;
    task.ended = report;
    const found = [...this.#submissions].find(([, { tasks }]) => tasks.includes(task));
    if (found === undefined || report.outcome.kind === "returned" || !found[1].submission.gang) return;
    this.#stop(found[0], gangGraceMs, `Task ${String(task.order.taskIndex)} of the gang has ended.`);
    // A worker that cannot be reached hears of it with the next question.
    this.#reconcile().catch(() => undefined);
  }
}

/** From TERM to KILL for the others of a gang of which one has failed. */
const gangGraceMs = 4_000;

function stateOf({ running, ended }: Task, { unschedulable }: Submission): ClusterTask {
  if (unschedulable !== undefined) return { state: "unschedulable", reason: unschedulable };
  if (ended === undefined) return running ? { state: "running" } : { state: "pending", reason: "its process is being started" };
  const { outcome } = ended;
  if (outcome.kind === "returned") return { state: "succeeded", value: outcome.value };
  return outcome.kind === "stopped" ? { state: "cancelled" } : { state: "failed", cause: outcome.cause };
}

function lost({ uid, lastSeq }: Task, worker: string): Ended {
  const cause = { kind: "node-lost" as const, worker, message: `The worker ${worker} no longer knows the task.` };
  return { attemptUid: uid, seq: lastSeq + 1, time: 0, type: "ended", outcome: { kind: "failed", cause }, peakMemoryBytes: 0 };
}
