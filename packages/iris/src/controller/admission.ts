import { createHash, randomUUID } from "node:crypto";
import type { SubmitRequest, WireSpec } from "../client/iris-api.js";
import { inheritJobSpec } from "../jobs/job-spec-inheritance.js";
import { type CheckedJobSpec, type Resources, checkJobSpec } from "../jobs/job-spec.js";
import type { JobTransition, Shortage } from "../jobs/model.js";
import { newJob } from "../jobs/state-machine.js";
import { MarinError, formatBytes } from "../platform.js";
import { feasibility } from "../scheduling/feasibility.js";
import type { Controller } from "./controller.js";
import { JobRecord } from "./job-record.js";

/** Who asks: a client, for some user or by itself, or a task by its attempt. */
export type Caller = { readonly kind: "client"; readonly user?: string | undefined } | { readonly kind: "attempt"; readonly uid: string };

/** How much a controller takes. */
export interface Limits {
  /** Tasks of jobs that have not ended. Default 100,000. */
  readonly maxLiveTasks: number;
  /** The same of one user. Default 50,000. */
  readonly maxLiveTasksPerUser: number;
  /** Bytes of a job's spec and arguments. Default 32 MiB. */
  readonly maxSpecBytes: number;
  /** Jobs above a job. Default 16. */
  readonly maxDepth: number;
}

/** See {@link Limits}. */
export const defaultLimits: Limits = { maxLiveTasks: 100_000, maxLiveTasksPerUser: 50_000, maxSpecBytes: 32 * 2 ** 20, maxDepth: 16 };

/** What becomes of a submission. */
export type Admitted =
  /** It is a repetition, or the existing job is kept. With a digest: the submission is to be noted. */
  | { readonly existing: JobRecord; readonly digest?: string }
  | { readonly job: JobRecord; readonly transition: JobTransition; readonly digest: string; readonly shortage: Shortage | undefined };

/**
 * Checks a submission, and makes its job. Changes nothing.
 *
 * @param earlier - what was submitted under the same submission id
 * @throws MarinError IRIS_CLOSED, IRIS_BAD_JOB, IRIS_FORBIDDEN, IRIS_SUBMISSION_CONFLICT, IRIS_PARENT_ENDED, IRIS_JOB_EXISTS, IRIS_ADMISSION
 */
export function admit(controller: Controller, limits: Limits, request: SubmitRequest, caller: Caller, earlier: { readonly job: string; readonly digest: string } | undefined): Admitted {
  const { submissionId, onExisting } = request;
  const { name } = request.spec;
  if (controller.closing) throw new MarinError("IRIS_CLOSED", `The client is closed: it takes no job "${name}".`, { data: { name } });
  const digest = digestOf(request, caller);
  if (earlier !== undefined) {
    if (earlier.digest === digest) return { existing: controller.job(earlier.job) };
    throw new MarinError("IRIS_SUBMISSION_CONFLICT", `The submission id ${submissionId} was used for another job. A new submission needs a new id.`, { data: { submissionId, job: earlier.job } });
  }
  const { args } = request.spec;
  const spec = checkSpec(request.spec);
  checkUser(request.user, caller, name);
  const parent = parentOf(controller, caller, name);
  const user = parent?.model.user ?? request.user ?? (caller.kind === "client" ? caller.user : undefined);
  // Jobs of those who run the controller stand at the root, as if they were its only user.
  const id = `${parent?.id ?? (user === undefined ? "" : `/${user}`)}/${name}`;
  const holder = controller.liveById(id);
  if (holder !== undefined) {
    if (onExisting === "keep") return { existing: holder, digest };
    throw new MarinError("IRIS_JOB_EXISTS", `The job ${id} has not ended: wait for it, cancel it, choose another name, or say onExisting "keep" or "recreate".`, { data: { job: id, uid: holder.uid } });
  }
  const resolved = inheritJobSpec(spec, parent?.model.spec);
  checkLimits(controller, limits, { user: user ?? controller.settings.user, id, tasks: spec.replicas, bytes: args.byteLength, depth: parent === undefined ? 0 : parent.depth + 1 });
  const uid = randomUUID();
  const transition = newJob({ uid, id, user: user ?? controller.settings.user, spec: resolved, now: controller.clock.now() });
  const job = new JobRecord(transition.job, {
    name,
    parent: parent?.uid,
    rootSubmittedAt: parent?.rootSubmittedAt ?? transition.job.submittedAt,
    depth: parent === undefined ? 0 : parent.depth + 1,
    args,
    openLog: () => controller.settings.openLog({ uid, id }),
  });
  const workers = controller.workers.forScheduling();
  const held = heldByAncestors(controller, parent);
  const shortage = workers.length === 0 ? undefined : feasibility({ ...resolved, ...(held === undefined ? {} : { heldByAncestors: held }) }, workers);
  return { job, transition, digest, shortage };
}

