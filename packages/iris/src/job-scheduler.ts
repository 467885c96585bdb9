import { IrisClient, type SubmitOptions } from "./client/client.js";
import type { Job } from "./client/job.js";
import { clusterFile, readCluster } from "./cluster-file.js";
import { type CheckedJobSpec, type JobSpec, type Resources, type Submittable, resolveJobSpec } from "./jobs/job-spec.js";
import { isMarinError } from "./platform.js";
import { inheritJobSpec } from "./jobs/job-spec-inheritance.js";
import { feasibility } from "./scheduling/feasibility.js";

/** Settings of {@link JobScheduler}. */
export interface JobSchedulerOptions {
  /** Where jobs run: "local" (this machine), or the name of a cluster file. Default "local". */
  readonly cluster?: string;
  /** Where whole job logs are kept, as `<directory>/<job id>/log.jsonl`. Default: the latest lines, in memory. */
  readonly directory?: string;
}

/** What would happen at {@link JobScheduler.submit}. */
export interface JobPlan {
  /** The cluster's name. */
  readonly cluster: string;
  /** The file that configures the cluster, or would. */
  readonly clusterFile: string;
  /** The job with its defaults filled in. */
  readonly job: CheckedJobSpec;
  /** What the cluster's machine has in all; undefined for a cluster that cannot be used. */
  readonly capacity?: Resources;
  /** Whether the job could be submitted and would run sooner or later. */
  readonly runnable: boolean;
  /** Why not. */
  readonly problem?: string;
}

/** Submits jobs to a cluster and watches them. */
export class JobScheduler implements AsyncDisposable {
  /** The cluster's name. */
  readonly cluster: string;
  readonly #directory: string | undefined;
  #client: Promise<IrisClient> | undefined;
  #jobs: () => Job[] = () => [];

  /** @param options - the cluster; its file is read at the first submission */
  constructor(options: JobSchedulerOptions = {}) {
    this.cluster = options.cluster ?? "local";
    this.#directory = options.directory;
  }

  /**
   * What would happen at {@link JobScheduler.submit}; starts nothing.
   *
   * @param job - an experiment, or a job's spec
   * @throws MarinError IRIS_BAD_JOB naming the field
   */
  async plan(job: Submittable | JobSpec): Promise<JobPlan> {
    const spec = await resolveJobSpec(job);
    const plan = { cluster: this.cluster, clusterFile: clusterFile(this.cluster), job: spec };
    try {
      const cluster = await readCluster(this.cluster);
      const { name, capacity } = cluster;
      const shortage = feasibility(inheritJobSpec(spec, undefined), [{ name, capacity, attributes: {}, taints: [] }]);
      if (shortage === undefined) return { ...plan, capacity, runnable: true };
      return { ...plan, capacity, runnable: false, problem: `It asks for ${shortage.dimension} ${shortage.asked}, and at most ${shortage.available} can be had. Nearest: ${shortage.nearest}.` };
    } catch (error) {
      if (!isMarinError(error)) throw error;
      return { ...plan, runnable: false, problem: error.message };
    }
  }

  /**
   * Submits a job. One that no machine of the cluster could ever hold is UNSCHEDULABLE at once, with an error that names the dimension.
   *
   * @param job - an experiment, or a job's spec
   * @param options - see {@link SubmitOptions}
   * @returns the job, which may still wait for room
   * @throws MarinError IRIS_CLUSTER_UNKNOWN (no file configures the cluster; names the file to write), IRIS_CLUSTER_INVALID,
   * IRIS_CLUSTER_UNSUPPORTED, and what {@link IrisClient.submit} throws
   */
  async submit(job: Submittable | JobSpec, options: SubmitOptions = {}): Promise<Job> {
    const spec = await resolveJobSpec(job);
    this.#client ??= this.#connect();
    return (await this.#client).submit(spec, options);
  }

  /** The jobs submitted, first submitted first. */
  jobs(): Job[] {
    return this.#jobs();
  }

  /** Cancels the jobs that have not ended, and waits until nothing of them runs any more. */
  async close(): Promise<void> {
    await (await this.#client)?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #connect(): Promise<IrisClient> {
    try {
      const client = await IrisClient.cluster(this.cluster, this.#directory === undefined ? {} : { directory: this.#directory });
      this.#jobs = () => client.jobs();
      return client;
    } catch (error) {
      // The next submission looks again: the file may have been written meanwhile.
      this.#client = undefined;
      throw error;
    }
  }
}
