import { join } from "node:path";
import type { ClusterBackend, TaskHost, TaskOutcome } from "../backends/backend.js";
import { MarinError } from "../platform.js";
import { EndpointTable } from "../runtime/endpoints.js";
import { plainProgress } from "../runtime/relay.js";
import type { TaskEvent } from "../runtime/task-service.js";
import { type Machine, add, noResources, schedule, subtract } from "../scheduling/schedule.js";
import { JobLog } from "./job-log.js";
import { JobRecord, type RunningAttempt, type TaskRecord } from "./job-record.js";
import type { CheckedJobSpec, Resources } from "./job-spec.js";
import { type LogLine, isFinal } from "./job-status.js";

/** Holds the jobs of one client and runs their tasks on a cluster. */
export class Controller {
  /** The endpoints that running tasks offer. */
  readonly endpoints = new EndpointTable();
  readonly #backend: ClusterBackend;
  readonly #directory: string | undefined;
  readonly #jobs = new Map<string, JobRecord>();
  readonly #used = new Map<string, Resources>();
  #ends = 0;
  #closed = false;

  /**
   * @param backend - runs the tasks
   * @param directory - where each job's log is kept. Default: in memory only
   */
  constructor(backend: ClusterBackend, directory?: string) {
    this.#backend = backend;
    this.#directory = directory;
  }

