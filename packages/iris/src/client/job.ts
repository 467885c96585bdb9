import { MarinError } from "../platform.js";
import type { LogOptions } from "../jobs/job-log.js";
import type { JobEvent, JobResult, JobStatus, LogLine } from "../jobs/job-status.js";

/** Where a {@link Job} handle gets its answers: a controller in this process, or one at the other end of a connection. */
export interface JobSource {
  readonly name: string;
  status(): JobStatus;
  wait(signal?: AbortSignal): Promise<JobResult>;
  cancel(reason: Error): Promise<void>;
  events(signal?: AbortSignal): AsyncIterable<JobEvent>;
  logs(options: LogOptions): AsyncIterable<LogLine>;
}

/** A submitted job. Made by {@link IrisClient.submit} and {@link JobScheduler.submit}. */
export class Job {
  /** Unique in its client: the job's name below its parent's id, `/first-lm/train`. A name used again gets `~2`. */
  readonly id: string;
  /** The name in its spec. */
  readonly name: string;
  readonly #source: JobSource;

  /** @param source - where the answers come from */
  constructor(source: JobSource) {
    this.id = source.status().id;
    this.name = source.name;
    this.#source = source;
  }

  /** Where it stands now. */
  state(): JobStatus {
    return this.#source.status();
  }

  /**
   * Waits until the job has ended and none of its processes runs any more. A job that fails is a result, not an error of this function.
   *
   * @param options - `signal` ends the waiting, with its reason as the error; the job goes on
   */
  wait(options: { readonly signal?: AbortSignal } = {}): Promise<JobResult> {
    return this.#source.wait(options.signal);
  }

  /**
   * The job's log, in order: what its tasks log and print. Whole where the client has a directory; else the latest 16 MiB.
   *
   * @param options - what to read; by default what there is now
   */
  logs(options: LogOptions = {}): AsyncIterable<LogLine> {
    return this.#source.logs(options);
  }

  /**
   * What happens to the job, from its submission to its end: log lines, progress, metrics, changes of state. The latest 20,000 events are
   * held: a reader that comes or falls further behind gets a log line that says how many it missed.
   *
   * @param options - `signal` ends the reading with its reason as the error
   */
  events(options: { readonly signal?: AbortSignal } = {}): AsyncIterable<JobEvent> {
    return this.#source.events(options.signal);
  }

  /**
   * Cancels the job and its children: their context's signal is aborted; what still runs 4 s later gets TERM, a second later KILL, whole
   * process groups. Does nothing once the job has ended.
   *
   * @param reason - why; becomes the cause of the job's error
   * @returns when nothing of the job runs any more
   */
  async cancel(reason: unknown = undefined): Promise<void> {
    const why = reason instanceof Error ? reason.message : typeof reason === "string" ? reason : undefined;
    const cause = reason === undefined || typeof reason === "string" ? {} : { cause: reason };
    await this.#source.cancel(new MarinError("IRIS_CANCELLED", `The job ${this.id} was cancelled${why === undefined ? "" : `: ${why}`}.`, { data: { job: this.id }, ...cause }));
  }
}

/** The job as a source of answers, to be passed on. */
export function sourceOf(job: Job): JobSource {
  const withSignal = (signal: AbortSignal | undefined): { readonly signal?: AbortSignal } => (signal === undefined ? {} : { signal });
  return {
    name: job.name,
    status: () => job.state(),
    wait: (signal) => job.wait(withSignal(signal)),
    cancel: (reason) => job.cancel(reason),
    events: (signal) => job.events(withSignal(signal)),
    logs: (options) => job.logs(options),
  };
}
