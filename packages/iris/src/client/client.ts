import { randomUUID } from "node:crypto";
import { serialize } from "node:v8";
import { type ClusterConfig, gpuDevices, machineCapacity, readCluster } from "../cluster-file.js";
import { type JobSpec, type Submittable, resolveJobSpec } from "../jobs/job-spec.js";
import { MarinError } from "../platform.js";
import type { IrisApi, JobFilter, JobSummary, OnExisting, UserStatus, WorkerStatus } from "./iris-api.js";
import { Job, type WaitOptions } from "./job.js";
import { lazyApi } from "./lazy-api.js";

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
  /** Names the submission: one that is repeated with the same job, because its answer was lost, gives the first one's job. Default random. */
  readonly submissionId?: string;
  /**
   * What to do while a job of the same id has not ended: "error" refuses, "keep" gives that job, "recreate" cancels it first and waits for its end. Default
   * "error". The id of a job that has ended may be used again in any case; the earlier job keeps its uid, and its history under it.
   */
  readonly onExisting?: OnExisting;
  /** Whose job it is: it stands below `/<user>` and counts against that user's budget. Default: whoever the controller takes the client for. */
  readonly user?: string;
}

/** How a client is closed. */
type Close = (submitted: readonly Job[]) => Promise<void>;

/** Set by the class, whose constructor is its own. */
let make: (api: IrisApi, close: Close) => IrisClient;
let apiInside: (client: IrisClient) => IrisApi;

/**
 * The way to a controller of jobs: one in this process ({@link IrisClient.local}, `Iris.open`), one elsewhere (`Iris.connect`), or the one that runs the
 * task it is called in (`irisCtx().client`), whose submissions become children of the task's job. All behave alike.
 */
export class IrisClient implements AsyncDisposable {
  readonly #api: IrisApi;
  readonly #close: Close;
  readonly #submitted = new Map<string, Job>();

  static {
    make = (api, close) => new IrisClient(api, close);
    apiInside = (client) => client.#api;
  }

  private constructor(api: IrisApi, close: Close) {
    this.#api = api;
    this.#close = close;
  }

  /**
   * A client that runs jobs on this machine, each task in a process of its own, and accounts for the machine by itself: use one for a program. All that it
   * runs ends with it, however it ends.
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
    // A task's process that only has a client of its context loads no controller.
    const local = lazyApi(async () => (await import("../controller/local.js")).openLocal({ name, capacity, directory }));
    return new IrisClient(local.api, () => local.close());
  }

  /**
   * Submits a job. One that no worker could ever hold is UNSCHEDULABLE at once, with an error that names the dimension and what could be had.
   *
   * @param job - the job
   * @param options - see {@link SubmitOptions}
   * @returns the job, once it is stored
   * @throws MarinError IRIS_BAD_JOB (names the field), IRIS_JOB_EXISTS, IRIS_SUBMISSION_CONFLICT, IRIS_ADMISSION, IRIS_PARENT_ENDED, IRIS_CLOSED
   */
  async submit(job: Submittable | JobSpec, options: SubmitOptions = {}): Promise<Job> {
    const { signal, submissionId = randomUUID(), onExisting = "error", user } = options;
    const { args, ...spec } = await resolveJobSpec(job);
    signal?.throwIfAborted();
    const handle = new Job(await this.#api.submit({ spec: { ...spec, args: serialize(args) }, submissionId, onExisting, ...(user === undefined ? {} : { user }) }), this.#api);
    this.#submitted.set(handle.uid, handle);
    if (signal !== undefined) cancelOn(signal, handle);
    return handle;
  }

  /**
   * A job by its uid, or the latest by its id.
   *
   * @throws MarinError IRIS_NO_JOB
   */
  async get(job: string, options: WaitOptions = {}): Promise<Job> {
    const { uid, id, name } = await this.#api.status({ job }, options);
    return new Job({ uid, id, name }, this.#api);
  }

  /** The jobs submitted through this client, first submitted first. */
  jobs(): Job[] {
    return [...this.#submitted.values()];
  }

  /**
   * The controller's jobs, last submitted first, whoever submitted them.
   *
   * @param filter - which of them; default the latest 100
   */
  list(filter: JobFilter = {}, options: WaitOptions = {}): Promise<readonly JobSummary[]> {
    return this.#api.list(filter, options);
  }

  /** The controller's workers: what they have, what runs on them, and whether they can be reached. */
  workers(options: WaitOptions = {}): Promise<readonly WorkerStatus[]> {
    return this.#api.workers({}, options);
  }

  /** What users use and may use. */
  users(options: WaitOptions = {}): Promise<readonly UserStatus[]> {
    return this.#api.users({}, options);
  }

  /**
   * Sets what a user may spend at a time before the user's INTERACTIVE jobs count as BATCH: 1000 an accelerator, 5 a processor, 1 a GiB of memory.
   *
   * @param user - whose
   * @param budget - how much; null for any amount
   */
  async setBudget(user: string, budget: number | null, options: WaitOptions = {}): Promise<void> {
    await this.#api.setBudget({ user, budget }, options);
  }

  /** The address that a running task offers under a name, or undefined. */
  async resolve(endpoint: string): Promise<string | undefined> {
    return (await this.#api.resolve({ name: endpoint })).address ?? undefined;
  }

  /**
   * Lets go of the controller. A local one cancels the jobs that have not ended and waits until nothing of them runs any more, and so does a task's client
   * with what it has submitted; of `Iris.open` and `Iris.connect` the jobs go on.
   */
  close(): Promise<void> {
    return this.#close([...this.#submitted.values()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function cancelOn(signal: AbortSignal, job: Job): void {
  const cancel = (): void => void job.cancel(signal.reason).catch(() => undefined);
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel, { once: true });
  void job
    .wait()
    .catch(() => undefined)
    .then(() => signal.removeEventListener("abort", cancel));
}

/**
 * The client of a task: closing it cancels what it has submitted.
 *
 * @param api - the controller, as the task may see it
 */
export function clientOf(api: IrisApi): IrisClient {
  const reason = new MarinError("IRIS_CANCELLED", "The client that submitted the job was closed.");
  return make(api, async (submitted) => void (await Promise.all(submitted.map((job) => job.cancel(reason)))));
}

/**
 * A client whose jobs go on when it is closed.
 *
 * @param api - the controller
 * @param close - lets go of it
 */
export function detachedClient(api: IrisApi, close: () => Promise<void>): IrisClient {
  return make(api, close);
}

/** The controller behind a client, to be passed on. */
export function apiOf(client: IrisClient): IrisApi {
  return apiInside(client);
}
