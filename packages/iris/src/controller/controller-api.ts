import type { IrisApi, JobDescription, JobSummary, LogRequest, SubmitRequest, SubmittedJob } from "../client/iris-api.js";
import { redactor } from "@marin/rigging";
import type { LineBatch } from "../jobs/line-log.js";
import { MarinError } from "../platform.js";
import type { Caller } from "./admission.js";
import type { Controller } from "./controller.js";
import { type JobRecord, isoTime } from "./job-record.js";
import { userStatuses } from "./users.js";

const defaultListed = 100;

/** Bytes of a job's values that go into one answer; a message has a limit. */
const maxValueBytes = 16 * 2 ** 20;

/**
 * A controller, as somebody may use it: a client acts on the jobs of its user, or on all where it names none; a task on those of its job's user, and what it
 * submits become children of its job.
 *
 * @param controller - the controller
 * @param caller - who asks
 */
export function controllerApi(controller: Controller, caller: Caller): IrisApi {
  const { closed, turns, store } = controller;
  // What is known of a job that has ended can be read from a closed controller, too.
  const within = (job: JobRecord, signal: AbortSignal | undefined): AbortSignal | undefined => (job.end !== undefined ? signal : signal === undefined ? closed : AbortSignal.any([signal, closed]));
  const attemptUid = (): string => {
    if (caller.kind === "attempt") return caller.uid;
    throw new MarinError("IRIS_BAD_ENDPOINT", "Only a running task can offer endpoints.");
  };
  const acting = (): string | undefined => (caller.kind === "client" ? caller.user : controller.attempt(caller.uid)?.job.model.user);
  const by = (): string => (caller.kind === "client" ? (caller.user ?? controller.settings.user) : (controller.attempt(caller.uid)?.job.id ?? "a task that has ended"));
  /** A job that the caller may change. */
  const own = (reference: string): JobRecord => {
    const job = controller.job(reference);
    const user = acting();
    if (user !== undefined && user !== job.model.user) throw new MarinError("IRIS_FORBIDDEN", `The job ${job.id} is ${job.model.user}'s: ${user} cannot change it.`, { data: { job: job.id, user } });
    return job;
  };
  return {
    submit: (request) => submit(controller, request, caller),
    status: async ({ job }) => controller.job(job).status(),
    describe: async ({ job }) => description(controller.job(job)),
    list: async ({ limit = defaultListed, user, states, prefix }) =>
      store.list({ limit, ...(user === undefined ? {} : { user }), ...(states === undefined ? {} : { states }), ...(prefix === undefined ? {} : { prefix }) }).map((uid) => summary(controller.job(uid))),
    wait: async ({ job: reference }, { signal } = {}) => {
      const job = controller.job(reference);
      await settled(job.ended, within(job, signal));
      return job.result(store.valueBytes(job.uid) > maxValueBytes ? null : store.values(job.uid, job.model.tasks.length));
    },
    values: async function* ({ job: reference, from = 0 }) {
      const job = controller.job(reference);
      if (job.end?.state !== "SUCCEEDED") return;
      for (let taskIndex = from; taskIndex < job.model.tasks.length; taskIndex += 1) yield { taskIndex, value: store.value(job.uid, taskIndex) };
    },
    cancel: async ({ job: reference, reason }) => {
      const job = own(reference);
      await controller.endTree(job, { type: "cancelled", by: by(), reason: reason.error.message, failure: reason });
      return null;
    },
    complete: async ({ job: reference }) => {
      await controller.endTree(own(reference), { type: "completed", by: by() });
      return null;
    },
    events: ({ job: reference, cursor }, { signal } = {}) => {
      const job = controller.job(reference);
      return job.feed.read(cursor, within(job, signal));
    },
    logs: (request, { signal } = {}) => {
      const job = controller.job(request.job);
      return readLog(job, request, within(job, signal));
    },
    exec: ({ job: reference, taskIndex = 0, argv, timeoutMs }, { signal } = {}) => {
      const job = own(reference);
      const current = job.model.tasks[taskIndex]?.current;
      const attempt = current === undefined ? undefined : controller.attempt(current.uid);
      const link = attempt === undefined ? undefined : controller.workers.linkOf(attempt);
      if (attempt === undefined || link === undefined) throw new MarinError("IRIS_NO_ATTEMPT", `Task ${String(taskIndex)} of the job ${job.id} does not run now.`, { data: { job: job.id, taskIndex } });
      return link.exec({ attemptUid: attempt.uid, argv: [...argv], ...(timeoutMs === undefined ? {} : { timeoutMs }) }, within(job, signal) ?? closed);
    },
    workers: async () => controller.workers.status(),
    users: async () => userStatuses(controller),
    setBudget: async ({ user, budget }) => {
      if (caller.kind === "attempt") throw new MarinError("IRIS_FORBIDDEN", "A task sets no budgets.");
      await controller.setBudget(user, budget);
      return null;
    },
    register: async ({ name, address, metadata }) => ({ endpoint: await controller.register({ name, address, metadata, ...ownerOf(controller, attemptUid(), name) }) }),
    renew: async ({ endpoint }) => {
      await turns.run(() => controller.endpoints.renew(endpoint, attemptUid()));
      return null;
    },
    unregister: async ({ endpoint }) => {
      await controller.unregister(endpoint, attemptUid());
      return null;
    },
    resolve: async ({ name }) => ({ address: controller.endpoints.resolve(name) ?? null }),
  };
}

