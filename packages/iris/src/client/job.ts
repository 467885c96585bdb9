import { deserialize } from "node:v8";
import { MarinError } from "../platform.js";
import type { LogLevel } from "../platform.js";
import type { JobEvent, JobResult, JobStatus, LogLine } from "../jobs/job-status.js";
import { failureFromWire, failureToWire } from "../runtime/failure.js";
import type { ApiCallOptions, IrisApi, SubmittedJob, WireEvent, WireResult, WireStatus, WireValue } from "./iris-api.js";

/** How long to wait for an answer. */
export interface WaitOptions {
  /** Ends the waiting, with its reason as the error; what is waited for goes on. Default: never. */
  readonly signal?: AbortSignal;
  /** Ends the waiting after so many milliseconds, with IRIS_WAIT_TIMEOUT. Default: never. */
  readonly timeoutMs?: number;
}

/** What to read of a job's log. */
export interface LogOptions {
  /** Whether to wait for more lines until the job ends. Default false: what there is now. */
  readonly follow?: boolean;
  /** Only the last lines of what there is now, at most that many. Default all. */
  readonly tail?: number;
  /** Leaves out lines that matter less. Default "debug": all. */
  readonly minLevel?: LogLevel;
  /** Lines of that task only. Default: of all. */
  readonly taskIndex?: number;
  /** Leaves out so many lines at the beginning. Default 0. */
  readonly from?: number;
  /** Ends the reading, with its reason as the error. */
  readonly signal?: AbortSignal;
}

/** A submitted job. Made by {@link IrisClient.submit}, {@link IrisClient.get} and {@link JobScheduler.submit}. */
export class Job {
  /** Random, for ever. */
  readonly uid: string;
  /** The job's name below its parent's id, `/first-lm/train`. Used again once the job has ended; its uid is not. */
  readonly id: string;
  /** The name in its spec. */
  readonly name: string;
  readonly #api: IrisApi;

  /**
   * @param job - which job
   * @param api - where the answers come from
   */
  constructor({ uid, id, name }: SubmittedJob, api: IrisApi) {
    this.uid = uid;
    this.id = id;
    this.name = name;
    this.#api = api;
  }

  /**
   * Where it stands now.
   *
   * @param options - how long to wait for the answer
   * @throws MarinError IRIS_NO_JOB when it ended so long ago that it is forgotten
   */
  async status(options: WaitOptions = {}): Promise<JobStatus> {
    return statusFromWire(await within(options, `the status of the job ${this.id}`, (call) => this.#api.status({ job: this.uid }, call)));
  }

  /**
   * Waits until the job has ended and none of its processes runs any more. A job that fails is a result, not an error of this function.
   *
   * @param options - how long; the job goes on in any case
   * @throws MarinError IRIS_WAIT_TIMEOUT, the signal's reason
   */
  async wait(options: WaitOptions = {}): Promise<JobResult> {
    return within(options, `the job ${this.id}`, async (call) => {
      const result = await this.#api.wait({ job: this.uid }, call);
      if (result.values !== null) return resultFromWire(result, result.values);
      const values: WireValue[] = [];
      for await (const { value } of this.#api.values({ job: this.uid }, call)) values.push(value);
      return resultFromWire(result, values);
    });
  }

  /**
   * The job's log, in order: what its tasks log and print, over all their attempts. Whole where the controller has a directory; else the latest 16 MiB. It
   * ends only with the job (`follow`), or where it ended when the reading began: a connection that is lost is an error, or is made anew.
   *
   * @param options - what to read; by default what there is now
   */
  async *logs({ signal, ...request }: LogOptions = {}): AsyncGenerator<LogLine, void, void> {
    for await (const { lines } of this.#api.logs({ job: this.uid, ...request }, signal === undefined ? {} : { signal })) yield* lines;
  }

  /**
   * What happens to the job, from its submission to its end: log lines, progress, metrics, changes of state. The latest 20,000 events are held: for a
   * reader that comes or falls further behind, log lines are read from the job's log and other events are gone.
   *
   * @param options - `signal` ends the reading with its reason as the error
   */
  async *events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<JobEvent, void, void> {
    for await (const { events } of this.#api.events({ job: this.uid }, signal === undefined ? {} : { signal })) {
      for (const event of events) yield eventFromWire(event);
    }
  }

  /**
   * Cancels the job and its children: their context's signal is aborted; what still runs 4 s later gets TERM, a second later KILL, whole
   * process groups. Does nothing once the job has ended.
   *
   * @param reason - why; becomes the cause of the job's error
   * @param options - how long to wait for the end
   * @returns when nothing of the job runs any more
   */
  async cancel(reason: unknown = undefined, options: WaitOptions = {}): Promise<void> {
    const why = reason instanceof Error ? reason.message : typeof reason === "string" ? reason : undefined;
    const cause = reason === undefined || typeof reason === "string" ? {} : { cause: reason };
    const error = new MarinError("IRIS_CANCELLED", `The job ${this.id} was cancelled${why === undefined ? "" : `: ${why}`}.`, { data: { job: this.id }, ...cause });
    await within(options, `the end of the job ${this.id}`, async (call) => {
      await this.#api.cancel({ job: this.uid, reason: failureToWire(error) }, call);
      await this.#api.wait({ job: this.uid }, call);
    });
  }

  /**
   * Declares the job and its children done: what runs is stopped, and counts as SUCCEEDED without a value. Does nothing once the job has ended.
   *
   * @param options - how long to wait for the end
   * @returns when nothing of the job runs any more
   */
  async complete(options: WaitOptions = {}): Promise<void> {
    await within(options, `the end of the job ${this.id}`, async (call) => {
      await this.#api.complete({ job: this.uid }, call);
      await this.#api.wait({ job: this.uid }, call);
    });
  }
}

/** Makes calls until the time is up or the signal is aborted. */
async function within<T>({ signal, timeoutMs }: WaitOptions, what: string, call: (options: ApiCallOptions) => Promise<T>): Promise<T> {
  if (timeoutMs === undefined) return call(signal === undefined ? {} : { signal });
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(new MarinError("IRIS_WAIT_TIMEOUT", `Waited ${String(timeoutMs)} ms for ${what}.`, { data: { timeoutMs } })), timeoutMs);
  try {
    return await call({ signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]) });
  } finally {
    clearTimeout(timer);
  }
}

function statusFromWire({ error, ...status }: WireStatus): JobStatus {
  return { ...status, ...(error === null ? {} : { error: failureFromWire(error) }) };
}

function resultFromWire({ state, error }: WireResult, wired: readonly WireValue[]): JobResult {
  const values = wired.map((value) => (value === null ? undefined : (deserialize(value) as unknown)));
  return { state, value: values[0], values, ...(error === null ? {} : { error: failureFromWire(error) }) };
}

function eventFromWire(event: WireEvent): JobEvent {
  return event.type === "state" ? { type: "state", status: statusFromWire(event.status) } : event;
}
