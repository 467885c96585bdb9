import { deserialize, serialize } from "node:v8";
import type { ResolvedJobSpec } from "../jobs/job-spec-inheritance.js";
import type { JobModel, TaskModel } from "../jobs/model.js";
import type { LineLog } from "../jobs/line-log.js";
import { type JobEnd, JobRecord, type PastAttempt } from "./job-record.js";
import type { Seal } from "./seal.js";
import type { AttemptRow, JobRow, Store, TaskRow } from "./store.js";

/** What a job's row keeps besides its columns. */
interface JobData extends Pick<JobModel, "stop" | "ended"> {
  readonly rootSubmittedAt: number;
  readonly depth: number;
  readonly end: JobEnd | undefined;
}

/** What of a job's spec may hold secrets. */
interface PrivateParts extends Pick<ResolvedJobSpec, "env" | "command" | "setup"> {
  readonly args: Uint8Array;
}

/** The row of a job that is new; what may hold secrets is sealed. */
export function jobRow(job: JobRecord, seal: Seal): JobRow {
  const { id, user, spec, submittedAt } = job.model;
  const { env, command, setup, args: _, ...open } = spec;
  const parts: PrivateParts = { env, command, setup, args: job.args };
  return { id, name: job.name, user, parent: job.parent ?? null, submittedAt, spec: JSON.stringify(open), sealed: seal.seal(serialize(parts)), ...changingColumns(job) };
}

/** The columns of a job that change. */
export function changingColumns(job: JobRecord): Pick<JobRow, "uid" | "state" | "endedAt" | "data"> {
  const { uid, stop, ended } = job.model;
  const { rootSubmittedAt, depth, end } = job;
  const data: JobData = { ...(stop === undefined ? {} : { stop }), ...(ended === undefined ? {} : { ended }), rootSubmittedAt, depth, end };
  return { uid, state: job.state, endedAt: end?.at ?? null, data: serialize(data) };
}

/** The row of a task; `seq` is that of its current attempt's last report. */
export function taskRow(job: string, task: TaskModel, seq: number): TaskRow {
  const { index, state, attempt, current, last, cause } = task;
  return { job, index, state, attempts: current === undefined && last === undefined ? 0 : attempt + 1, worker: (current ?? last)?.worker ?? null, cause: cause?.kind ?? null, seq, data: serialize(task) };
}

/** The row of an attempt that has ended. */
export function attemptRow(job: string, attempt: PastAttempt): AttemptRow {
  const { uid, taskIndex, number, worker, state, cause, startedAt, endedAt } = attempt;
  return { uid, job, index: taskIndex, number, worker, state, cause: cause?.kind ?? null, startedAt: startedAt ?? null, endedAt: endedAt ?? null, data: serialize(attempt) };
}

/**
 * A job as its rows keep it.
 *
 * @param row - the job's
 * @param store - where its tasks and attempts are
 * @param seal - that of the directory
 * @param openLog - opens its log
 */
export function jobFromRows(row: JobRow, store: Store, seal: Seal, openLog: () => LineLog): { readonly job: JobRecord; readonly seqs: readonly number[] } {
  const { stop, ended, rootSubmittedAt, depth, end } = deserialize(row.data) as JobData;
  const rows = store.tasks(row.uid);
  const tasks = rows.map(({ data }) => deserialize(data) as TaskModel);
  const { args, ...parts } = deserialize(seal.open(row.sealed)) as PrivateParts;
  const spec = { ...(JSON.parse(row.spec) as ResolvedJobSpec), ...parts, args: [] };
  const { uid, id, user, submittedAt, name } = row;
  const model: JobModel = { uid, id, user, spec, submittedAt, tasks, ...(stop === undefined ? {} : { stop }), ...(ended === undefined ? {} : { ended }) };
  const job = new JobRecord(model, { name, parent: row.parent ?? undefined, rootSubmittedAt, depth, args, openLog });
  job.saved = model;
  for (const { data } of store.attempts(uid)) job.addHistory(deserialize(data) as PastAttempt);
  if (end !== undefined) job.restoreEnd(end);
  return { job, seqs: rows.map(({ seq }) => seq) };
}
