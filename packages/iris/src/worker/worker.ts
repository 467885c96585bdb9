import { randomUUID } from "node:crypto";
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { redactor } from "@marin/rigging";
import type { IrisApi } from "../client/iris-api.js";
import { chaosAt } from "../chaos/chaos.js";
import type { Resources } from "../jobs/job-spec.js";
import { MarinError, fileError, makeDirectorySync } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import { Attempt, type AttemptHost } from "./attempt.js";
import { runBeside } from "./exec.js";
import { directoryBytes } from "./disk.js";
import { Journal } from "./journal.js";
import type { WorkerLink } from "./link.js";
import { killMarked, memoryOfGroups, workerVariable } from "./processes.js";
import type { AttemptOrder, DesiredAttempt, ExecEvent, ExecRequest, Observed, ObservedAttempt, ReconcileRequest, Report, WorkerInfo } from "./protocol.js";
import { ReportStream } from "./report-stream.js";
import { type TaskProcess, type TaskProcessOptions, startTaskProcess } from "./task-process.js";
import { WarmPool } from "./warm-pool.js";

/** Settings of a {@link Worker}. */
export interface WorkerOptions {
  /** Its name, kept over restarts. */
  readonly name: string;
  /** What it gives to tasks. */
  readonly capacity: Resources;
  /** What constraints may ask for. Default none. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** What keeps tasks away that do not tolerate it. Default none. */
  readonly taints?: readonly string[];
  /** What an attempt may ask of the controller. */
  readonly api: (attemptUid: string) => IrisApi;
  /** Where attempts are kept: journals, ends, outputs. One process at a time. Default: in memory, without output directories. */
  readonly directory?: string;
  /** Unpacks bundles. Default: jobs with one cannot be set up. */
  readonly bundle?: (digest: string, signal: AbortSignal) => Promise<string>;
  /** Keeps outputs. Default: they stay in the attempt's directory, and go with it. */
  readonly capture?: (attemptUid: string, order: AttemptOrder, directory: string) => Promise<unknown>;
  /** Without a word from a controller for so long it stops its attempts, in milliseconds. Default: never. */
  readonly orphanMs?: number;
  /** Warm processes: how many may wait, how long, and how many are started ahead. Default: as many as processors, a minute, none. */
  readonly warm?: { readonly maxIdle?: number; readonly idleMs?: number; readonly ahead?: number };
  /** Between two looks at what attempts hold, in milliseconds. Default 250. */
  readonly watchMs?: number;
  /** Starts the process of an attempt. Default: a process of Node. */
  readonly startProcess?: (options: TaskProcessOptions) => Promise<TaskProcess>;
}

/** How often what is on disk is looked at, in looks at the memory. */
const looksPerDiskLook = 20;

const minute = 60_000;

/** Runs attempts on this machine, each in a process group, for one controller. In a process of its own, or in the controller's. */
export class Worker implements WorkerLink, AsyncDisposable {
  readonly info: WorkerInfo;
  readonly closed: Promise<void>;
  readonly #options: WorkerOptions;
  readonly #attempts = new Map<string, Attempt | Recovered>();
  readonly #forgotten = new Set<string>();
  readonly #stream = new ReportStream();
  readonly #warm: WarmPool;
  readonly #host: AttemptHost;
  readonly #gpus: number[];
  readonly #closing = new AbortController();
  /** Marks its processes, over its restarts. */
  readonly #uid: string;
  readonly #watch: NodeJS.Timeout;
  #epoch = 0;
  #heardAt = performance.now();
  #looks = 0;
  #resolveClosed: () => void = () => undefined;
  #close: Promise<void> | undefined;

