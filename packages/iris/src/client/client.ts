import { LocalBackend } from "../backends/local.js";
import { type ClusterConfig, gpuDevices, machineCapacity, readCluster } from "../cluster-file.js";
import { Controller } from "../jobs/controller.js";
import { type CheckedJobSpec, type JobSpec, type Submittable, resolveJobSpec } from "../jobs/job-spec.js";
import { MarinError } from "../platform.js";
import { Job, type JobSource } from "./job.js";
import type { SubmitJob } from "./jobs-service.js";

/** Settings of {@link IrisClient.local}. */
export interface LocalClientOptions {
  /** Processors to give to tasks. Default: all of this machine. */
  readonly cpus?: number;
  /** Memory to give to tasks, in bytes. Default: all of this machine, or of this process's limit. */
  readonly memoryBytes?: number;
  /** Graphics processors to give to tasks. Default 0. */
  readonly gpus?: number;
  /** Where whole job logs are kept, as `<directory>/<job id>/log.jsonl`. Default: the latest lines, in memory. */
  readonly directory?: string;
}

/** Settings of one submission. */
export interface SubmitOptions {
  /** Cancels the job when aborted. Default: never. */
  readonly signal?: AbortSignal;
}

/** Where a client's jobs run. */
interface Jobs {
  readonly submit: SubmitJob;
  resolve(name: string): Promise<string | undefined>;
  close(reason: Error): Promise<void>;
}

/** Set by the class, whose constructor is its own. */
let clientOf: (jobs: Jobs) => IrisClient;

/**
 * Submits jobs and keeps the way to them. One that {@link IrisClient.local} made runs them and accounts for the machine by itself: use one for a
 * program. That of a task's context submits to the controller that runs the task, as children of its job.
 */
export class IrisClient implements AsyncDisposable {
  readonly #jobs: Jobs;
  readonly #submitted = new Map<string, Job>();

  static {
    clientOf = (jobs) => new IrisClient(jobs);
  }

  private constructor(jobs: Jobs) {
    this.#jobs = jobs;
  }

  /**
   * A client that runs jobs on this machine, each task in a process of its own.
   *
   * @param options - what to give to tasks; by default the whole machine
   */
  static local(options: LocalClientOptions = {}): IrisClient {
    const machine = machineCapacity();
    const capacity = { cpu: options.cpus ?? machine.cpu, memoryBytes: options.memoryBytes ?? machine.memoryBytes, diskBytes: machine.diskBytes, ...gpuDevices(options.gpus ?? 0) };
    return IrisClient.#on({ name: "local", type: "local", capacity }, options.directory);
  }

  /**
   * A client for a cluster by name.
   *
   * @param name - "local", or that of a cluster file
   * @param options - as for {@link IrisClient.local}
   * @throws MarinError IRIS_CLUSTER_UNKNOWN (names the file to write), IRIS_CLUSTER_INVALID, IRIS_CLUSTER_UNSUPPORTED, IRIS_BAD_CLUSTER_NAME
   */
  static async cluster(name: string, options: Pick<LocalClientOptions, "directory"> = {}): Promise<IrisClient> {
    return IrisClient.#on(await readCluster(name), options.directory);
  }

  static #on({ name, capacity }: ClusterConfig, directory: string | undefined): IrisClient {
    const controller = new Controller(new LocalBackend(name, capacity), directory);
    return new IrisClient({
      submit: async (spec) => controller.submit(spec),
      resolve: async (endpoint) => controller.endpoints.resolve(endpoint),
      close: (reason) => controller.close(reason),
    });
  }

  /**
   * Submits a job. One that no machine could ever hold is UNSCHEDULABLE at once, with an error that names the dimension.
   *
   * @param job - the job
   * @param options - `signal` cancels the job
   * @throws MarinError IRIS_BAD_JOB (names the field), IRIS_JOB_EXISTS (one of that name has not ended), IRIS_CLOSED
   */
  async submit(job: Submittable | JobSpec, options: SubmitOptions = {}): Promise<Job> {
    const spec = await resolveJobSpec(job);
    options.signal?.throwIfAborted();
    const handle = new Job(await this.#jobs.submit(spec));
    this.#submitted.set(handle.id, handle);
    if (options.signal !== undefined) cancelOn(options.signal, handle);
    return handle;
  }

  /** The jobs submitted through this client, first submitted first. */
  jobs(): Job[] {
    return [...this.#submitted.values()];
  }

  /** The job of that id, if it was submitted through this client. */
  job(id: string): Job | undefined {
    return this.#submitted.get(id);
  }

  /** The address that a running task offers under a name, or undefined. */
  resolve(endpoint: string): Promise<string | undefined> {
    return this.#jobs.resolve(endpoint);
  }

  /** Cancels the jobs that have not ended, and waits until nothing of them runs any more. */
  close(): Promise<void> {
    return this.#jobs.close(new MarinError("IRIS_CANCELLED", "The client that submitted the job was closed."));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function cancelOn(signal: AbortSignal, job: Job): void {
  const cancel = (): void => void job.cancel(signal.reason);
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel, { once: true });
  void job.wait().then(() => signal.removeEventListener("abort", cancel));
}

/**
 * The client of a task: what it submits become children of the task's job.
 *
 * @param submit - the way to the controller
 * @param resolve - the way to its endpoints
 */
export function childClient(submit: SubmitJob, resolve: (name: string) => Promise<string | undefined>): IrisClient {
  const submitted: JobSource[] = [];
  return clientOf({
    submit: async (spec: CheckedJobSpec) => {
      const source = await submit(spec);
      submitted.push(source);
      return source;
    },
    resolve,
    close: async (reason) => void (await Promise.all(submitted.map((source) => source.cancel(reason)))),
  });
}