async function submit(controller: Controller, request: SubmitRequest, caller: Caller): Promise<SubmittedJob> {
  for (;;) {
    try {
      return named(await controller.submit(request, caller));
    } catch (error) {
      const uid = error instanceof MarinError && error.code === "IRIS_JOB_EXISTS" ? error.data["uid"] : undefined;
      const holder = request.onExisting === "recreate" && typeof uid === "string" ? controller.find(uid) : undefined;
      if (holder === undefined) throw error;
      // The new job begins when nothing of the old one runs any more.
      await controller.endTree(holder, { type: "cancelled", by: request.user ?? controller.settings.user, reason: `The job ${holder.id} was submitted anew.` });
      await settled(holder.ended, controller.closed);
    }
  }
}

function ownerOf(controller: Controller, uid: string, name: string): { readonly attempt: string; readonly owner: string } {
  const attempt = controller.attempt(uid);
  // A report of an attempt that has ended must not bring its address back.
  if (attempt === undefined) throw new MarinError("IRIS_BAD_ENDPOINT", `The task has ended: it can offer no endpoint "${name}".`, { data: { name } });
  const { job, taskIndex } = attempt;
  return { attempt: uid, owner: job.model.tasks.length === 1 ? `the job ${job.id}` : `task ${String(taskIndex)} of the job ${job.id}` };
}

async function* readLog(job: JobRecord, { follow, tail, minLevel, taskIndex, from }: LogRequest, signal: AbortSignal | undefined): AsyncGenerator<LineBatch, void, void> {
  for await (const batch of job.log.read({ follow, tail, minLevel, taskIndex, from, signal })) {
    if (batch.lines.length > 0) yield batch;
  }
}

function named({ uid, id, name }: JobRecord): SubmittedJob {
  return { uid, id, name };
}

function description({ model }: JobRecord): JobDescription {
  const { args: _, env, command, setup, ...spec } = model.spec;
  // "--token x" is known for a secret only by the word before it.
  const masked = (words: readonly string[]): string[] =>
    words.map((word, index) => {
      const before = words[index - 1] ?? "";
      const both = redactor.redact(`${before} ${word}`);
      return before.startsWith("-") && both.startsWith(`${before} `) ? both.slice(before.length + 1) : redactor.redact(word);
    });
  return { ...spec, setup: masked(setup), ...(command === undefined ? {} : { command: masked(command) }), envNames: Object.keys(env) };
}

function summary(job: JobRecord): JobSummary {
  const { user, submittedAt } = job.model;
  const { state, end, pending } = job;
  return {
    ...named(job),
    user,
    state,
    submittedAt: isoTime(submittedAt),
    ...(end === undefined ? {} : { endedAt: isoTime(end.at) }),
    tasks: job.taskCounts(),
    ...(pending === undefined ? {} : { pendingReason: pending.message }),
  };
}

/** Waits, until the signal ends that. */
function settled(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as throwIfAborted does: the reason is whatever the caller gave
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    void promise.then(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
  });
}