  /** All jobs, first submitted first. */
  jobs(): JobRecord[] {
    return [...this.#jobs.values()];
  }

  /** The job with that id. */
  job(id: string): JobRecord | undefined {
    return this.#jobs.get(id);
  }

  /**
   * Takes a job.
   *
   * @param spec - the job
   * @param parent - the job whose task submits it
   * @throws MarinError IRIS_CLOSED, IRIS_JOB_EXISTS (a job of that name has not ended), IRIS_PARENT_ENDED
   */
  submit(spec: CheckedJobSpec, parent?: JobRecord): JobRecord {
    if (this.#closed) throw new MarinError("IRIS_CLOSED", `The client is closed: it takes no job "${spec.name}".`, { data: { name: spec.name } });
    if (parent?.tasksEnded === true) {
      throw new MarinError("IRIS_PARENT_ENDED", `The job ${parent.id} has ended: it can have no child "${spec.name}".`, { data: { parent: parent.id, name: spec.name } });
    }
    const id = this.#newId(`${parent?.id ?? ""}/${spec.name}`);
    const log = new JobLog(this.#directory === undefined ? undefined : join(this.#directory, ...id.split("/")));
    const job = new JobRecord(id, spec, parent, log, { cancel: (target, reason) => this.#cancel(target, reason) });
    this.#jobs.set(id, job);
    parent?.children.add(job);
    this.#schedule();
    if (!job.tasksEnded) job.stateChanged();
    return job;
  }

  /** Cancels what still runs and waits until nothing does. */
  async close(reason: Error): Promise<void> {
    this.#closed = true;
    await Promise.all(this.jobs().map((job) => job.cancel(reason)));
  }

  /** A name of a job that has ended may be used again: the earlier job keeps its id and its log. */
  #newId(wanted: string): string {
    for (let count = 1; ; count += 1) {
      const id = count === 1 ? wanted : `${wanted}~${String(count)}`;
      const holder = this.#jobs.get(id);
      if (holder === undefined) return id;
      if (!isFinal(holder.status().state)) {
        throw new MarinError("IRIS_JOB_EXISTS", `The job ${id} has not ended: wait for it, cancel it, or choose another name.`, { data: { job: id } });
      }
    }
  }

  #schedule(): void {
    const machines = this.#backend.machines.map(({ name, capacity }): Machine => ({ name, capacity, free: subtract(capacity, this.#used.get(name) ?? noResources) }));
    const waiting = this.jobs().flatMap((job) => job.tasks.filter(({ state }) => state === "PENDING").map((task) => ({ job, task })));
    if (waiting.length === 0) return;
    const held = new Map<JobRecord, Resources>();
    const heldByAncestors = (job: JobRecord): Resources => {
      let sum = held.get(job);
      if (sum === undefined) {
        sum = noResources;
        for (let each = job.parent; each !== undefined; each = each.parent) sum = add(sum, each.spec.resources);
        held.set(job, sum);
      }
      return sum;
    };
    const placements = schedule(machines, waiting.map(({ job, task }) => ({ key: task.key, resources: job.spec.resources, heldByAncestors: heldByAncestors(job) })));
    for (const [place, placement] of placements.entries()) {
      const { job, task } = waiting[place] as (typeof waiting)[number];
      // An earlier task of this round may have ended its job.
      if (task.state !== "PENDING") continue;
      if (placement.kind === "start") {
        this.#start(job, task, placement.machine);
      } else if (placement.kind === "wait") {
        task.pendingReason = placement.reason;
      } else {
        const { dimension, asked, available } = placement.shortage;
        const ancestors = job.parent === undefined ? "" : ", with what its ancestors hold";
        const message = `No machine can ever run the job ${job.id}: it asks for ${dimension} ${asked}, and at most ${available} can be had${ancestors}.`;
        this.#end(job, task, "UNSCHEDULABLE", { error: new MarinError("IRIS_UNSCHEDULABLE", message, { data: { job: job.id, dimension, asked, available } }) });
      }
    }
  }

  #start(job: JobRecord, task: TaskRecord, machine: string): void {
    const { spec } = job;
    const { attempt, index } = task;
    this.#used.set(machine, add(this.#used.get(machine) ?? noResources, spec.resources));
    const offered = this.endpoints.registryOf(spec.replicas === 1 ? `the job ${job.id}` : `task ${String(index)} of the job ${job.id}`);
    const isCurrent = (): boolean => task.running === running && task.attempt === attempt;
    const host: TaskHost = {
      registry: offered.registry,
      submit: async (child) => this.submit(child, job),
      started: ({ pid, ports }) => {
        if (!isCurrent()) return;
        task.pid = pid ?? task.pid;
        task.ports = ports ?? task.ports;
        if (pid !== undefined) job.stateChanged();
      },
      report: (events) => {
        if (isCurrent()) for (const event of events) push(job, task, event);
      },
      printed: (source, line) => {
        if (isCurrent()) pushLine(job, task, { source, level: source === "stderr" ? "warn" : "info", message: line });
      },
    };
    task.state = "RUNNING";
    task.pendingReason = undefined;
    task.pid = undefined;
    // The host asks for `running` only in callbacks, which come later.
    const running: RunningAttempt = { run: this.#backend.start({ jobId: job.id, spec, taskIndex: index, attempt, machine }, host), machine, stop: undefined };
    task.running = running;
    const timer = spec.timeoutMs === undefined ? undefined : startTimer(spec.timeoutMs, () => this.#stop(task, "FAILED", timeoutError(job, task, spec.timeoutMs ?? 0)));
    void running.run.ended.then((outcome) => {
      timer?.();
      offered.closeAll();
      this.#used.set(machine, subtract(this.#used.get(machine) ?? noResources, spec.resources));
      task.running = undefined;
      this.#attemptEnded(job, task, running, outcome);
      this.#schedule();
    });
  }

  #attemptEnded(job: JobRecord, task: TaskRecord, { stop }: RunningAttempt, outcome: TaskOutcome): void {
    if (stop !== undefined) {
      this.#end(job, task, stop.state, { error: stop.reason });
    } else if (outcome.kind === "returned") {
      this.#end(job, task, "SUCCEEDED", { value: outcome.value });
    } else if (outcome.kind === "threw") {
      this.#end(job, task, "FAILED", { error: outcome.error });
    } else if (task.attempt < job.spec.maxRetriesFailure) {
      pushLine(job, task, { source: "iris", level: "warn", message: `${outcome.error.message} Starting again: attempt ${String(task.attempt + 1)}.` });
      task.attempt += 1;
      task.state = "PENDING";
      task.ports = {};
      job.stateChanged();
    } else {
      this.#end(job, task, "WORKER_FAILED", { error: outcome.error });
    }
  }

  #end(job: JobRecord, task: TaskRecord, state: TaskRecord["state"], outcome: { readonly value?: unknown; readonly error?: Error }): void {
    task.state = state;
    task.pendingReason = undefined;
    task.outcome = { ...outcome, order: (this.#ends += 1) };
    if (state !== "SUCCEEDED" && state !== "KILLED") {
      const reason = new MarinError("IRIS_CANCELLED", `Task ${String(task.index)} of the job ${job.id} ended ${state}, and the job with it.`, { data: { job: job.id }, cause: outcome.error });
      this.#stopTasks(job, reason);
    }
    if (!job.tasksEnded) {
      job.stateChanged();
      return;
    }
    // Twice for a job whose last tasks end each other: the second one finds it finished.
    if (job.tasks.some((other) => other !== task && (other.outcome?.order ?? 0) > (task.outcome?.order ?? 0))) return;
    const gone = new MarinError("IRIS_CANCELLED", `The job ${job.id}, whose child it is, has ended.`, { data: { parent: job.id } });
    void Promise.all([...job.children].map((child) => child.cancel(gone))).then(() => job.finish());
  }

  #cancel(job: JobRecord, reason: Error): void {
    for (const child of job.children) this.#cancel(child, reason);
    this.#stopTasks(job, reason);
  }

  #stopTasks(job: JobRecord, reason: Error): void {
    for (const task of job.tasks) {
      if (task.state === "PENDING") this.#end(job, task, "KILLED", { error: reason });
      else this.#stop(task, "KILLED", reason);
    }
  }

  #stop(task: TaskRecord, state: "KILLED" | "FAILED", reason: Error): void {
    const { running } = task;
    if (running === undefined || running.stop !== undefined) return;
    running.stop = { state, reason };
    running.run.stop(reason);
  }
}

function push(job: JobRecord, task: TaskRecord, event: TaskEvent): void {
  const from = { taskIndex: task.index, attempt: task.attempt };
  if (event.type === "log") {
    const { level, message, fields } = event;
    pushLine(job, task, { source: "log", level, message, ...(Object.keys(fields).length === 0 ? {} : { fields }) });
  } else if (event.type === "progress") {
    job.log.push({ type: "progress", ...from, progress: plainProgress(event.progress) });
  } else {
    const { values, step } = event;
    job.log.push({ type: "metrics", ...from, values, ...(step === undefined ? {} : { step }) });
  }
}

function pushLine(job: JobRecord, task: TaskRecord, line: Omit<LogLine, "time" | "taskIndex" | "attempt">): void {
  job.log.push({ type: "log", line: { time: new Date().toISOString(), taskIndex: task.index, attempt: task.attempt, ...line } });
}

function timeoutError(job: JobRecord, task: TaskRecord, timeoutMs: number): MarinError {
  return new MarinError("IRIS_TIMEOUT", `Task ${String(task.index)} of the job ${job.id} ran longer than its timeoutMs of ${String(timeoutMs)}.`, {
    data: { job: job.id, taskIndex: task.index, timeoutMs },
  });
}

/** Calls back after the time, also where it is longer than one timer can wait; gives what stops it. */
function startTimer(milliseconds: number, expired: () => void): () => void {
  const longest = 2 ** 31 - 1;
  let rest = milliseconds;
  let timer: NodeJS.Timeout;
  const next = (): void => {
    const wait = Math.min(rest, longest);
    rest -= wait;
    timer = setTimeout(rest > 0 ? next : expired, wait);
  };
  next();
  return () => clearTimeout(timer);
}