  /**
   * Makes a worker, and takes over what an earlier process has left in the directory: what had ended is told; what ran is lost.
   *
   * @param options - see {@link WorkerOptions}
   * @throws Error of the file system
   */
  constructor(options: WorkerOptions) {
    this.#options = options;
    redactor.addEnvironment(process.env);
    const { name, capacity, attributes = {}, taints = [], directory, warm = {} } = options;
    this.info = { name, incarnation: randomUUID(), pid: process.pid, capacity, attributes, taints: [...taints] };
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    this.#gpus = Array.from({ length: capacity.device?.kind === "gpu" ? capacity.device.count : 0 }, (_, index) => index);
    this.#uid = directory === undefined ? randomUUID() : ownUid(directory);
    this.#warm = new WarmPool({
      maxIdle: warm.maxIdle ?? availableParallelism(),
      idleMs: warm.idleMs ?? minute,
      start: (env, signal) => this.#startProcess({ name: "iris-warm", env, signal, prepare: true }),
    });
    this.#host = this.#makeHost();
    if (directory !== undefined) this.#recover(join(directory, "attempts"));
    if (warm.ahead !== undefined) void this.#warm.prepare({}, warm.ahead, this.#closing.signal).catch(() => undefined);
    this.#watch = setInterval(() => this.#look(), options.watchMs ?? 250);
    this.#watch.unref();
  }

  /** Warm processes that wait for an attempt. */
  get idleProcesses(): number {
    return this.#warm.idle;
  }

  /** Whether all its attempts have ended. */
  get idle(): boolean {
    return [...this.#attempts.values()].every(({ journal }) => journal.ended !== undefined);
  }

  /** Milliseconds since a controller was heard. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  async reconcile({ epoch, desired }: ReconcileRequest): Promise<Observed> {
    await chaosAt("worker.reconcile");
    this.#hear(epoch);
    const missing: ObservedAttempt[] = [];
    const wanted = new Set<string>();
    for (const each of desired) {
      wanted.add(each.attemptUid);
      if (!this.#want(each)) missing.push({ attemptUid: each.attemptUid, state: "missing", lastSeq: 0, memoryBytes: 0 });
    }
    for (const [uid, attempt] of this.#attempts) if (!wanted.has(uid)) this.#forget(uid, attempt);
    const attempts = [...this.#attempts].filter(([uid]) => !this.#forgotten.has(uid)).map(([uid, attempt]) => observe(uid, attempt));
    return { incarnation: this.info.incarnation, attempts: [...attempts, ...missing] };
  }

  reports(epoch: number, signal: AbortSignal): AsyncIterable<readonly Report[]> {
    this.#hear(epoch);
    return this.#stream.read(AbortSignal.any([signal, this.#closing.signal]), this.#options.directory === undefined);
  }

  exec({ attemptUid, argv, timeoutMs }: ExecRequest, signal: AbortSignal): AsyncIterable<ExecEvent> {
    const attempt = this.#attempts.get(attemptUid);
    const setup = attempt instanceof Attempt ? attempt.setup : undefined;
    if (setup === undefined) {
      throw new MarinError("IRIS_NO_ATTEMPT", `The attempt ${attemptUid} does not run on the worker ${this.info.name}.`, { data: { attemptUid, worker: this.info.name } });
    }
    return runBeside(argv, { ...setup.env, ...setup.variables, [workerVariable]: this.#uid }, setup.start.directory, AbortSignal.any([signal, this.#closing.signal]), timeoutMs);
  }

  async shutdown(epoch: number): Promise<void> {
    this.#hear(epoch);
    await this.close();
  }

  /** Stops all attempts by force after their grace, and ends the worker. What has not been told stays in the directory. */
  close(): Promise<void> {
    return (this.#close ??= this.#closeAll());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    clearInterval(this.#watch);
    this.#stopAll(`The worker ${this.info.name} was closed.`, closeGraceMs);
    await Promise.all([...this.#attempts.values()].map(({ ended }) => ended));
    await this.#warm.close();
    await killMarked(workerVariable, this.#uid);
    this.#closing.abort(new MarinError("IRIS_CLOSED", `The worker ${this.info.name} is closed.`));
    for (const { journal } of this.#attempts.values()) journal.close();
    this.#resolveClosed();
  }

  #hear(epoch: number): void {
    if (epoch < this.#epoch) {
      throw new MarinError("IRIS_STALE_CONTROLLER", `The worker ${this.info.name} takes its orders from start ${String(this.#epoch)} of its controller; this is start ${String(epoch)}.`, {
        data: { worker: this.info.name, epoch, latest: this.#epoch },
      });
    }
    if (this.#close !== undefined) throw new MarinError("IRIS_CLOSED", `The worker ${this.info.name} is closed.`, { data: { worker: this.info.name } });
    this.#epoch = epoch;
    this.#heardAt = performance.now();
  }

  /** @returns whether the attempt is here */
  #want({ attemptUid, acknowledged, order, stop }: DesiredAttempt): boolean {
    let attempt = this.#attempts.get(attemptUid);
    if (attempt === undefined) {
      if (order === undefined) return false;
      attempt = this.#begin(attemptUid, order);
    }
    // A controller that had given it up and wants it after all finds it.
    this.#forgotten.delete(attemptUid);
    attempt.journal.acknowledge(acknowledged);
    if (stop !== undefined && attempt instanceof Attempt) attempt.stop({ kind: "stopped" }, stop.failure, stop.graceMs);
    return true;
  }

  #begin(uid: string, order: AttemptOrder): Attempt | Recovered {
    redactor.addEnvironment(order.env);
    const { directory } = this.#options;
    const own = directory === undefined ? undefined : join(directory, "attempts", uid);
    try {
      if (own !== undefined) keepOrder(own, uid, order);
    } catch (error) {
      return this.#refuse(uid, error as Error);
    }
    const journal = new Journal(uid, own, () => this.#stream.changed(journal));
    const attempt = new Attempt(uid, order, journal, own, this.#host);
    this.#attempts.set(uid, attempt);
    return attempt;
  }

  /** An attempt for which there is no place on disk: that is its end, and not that of the controller's way to this worker. */
  #refuse(uid: string, { message }: Error): Recovered {
    const worker = this.info.name;
    const journal: Journal = new Journal(uid, undefined, () => this.#stream.changed(journal));
    journal.end({ outcome: { kind: "failed", cause: { kind: "start-failed", worker, message: `The worker ${worker} has no place for the attempt: ${message}.` } }, peakMemoryBytes: 0 });
    const refused = { journal, ended: Promise.resolve() };
    this.#attempts.set(uid, refused);
    return refused;
  }

  #forget(uid: string, attempt: Attempt | Recovered): void {
    if (attempt.journal.ended !== undefined) return this.#remove(uid, attempt);
    if (this.#forgotten.has(uid)) return;
    this.#forgotten.add(uid);
    const reason = new MarinError("IRIS_CANCELLED", "The attempt is no longer wanted.");
    if (attempt instanceof Attempt) attempt.stop({ kind: "stopped" }, failureToWire(reason), closeGraceMs);
    void attempt.ended.then(() => {
      if (this.#forgotten.has(uid)) this.#remove(uid, attempt);
    });
  }

  #remove(uid: string, attempt: Attempt | Recovered): void {
    this.#attempts.delete(uid);
    this.#forgotten.delete(uid);
    attempt.journal.close();
    this.#stream.remove(attempt.journal);
    const { directory } = this.#options;
    // What stays behind is removed at the next start.
    if (directory !== undefined) void rm(join(directory, "attempts", uid), { recursive: true, force: true }).catch(() => undefined);
  }

  #recover(attempts: string): void {
    makeDirectorySync(attempts, { mode: 0o700 });
    chmodSync(attempts, 0o700);
    for (const uid of readdirSync(attempts)) {
      const own = join(attempts, uid);
      if (!readdirSync(own).includes("order.json")) {
        rmSync(own, { recursive: true, force: true });
        continue;
      }
      const journal: Journal = Journal.recover(uid, own, () => this.#stream.changed(journal));
      const worker = this.info.name;
      journal.end({ outcome: { kind: "failed", cause: { kind: "node-lost", worker, message: `The process of the worker ${worker} ended while the attempt ran.` } }, peakMemoryBytes: 0 });
      this.#stream.changed(journal);
      this.#attempts.set(uid, { journal, ended: Promise.resolve() });
    }
  }

  /** What an earlier process of this worker has left running is ended: call before the first reconcile. */
  async sweep(): Promise<void> {
    await killMarked(workerVariable, this.#uid);
  }

  #look(): void {
    const { orphanMs } = this.#options;
    if (orphanMs !== undefined && this.silentMs > orphanMs) this.#stopAll(`The worker ${this.info.name} has heard no controller for ${String(orphanMs)} ms.`, closeGraceMs);
    const running = [...this.#attempts.values()].filter((attempt) => attempt instanceof Attempt).filter(({ pid }) => pid !== undefined);
    if (running.length === 0) return;
    this.#looks += 1;
    // Without a limit it is for people only, who look less often.
    const limited = running.some(({ order }) => order.resources.memoryBytes > 0);
    if (limited || this.#looks % 8 === 1) {
      const groups = memoryOfGroups();
      for (const attempt of running) attempt.observeMemory(groups.get(attempt.pid ?? 0) ?? 0);
    }
    if (this.#looks % looksPerDiskLook !== 0) return;
    for (const attempt of running) {
      if (attempt.order.resources.diskBytes > 0 && attempt.setup?.outputs !== undefined) void directoryBytes(attempt.setup.outputs).then((bytes) => attempt.observeDisk(bytes));
    }
  }

  #stopAll(message: string, graceMs: number): void {
    const failure = failureToWire(new MarinError("IRIS_WORKER_LOST", message));
    for (const attempt of this.#attempts.values()) {
      if (attempt instanceof Attempt) attempt.stop({ kind: "failed", cause: { kind: "node-lost", worker: this.info.name, message } }, failure, graceMs);
    }
  }

  #startProcess(options: TaskProcessOptions): Promise<TaskProcess> {
    const start = this.#options.startProcess ?? startTaskProcess;
    return start({ ...options, env: { ...options.env, [workerVariable]: this.#uid } });
  }

  #makeHost(): AttemptHost {
    const { name, api, bundle, capture } = this.#options;
    return {
      worker: name,
      api,
      start: ({ numTasks, jobId, taskIndex }, { pooled, env }, signal) =>
        pooled ? this.#warm.take(env, signal) : this.#startProcess({ name: numTasks === 1 ? jobId : `${jobId}[${String(taskIndex)}]`, env, signal, prepare: false }),
      release: ({ env }, taskProcess) => this.#warm.give(env, taskProcess),
      takeGpus: (count) => {
        if (count > this.#gpus.length) throw new MarinError("IRIS_NO_DEVICE", `The worker ${name} has ${String(this.#gpus.length)} graphics processors left, and ${String(count)} are asked for.`);
        return this.#gpus.splice(0, count);
      },
      giveGpus: (gpus) => {
        this.#gpus.push(...gpus);
        this.#gpus.sort((a, b) => a - b);
      },
      bundle: async (digest, signal) => {
        await chaosAt("bundle.download");
        if (bundle === undefined) throw new MarinError("IRIS_NO_BUNDLE", `The worker ${name} has no place from which it could have the bundle ${digest}.`, { data: { digest } });
        return bundle(digest, signal);
      },
      capture: async (uid, order, directory) => capture?.(uid, order, directory),
    };
  }
}

/** @throws what the disk answers */
function keepOrder(directory: string, uid: string, order: AttemptOrder): void {
  makeDirectorySync(directory, { mode: 0o700 });
  const { jobId, jobUid, taskIndex, numTasks, attempt, resources, ports, timeoutMs, isolation } = order;
  // Neither arguments nor variables: they may hold secrets, and an attempt is never started twice.
  writeFileSync(join(directory, "order.json"), JSON.stringify({ attemptUid: uid, jobId, jobUid, taskIndex, numTasks, attempt, resources, ports, timeoutMs, isolation }), { mode: 0o600 });
}

/** An attempt that has ended without running in this process: one of an earlier process of this worker, or one that could not begin. */
interface Recovered {
  readonly journal: Journal;
  readonly ended: Promise<void>;
}

/** From the abort to TERM where nobody says otherwise. */
const closeGraceMs = 4_000;

function observe(attemptUid: string, attempt: Attempt | Recovered): ObservedAttempt {
  const lastSeq = attempt.journal.lastSeq;
  if (!(attempt instanceof Attempt)) return { attemptUid, state: "ended", lastSeq, memoryBytes: 0 };
  return { attemptUid, state: attempt.state, lastSeq, memoryBytes: attempt.memoryBytes };
}

/** The uid that a directory's workers have in common. */
function ownUid(directory: string): string {
  const path = join(directory, "worker-uid");
  try {
    makeDirectorySync(directory, { mode: 0o700 });
  } catch (error) {
    throw fileError(error, { action: "make the worker's directory", path: directory });
  }
  try {
    writeFileSync(path, randomUUID(), { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(path, "utf8");
}
