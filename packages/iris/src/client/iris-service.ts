import { type Connection, type ServiceHandlers, defineService, serverStream, unary } from "@marin/ducky";
import { logLevels } from "@marin/rigging";
import { z } from "zod";
import type { JobState, LogLine } from "../jobs/job-status.js";
import type { WireFailure } from "../runtime/failure.js";
import type { ExecEvent } from "../worker/protocol.js";
import type { ApiCallOptions, EventCursor, IrisApi, JobDescription, JobSummary, OnExisting, SubmittedJob, UserStatus, WireEvent, WireResult, WireSpec, WireStatus, WireValue, WorkerStatus } from "./iris-api.js";

const reference = z.string().min(1).max(4096).describe("a job's uid, or its id for the latest of that id");
const jobSchema = z.strictObject({ job: reference });
const none = z.strictObject({});
const failureSchema = z.custom<WireFailure>((value) => typeof value === "object" && value !== null && "error" in value && "stacks" in value && Array.isArray(value.stacks), "a failure");
const specSchema = z.custom<WireSpec>((value) => typeof value === "object" && value !== null && "args" in value && value.args instanceof Uint8Array, "a job's spec");
const cursorSchema: z.ZodType<EventCursor> = z.strictObject({ history: z.string(), next: z.number().int().min(0), lines: z.number().int().min(0) });
const states: z.ZodType<readonly JobState[]> = z.array(z.custom<JobState>((value) => typeof value === "string"));

/** The calls of {@link IrisApi}. What a controller answers is its own; what it is asked is checked here, and a spec by the controller. */
export const irisService = defineService("iris.jobs", {
  submit: unary({
    input: z.strictObject({
      spec: specSchema,
      submissionId: z.string().min(1).max(256),
      onExisting: z.enum(["error", "keep", "recreate"] satisfies OnExisting[]),
      user: z.string().min(1).max(256).optional(),
    }),
    output: answer<SubmittedJob>(),
  }),
  status: unary({ input: jobSchema, output: answer<WireStatus>() }),
  describe: unary({ input: jobSchema, output: answer<JobDescription>() }),
  list: unary({
    input: z.strictObject({ user: z.string().optional(), states: states.optional(), prefix: z.string().optional(), limit: z.number().int().min(1).max(10_000).optional() }),
    output: answer<readonly JobSummary[]>(),
  }),
  wait: unary({ input: jobSchema, output: answer<WireResult>() }),
  values: serverStream({ input: jobSchema.extend({ from: z.number().int().min(0).optional() }), output: answer<{ readonly taskIndex: number; readonly value: WireValue }>() }),
  cancel: unary({ input: jobSchema.extend({ reason: failureSchema }), output: z.null() }),
  complete: unary({ input: jobSchema, output: z.null() }),
  events: serverStream({ input: jobSchema.extend({ cursor: cursorSchema.optional() }), output: answer<{ readonly events: readonly WireEvent[]; readonly cursor: EventCursor }>() }),
  logs: serverStream({
    input: jobSchema.extend({
      follow: z.boolean().optional(),
      tail: z.number().int().min(0).optional(),
      minLevel: z.enum(logLevels).optional(),
      taskIndex: z.number().int().min(0).optional(),
      from: z.number().int().min(0).optional(),
    }),
    output: answer<{ readonly lines: readonly LogLine[]; readonly next: number }>(),
  }),
  exec: serverStream({
    input: jobSchema.extend({ taskIndex: z.number().int().min(0).optional(), argv: z.array(z.string()).min(1), timeoutMs: z.number().positive().optional() }),
    output: answer<ExecEvent>(),
  }),
  workers: unary({ input: none, output: answer<readonly WorkerStatus[]>() }),
  users: unary({ input: none, output: answer<readonly UserStatus[]>() }),
  setBudget: unary({ input: z.strictObject({ user: z.string().min(1).max(256), budget: z.number().min(0).nullable() }), output: z.null() }),
  register: unary({
    input: z.strictObject({ name: z.string().max(4096), address: z.string().max(4096), metadata: z.record(z.string(), z.string()) }),
    output: z.strictObject({ endpoint: z.string() }),
  }),
  renew: unary({ input: z.strictObject({ endpoint: z.string() }), output: z.null() }),
  unregister: unary({ input: z.strictObject({ endpoint: z.string() }), output: z.null() }),
  resolve: unary({ input: z.strictObject({ name: z.string() }), output: z.strictObject({ address: z.string().nullable() }) }),
});

const methods = irisService.methods;

/** The same calls for a task, by its attempt: what a worker passes on. */
const attemptsService = defineService(
  "iris.attempts",
  Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, { ...method, input: z.strictObject({ attempt: z.string().min(1).max(64), input: method.input as z.ZodType }) }])),
);

type ApiMethod = (input: unknown, options: ApiCallOptions) => Promise<unknown> | AsyncIterable<unknown>;

/** What a connection, and one that is made anew when it is lost, have in common. */
export type Caller = Pick<Connection, "client">;

/**
 * Lets the other end of a connection use a controller.
 *
 * @param connection - to a client, or to a task's process
 * @param api - the controller, as that one may see it
 */
export function serveIrisApi(connection: Connection, api: IrisApi): void {
  const handlers = Object.fromEntries(
    Object.keys(methods).map((name) => [name, (input: unknown, { signal }: { readonly signal: AbortSignal }) => (api[name as keyof IrisApi] as ApiMethod)(input, { signal })]),
  );
  connection.serve(irisService, handlers as unknown as ServiceHandlers<typeof methods>);
}

/**
 * The controller at the other end of a connection.
 *
 * @param caller - where {@link serveIrisApi} serves
 */
export function remoteIrisApi(caller: Caller): IrisApi {
  return caller.client(irisService);
}

/**
 * Lets the worker at the other end of a connection pass on what its tasks ask.
 *
 * @param connection - to a worker
 * @param api - the controller, as an attempt may see it
 */
export function serveAttemptsApi(connection: Connection, api: (attemptUid: string) => IrisApi): void {
  const handlers = Object.fromEntries(
    Object.keys(methods).map((name) => [
      name,
      ({ attempt, input }: { readonly attempt: string; readonly input: unknown }, { signal }: { readonly signal: AbortSignal }) => (api(attempt)[name as keyof IrisApi] as ApiMethod)(input, { signal }),
    ]),
  );
  connection.serve(attemptsService, handlers as ServiceHandlers<typeof attemptsService.methods>);
}

/**
 * The controller as an attempt sees it, through its worker.
 *
 * @param caller - where {@link serveAttemptsApi} serves
 * @param attemptUid - the attempt
 */
export function attemptApi(caller: Caller, attemptUid: string): IrisApi {
  const client = caller.client(attemptsService) as Readonly<Record<string, ApiMethod>>;
  const calls = Object.keys(methods).map((name) => [name, (input: unknown, options: ApiCallOptions = {}) => (client[name] as ApiMethod)({ attempt: attemptUid, input }, options)]);
  return Object.fromEntries(calls) as unknown as IrisApi;
}

/** An object whose form only this package writes. */
function answer<T extends object>(): z.ZodCustom<T, T> {
  return z.custom<T>((value) => typeof value === "object" && value !== null);
}
