import type { TaskRun } from "../backends/backend.js";
import type { JobLog} from "./job-log.js";
import type { LogOptions } from "./job-log.js";
import type { CheckedJobSpec } from "./job-spec.js";
import { type JobEvent, type JobResult, type JobState, type JobStatus, type LogLine, isFinal, jobStateOf } from "./job-status.js";

/** An attempt that runs. */
export interface RunningAttempt {
  readonly run: TaskRun;
  readonly machine: string;
  /** Set once it is to stop: what its task becomes, and why. */
  stop: { readonly state: "KILLED" | "FAILED"; readonly reason: Error } | undefined;
}

/** A task, as the controller keeps it. */
export interface TaskRecord {
  readonly index: number;
  readonly key: string;
  state: JobState;
  attempt: number;
  pid: number | undefined;
  ports: Readonly<Record<string, number>>;
  pendingReason: string | undefined;
  running: RunningAttempt | undefined;
  /** Set with a final state. */
  outcome: { readonly value?: unknown; readonly error?: Error; readonly order: number } | undefined;
}

/** What the controller does for a job. */
export interface JobActions {
  cancel(job: JobRecord, reason: Error): void;
}

/** A job, as the controller keeps it. */
export class JobRecord {
  readonly id: string;
  readonly spec: CheckedJobSpec;
  readonly parent: JobRecord | undefined;
  readonly children = new Set<JobRecord>();
  readonly tasks: readonly TaskRecord[];
  readonly log: JobLog;
  /** Resolves when the job has ended. */
  readonly ended: Promise<JobResult>;
  readonly #actions: JobActions;
  #result: JobResult | undefined;
  #changed = false;
  #resolveEnded: (result: JobResult) => void = () => undefined;

  constructor(id: string, spec: CheckedJobSpec, parent: JobRecord | undefined, log: JobLog, actions: JobActions) {
    this.id = id;
    this.spec = spec;
    this.parent = parent;
    this.log = log;
    this.#actions = actions;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    this.tasks = Array.from({ length: spec.replicas }, (_, index) => ({
      index,
      key: `${id}/${String(index)}`,
      state: "PENDING",
      attempt: 0,
      pid: undefined,
      ports: {},
      pendingReason: undefined,
      running: undefined,
      outcome: undefined,
    }));
  }

  get name(): string {
    return this.spec.name;
  }

  /** Whether all tasks have ended. */
  get tasksEnded(): boolean {
    return this.tasks.every(({ state }) => isFinal(state));
  }

  status(): JobStatus {
    const derived = jobStateOf(this.tasks.map(({ state }) => state));
    // Its children may still be ending.
    const state = this.#result?.state ?? (isFinal(derived) ? "RUNNING" : derived);
    const pendingReason = state === "PENDING" ? this.tasks.find((task) => task.pendingReason !== undefined)?.pendingReason : undefined;
    return {
      id: this.id,
      state,
      ...(pendingReason === undefined ? {} : { pendingReason }),
      ...(this.#result?.error === undefined ? {} : { error: this.#result.error }),
      tasks: this.tasks.map(({ index, state: taskState, attempt, pid, ports }) => ({ index, state: taskState, attempt, ports, ...(pid === undefined ? {} : { pid }) })),
    };
  }

  wait(signal?: AbortSignal): Promise<JobResult> {
    if (signal === undefined) return this.ended;
    return new Promise((resolve, reject) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      void this.ended.then((result) => {
        signal.removeEventListener("abort", stop);
        resolve(result);
      });
    });
  }

  async cancel(reason: Error): Promise<void> {
    if (this.#result !== undefined) return;
    this.#actions.cancel(this, reason);
    await this.ended;
  }

  events(signal?: AbortSignal): AsyncIterable<JobEvent> {
    return this.log.events(signal);
  }

  logs(options: LogOptions): AsyncIterable<LogLine> {
    return this.log.lines(options);
  }

  /** Tells its readers that its state has changed; once for changes that come together. */
  stateChanged(): void {
    if (this.#changed) return;
    this.#changed = true;
    queueMicrotask(() => {
      this.#changed = false;
      if (!this.#result) this.log.push({ type: "state", status: this.status() });
    });
  }

  /** Called once all tasks and children have ended. */
  finish(): void {
    const state = jobStateOf(this.tasks.map((task) => task.state));
    const culprit = this.tasks
      .filter((task) => task.state === state && task.outcome?.error !== undefined)
      .reduce<TaskRecord | undefined>((first, task) => (first === undefined || (task.outcome?.order ?? 0) < (first.outcome?.order ?? 0) ? task : first), undefined);
    const error = state === "SUCCEEDED" ? undefined : culprit?.outcome?.error;
    const values = state === "SUCCEEDED" ? this.tasks.map(({ outcome }) => outcome?.value) : [];
    this.#result = { state, value: values[0], values, ...(error === undefined ? {} : { error }) };
    this.log.push({ type: "state", status: this.status() });
    this.log.end();
    this.#resolveEnded(this.#result);
  }
}
