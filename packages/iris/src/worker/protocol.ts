import { defineService, serverStream, unary } from "@marin/ducky";
import { logLevels } from "@marin/rigging";
import { z } from "zod";
import { resourcesSchema } from "../jobs/job-spec.js";
import type { WireFailure } from "../runtime/failure.js";

// What a controller and its workers say to each other. The controller tells a worker everything that it is to run, each time anew (`reconcile`), so a
// lost message is mended by the next one. What happens to an attempt comes back as its journal: numbered reports, sent again until acknowledged.

const uid = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const sequence = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "bytes");
const failure = z.custom<WireFailure>((value) => {
  const { error, stacks } = (value ?? {}) as Partial<WireFailure>;
  return typeof error === "object" && Array.isArray(stacks) && stacks.every((stack) => typeof stack === "string");
}, "a failure");

const workSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("entry"),
    module: z.string().describe("URL of the module"),
    export: z.string().describe("name of the function"),
    args: bytes.describe("its arguments, by v8.serialize"),
  }),
  z.strictObject({ kind: z.literal("command"), argv: z.array(z.string()).min(1).describe("program and arguments; exit code 0 is success") }),
]);

const attemptOrderSchema = z.strictObject({
  jobId: z.string().describe("the job's id"),
  jobUid: uid.describe("the job, for ever"),
  taskIndex: z.number().int().min(0).describe("which of its tasks"),
  numTasks: z.number().int().min(1).describe("tasks of the job"),
  attempt: z.number().int().min(0).describe("starts of this task before this one"),
  work: workSchema.describe("what to run"),
  setup: z.array(z.string()).describe("shell lines to run before it"),
  env: z.record(z.string(), z.string()).describe("variables beside the worker's own"),
  resources: resourcesSchema.describe("what it may use; memory and disk are limits, where they are not 0"),
  ports: z.array(z.string()).max(64).describe("names of the TCP ports it gets"),
  timeoutMs: z.number().positive().optional().describe("longest run in milliseconds, from the start of its process; default no limit"),
  isolation: z.enum(["fresh", "warm"]).describe("a process of its own, or one that earlier warm attempts with the same env have used"),
  bundle: z.strictObject({ digest: z.string(), root: z.string() }).optional().describe("the snapshot of the workspace it runs in"),
});

/** One attempt of one task, complete: what a worker needs to run it. */
export type AttemptOrder = z.output<typeof attemptOrderSchema>;

const desiredAttemptSchema = z.strictObject({
  attemptUid: uid.describe("the attempt, for ever"),
  acknowledged: sequence.describe("its reports up to this one are stored"),
  order: attemptOrderSchema.optional().describe("until the worker has been seen to know the attempt"),
  stop: z
    .strictObject({
      failure: failure.describe("reason of the abort that its context sees"),
      graceMs: z.number().min(0).max(86_400_000).describe("from the abort to TERM; KILL comes a second later"),
    })
    .optional()
    .describe("that it is to end"),
});

/** An attempt that the controller wants on a worker. */
export type DesiredAttempt = z.output<typeof desiredAttemptSchema>;

const reconcileSchema = z.strictObject({
  epoch: sequence.describe("starts of the controller so far: an older one is refused"),
  desired: z.array(desiredAttemptSchema).max(100_000).describe("all attempts that the worker is to have; others are stopped and forgotten"),
});

/** The controller's whole will for one worker. */
export type ReconcileRequest = z.output<typeof reconcileSchema>;

const observedAttemptSchema = z.strictObject({
  attemptUid: uid,
  state: z.enum(["starting", "running", "stopping", "ended", "missing"]).describe("missing: desired without an order, and unknown here"),
  lastSeq: sequence.describe("its last report so far"),
  memoryBytes: z.number().min(0).describe("held by its process group when last looked at"),
});

/** An attempt as its worker sees it. */
export type ObservedAttempt = z.output<typeof observedAttemptSchema>;

const observedSchema = z.strictObject({
  incarnation: z.string().describe("of the worker's process: another one has lost what ran"),
  attempts: z.array(observedAttemptSchema).describe("all attempts on the worker, and the desired ones that are missing"),
});

/** What a worker has. */
export type Observed = z.output<typeof observedSchema>;

const causeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("exit"), code: z.number().int(), stderrTail: z.string() }),
  z.strictObject({ kind: z.literal("signal"), signal: z.string(), stderrTail: z.string() }),
  z.strictObject({ kind: z.literal("threw"), failure }),
  z.strictObject({ kind: z.literal("oom"), usedBytes: z.number(), limitBytes: z.number() }),
  z.strictObject({ kind: z.literal("disk"), usedBytes: z.number(), limitBytes: z.number() }),
  z.strictObject({ kind: z.literal("timeout"), timeoutMs: z.number() }),
  z.strictObject({ kind: z.literal("setup-failed"), message: z.string() }),
  z.strictObject({ kind: z.literal("start-failed"), worker: z.string(), message: z.string() }),
  z.strictObject({ kind: z.literal("node-lost"), worker: z.string(), message: z.string() }),
]);

/**
 * Why an attempt failed, as its worker knows it. "exit", "signal": its process ended before its function returned. "oom": over its memory, or killed
 * by the system for want of it. "start-failed": its process could not be started. "node-lost": its worker died, or heard no controller for too long.
 */
export type WorkerCause = z.output<typeof causeSchema>;

const outcomeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("returned"), value: bytes.describe("what the function returned, by v8.serialize") }),
  z.strictObject({ kind: z.literal("failed"), cause: causeSchema }),
  z.strictObject({ kind: z.literal("stopped") }),
]);

/** How an attempt ended. "stopped": as its controller told. */
export type AttemptOutcome = z.output<typeof outcomeSchema>;

const report = { attemptUid: uid, seq: sequence.describe("from 1 up, without gaps"), time: z.number().describe("milliseconds since 1970 on the worker's clock") };
const progressSchema = z.strictObject({ done: z.number(), total: z.number().optional(), unit: z.string(), detail: z.string().optional() });

const reportSchema = z.discriminatedUnion("type", [
  z.strictObject({ ...report, type: z.literal("building") }),
  z.strictObject({ ...report, type: z.literal("started"), pid: z.number().int(), ports: z.record(z.string(), z.number().int()) }),
  z.strictObject({
    ...report,
    type: z.literal("log"),
    source: z.enum(["log", "stdout", "stderr", "iris"]),
    level: z.enum(logLevels),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()).optional(),
  }),
  z.strictObject({ ...report, type: z.literal("progress"), progress: progressSchema }),
  z.strictObject({ ...report, type: z.literal("metrics"), values: z.record(z.string(), z.number()), step: z.number().optional() }),
  z.strictObject({
    ...report,
    type: z.literal("ended"),
    outcome: outcomeSchema,
    peakMemoryBytes: z.number().min(0).describe("the most its process group was seen to hold"),
    outputs: z.unknown().optional().describe("what became of its output directory"),
  }),
]);

/** Something that happened to an attempt. The last one of each is "ended". */
export type Report = z.output<typeof reportSchema>;

const workerInfoSchema = z.strictObject({
  name: z.string().describe("the worker's name, kept over restarts"),
  incarnation: z.string().describe("of its process"),
  pid: z.number().int().describe("its process"),
  capacity: resourcesSchema.describe("what it gives to tasks"),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).describe("what constraints may ask for"),
  taints: z.array(z.string()).describe("what keeps tasks away that do not tolerate it"),
});

/** What a worker says about itself. */
export type WorkerInfo = z.output<typeof workerInfoSchema>;

const execEventSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("output"), source: z.enum(["stdout", "stderr"]), text: z.string() }),
  z.strictObject({ type: z.literal("exit"), code: z.number().int().nullable(), signal: z.string().nullable() }),
]);

/** What a command beside a task prints, and how it ends. */
export type ExecEvent = z.output<typeof execEventSchema>;

const execSchema = z.strictObject({ attemptUid: uid, argv: z.array(z.string()).min(1), timeoutMs: z.number().positive().optional() });

/** A command to run beside a task. */
export type ExecRequest = z.output<typeof execSchema>;

/** What a worker serves to its controller. */
export const workerService = defineService("iris.worker", {
  info: unary({ input: z.strictObject({}), output: workerInfoSchema }),
  reconcile: unary({ input: reconcileSchema, output: observedSchema }),
  /** Reports behind those acknowledged by the latest reconcile, and then each as it comes. A later call ends an earlier one. */
  reports: serverStream({ input: z.strictObject({ epoch: sequence }), output: z.array(reportSchema) }),
  exec: serverStream({ input: execSchema, output: execEventSchema }),
  /** Stops all attempts and ends the worker. */
  shutdown: unary({ input: z.strictObject({ epoch: sequence }), output: z.null() }),
});
