import { type Connection, defineService, serverStream, unary } from "@marin/ducky";
import { logLevels } from "@marin/rigging";
import { z } from "zod";
import { MarinError } from "../platform.js";
import type { LogOptions } from "../jobs/job-log.js";
import type { CheckedJobSpec } from "../jobs/job-spec.js";
import { type JobEvent, type JobResult, type JobState, type JobStatus, type LogLine, isFinal } from "../jobs/job-status.js";
import { type WireFailure, failureFromWire, failureToWire } from "../runtime/failure.js";
import type { JobSource } from "./job.js";

type WireStatus = Omit<JobStatus, "error"> & { readonly error: WireFailure | null };
type WireEvent = Exclude<JobEvent, { readonly type: "state" }> | { readonly type: "state"; readonly status: WireStatus };

interface WireResult {
  readonly state: JobState;
  readonly values: readonly unknown[];
  readonly error: WireFailure | null;
}

const jobSchema = z.strictObject({ id: z.string() });

/** What a task asks about the jobs that it submits: they run beside it, under the same controller. */
const jobsService = defineService("iris.jobs", {
  submit: unary({ input: z.strictObject({ spec: trusted<CheckedJobSpec>() }), output: trusted<WireStatus>() }),
  wait: unary({ input: jobSchema, output: trusted<WireResult>() }),
  cancel: unary({ input: jobSchema.extend({ reason: trusted<WireFailure>() }), output: z.null() }),
  events: serverStream({ input: jobSchema, output: trusted<WireEvent>() }),
  logs: serverStream({
    input: jobSchema.extend({ follow: z.boolean().optional(), tail: z.number().optional(), minLevel: z.enum(logLevels).optional() }),
    output: trusted<LogLine>(),
  }),
});

/** Submits a job and gives the way to it. */
export type SubmitJob = (spec: CheckedJobSpec) => Promise<JobSource>;

/**
 * Lets the other end of a connection submit jobs.
 *
 * @param connection - to a task's process
 * @param submit - submits as a child of that task's job
 */
export function serveJobs(connection: Connection, submit: SubmitJob): void {
  const submitted = new Map<string, JobSource>();
  const job = (id: string): JobSource => {
    const found = submitted.get(id);
    if (found === undefined) throw new MarinError("IRIS_NO_JOB", `This task has submitted no job "${id}".`, { data: { id } });
    return found;
  };
  connection.serve(jobsService, {
    submit: async ({ spec }) => {
      const source = await submit(spec);
      submitted.set(source.status().id, source);
      return statusToWire(source.status());
    },
    wait: async ({ id }, { signal }) => {
      const { state, values, error } = await job(id).wait(signal);
      return { state, values, error: error === undefined ? null : failureToWire(error) };
    },
    cancel: async ({ id, reason }) => {
      await job(id).cancel(failureFromWire(reason));
      return null;
    },
    events: ({ id }, { signal }) => mapAsync(job(id).events(signal), eventToWire),
    logs: ({ id, ...options }, { signal }) => job(id).logs(definedOnly({ ...options, signal })),
  });
}

/** Submits jobs at the other end of a connection, where {@link serveJobs} serves. */
export function remoteSubmit(connection: Connection): SubmitJob {
  const calls = connection.client(jobsService);
  return async (spec) => {
    let latest = statusFromWire(await calls.submit({ spec }));
    const { id } = latest;
    const follow = async (): Promise<void> => {
      for await (const event of calls.events({ id })) if (event.type === "state") latest = statusFromWire(event.status);
    };
    // When the connection ends, so does this process.
    if (!isFinal(latest.state)) follow().catch(() => undefined);
    return {
      name: spec.name,
      status: () => latest,
      wait: async (signal): Promise<JobResult> => {
        const { state, values, error } = await calls.wait({ id }, signal === undefined ? {} : { signal });
        return { state, value: values[0], values, ...(error === null ? {} : { error: failureFromWire(error) }) };
      },
      cancel: async (reason) => void (await calls.cancel({ id, reason: failureToWire(reason) })),
      events: (signal) => mapAsync(calls.events({ id }, signal === undefined ? {} : { signal }), eventFromWire),
      logs: ({ signal, ...options }: LogOptions) => calls.logs({ id, ...options }, signal === undefined ? {} : { signal }),
    };
  };
}

function statusToWire({ error, ...status }: JobStatus): WireStatus {
  return { ...status, error: error === undefined ? null : failureToWire(error) };
}

function statusFromWire({ error, ...status }: WireStatus): JobStatus {
  return { ...status, ...(error === null ? {} : { error: failureFromWire(error) }) };
}

function eventToWire(event: JobEvent): WireEvent {
  return event.type === "state" ? { type: "state", status: statusToWire(event.status) } : event;
}

function eventFromWire(event: WireEvent): JobEvent {
  return event.type === "state" ? { type: "state", status: statusFromWire(event.status) } : event;
}

async function* mapAsync<A, B>(items: AsyncIterable<A>, convert: (item: A) => B): AsyncGenerator<B, void, void> {
  for await (const item of items) yield convert(item);
}

/** An object whose form only this file writes and reads; both ends run the same version. */
function trusted<T extends object>(): z.ZodCustom<T, T> {
  return z.custom<T>((value) => typeof value === "object" && value !== null);
}

function definedOnly(options: { [K in keyof LogOptions]: LogOptions[K] | undefined }): LogOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