/** Nobody acts for somebody else, except those who run the controller; and a name that is more than one word of an id would stand among another user's jobs. */
function checkUser(user: string | undefined, caller: Caller, name: string): void {
  if (user === undefined) return;
  if (caller.kind === "client" && caller.user !== undefined && caller.user !== user) throw new MarinError("IRIS_FORBIDDEN", `${caller.user} cannot submit the job "${name}" for ${user}.`, { data: { name, user } });
  // eslint-disable-next-line no-control-regex -- they are what is refused
  if (/[/\u0000-\u001f]/.test(user)) throw new MarinError("IRIS_BAD_JOB", `The job "${name}" cannot be submitted: its user, ${JSON.stringify(user)}, is no name: it has no "/" and no control characters.`, { data: { user } });
}

function checkSpec({ args: _, ...spec }: WireSpec): CheckedJobSpec {
  // The arguments stay bytes: only the task's process reads them.
  return checkJobSpec(spec as Parameters<typeof checkJobSpec>[0]);
}

function parentOf(controller: Controller, caller: Caller, name: string): JobRecord | undefined {
  if (caller.kind === "client") return undefined;
  const attempt = controller.attempt(caller.uid);
  if (attempt !== undefined && attempt.job.model.stop === undefined && attempt.job.model.ended === undefined) return attempt.job;
  const parent = attempt === undefined ? "The task" : `The job ${attempt.job.id}`;
  throw new MarinError("IRIS_PARENT_ENDED", `${parent} has ended, or is being stopped: it can have no child "${name}".`, { data: { ...(attempt === undefined ? {} : { parent: attempt.job.id }), name } });
}

interface Demand {
  readonly user: string;
  readonly id: string;
  readonly tasks: number;
  readonly bytes: number;
  readonly depth: number;
}

function checkLimits(controller: Controller, limits: Limits, { user, id, tasks, bytes, depth }: Demand): void {
  const refuse = (limit: keyof Limits, found: number, what: string): never => {
    throw new MarinError("IRIS_ADMISSION", `The job ${id} cannot be taken: ${what}. Submit less at a time, or wait for jobs to end.`, { data: { job: id, limit, most: limits[limit], found } });
  };
  if (bytes > limits.maxSpecBytes) refuse("maxSpecBytes", bytes, `its arguments have ${formatBytes(bytes)}, and at most ${formatBytes(limits.maxSpecBytes)} are taken; write them to storage and pass the path`);
  if (depth > limits.maxDepth) refuse("maxDepth", depth, `${String(depth)} jobs stand above it, and at most ${String(limits.maxDepth)} may`);
  const { total, ofUser } = controller.liveTasks(user);
  if (total + tasks > limits.maxLiveTasks) refuse("maxLiveTasks", total + tasks, `there would be ${String(total + tasks)} tasks that have not ended, and at most ${String(limits.maxLiveTasks)} may be`);
  if (ofUser + tasks > limits.maxLiveTasksPerUser) refuse("maxLiveTasksPerUser", ofUser + tasks, `${user} would have ${String(ofUser + tasks)} tasks that have not ended, and at most ${String(limits.maxLiveTasksPerUser)} may be`);
}

/** What the ancestors of a child hold until after it has ended. */
function heldByAncestors(controller: Controller, parent: JobRecord | undefined): Resources | undefined {
  if (parent === undefined) return undefined;
  let held: Resources | undefined;
  for (let job: JobRecord | undefined = parent; job !== undefined; job = job.parent === undefined ? undefined : controller.find(job.parent)) held = together(held, job.model.spec.resources);
  return held;
}

function together(a: Resources | undefined, b: Resources): Resources {
  if (a === undefined) return b;
  const device = a.device === undefined ? b.device : b.device === undefined ? a.device : { ...a.device, count: a.device.count + b.device.count };
  return { cpu: a.cpu + b.cpu, memoryBytes: a.memoryBytes + b.memoryBytes, diskBytes: a.diskBytes + b.diskBytes, ...(device === undefined ? {} : { device }) };
}

function digestOf({ spec, onExisting, user }: SubmitRequest, caller: Caller): string {
  const { args, ...rest } = spec;
  return createHash("sha256").update(JSON.stringify([rest, onExisting, user ?? null, caller])).update(args).digest("hex");
}
