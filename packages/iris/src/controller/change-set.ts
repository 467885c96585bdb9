import type { JobRecord, PastAttempt } from "./job-record.js";
import { attemptRow, changingColumns, jobRow, taskRow } from "./rows.js";
import type { Seal } from "./seal.js";
import type { Changes, EndpointRow } from "./store.js";

/** Gathers what one turn of the controller changes, to be stored in one transaction. */
export class ChangeSet {
  readonly #jobs = new Set<JobRecord>();
  readonly #attempts: { readonly job: string; readonly attempt: PastAttempt }[] = [];
  readonly #values = new Map<string, Changes["values"][number]>();
  readonly #submissions = new Map<string, { readonly job: string; readonly digest: string }>();
  readonly #endpoints = new Map<string, EndpointRow>();
  readonly #removedEndpoints: string[] = [];
  readonly #budgets = new Map<string, number | null>();

  /** A job is new, or its model or end has changed. */
  job(job: JobRecord): void {
    this.#jobs.add(job);
  }

  attemptEnded(job: string, attempt: PastAttempt): void {
    this.#attempts.push({ job, attempt });
  }

  /** What a task's function returned; null: it is discarded. */
  value(job: string, index: number, value: Uint8Array | null): void {
    this.#values.set(`${job} ${String(index)}`, { job, index, value });
  }

  submission(id: string, job: string, digest: string): void {
    this.#submissions.set(id, { job, digest });
  }

  /** A submission of this turn. */
  submissionOf(id: string): { readonly job: string; readonly digest: string } | undefined {
    return this.#submissions.get(id);
  }

  endpoint(endpoint: EndpointRow): void {
    this.#endpoints.set(endpoint.id, endpoint);
  }

  removeEndpoint(id: string): void {
    if (!this.#endpoints.delete(id)) this.#removedEndpoints.push(id);
  }

  budget(user: string, amount: number | null): void {
    this.#budgets.set(user, amount);
  }

  /** Jobs whose state or tasks have changed. */
  get jobs(): ReadonlySet<JobRecord> {
    return this.#jobs;
  }

  get empty(): boolean {
    return this.#jobs.size + this.#values.size + this.#submissions.size + this.#endpoints.size + this.#removedEndpoints.length + this.#budgets.size === 0;
  }

  /**
   * The rows.
   *
   * @param seal - for what may hold secrets
   * @param seqOf - the number of the last report of a task's current attempt
   */
  rows(seal: Seal, seqOf: (attemptUid: string | undefined) => number): Changes {
    const newJobs: Changes["newJobs"][number][] = [];
    const jobs: Changes["jobs"][number][] = [];
    const tasks: Changes["tasks"][number][] = [];
    for (const job of this.#jobs) {
      const { saved, model } = job;
      if (saved === undefined) newJobs.push(jobRow(job, seal));
      else jobs.push(changingColumns(job));
      for (const [index, task] of model.tasks.entries()) {
        if (task !== saved?.tasks[index]) tasks.push(taskRow(job.uid, task, seqOf(task.current?.uid)));
      }
    }
    return {
      newJobs,
      jobs,
      tasks,
      attempts: this.#attempts.map(({ job, attempt }) => attemptRow(job, attempt)),
      values: [...this.#values.values()],
      submissions: [...this.#submissions].map(([id, { job, digest }]) => ({ id, job, digest })),
      endpoints: [...this.#endpoints.values()],
      removedEndpoints: this.#removedEndpoints,
      budgets: [...this.#budgets].map(([user, amount]) => ({ user, amount })),
    };
  }

  /** Notes that everything is stored. */
  stored(): void {
    for (const job of this.#jobs) job.saved = job.model;
  }
}
