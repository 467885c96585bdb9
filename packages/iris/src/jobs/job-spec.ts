import { z } from "zod";
import { type Entry, MarinError } from "../platform.js";
import { type Constraint, constraintSchema } from "../scheduling/constraints.js";

/** One word of a job's name. */
const word = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;

/** What the system ends at its first zero character, and so never gets whole. */
const systemText = z.string().refine((text) => !text.includes("\0"), "text without zero characters");

/** Accelerators, as a task asks for them and a worker has them. */
const deviceSchema = z.strictObject({
  kind: z.enum(["gpu", "tpu"]).describe("what they are"),
  variant: z.string().min(1).optional().describe('which, for example "h100"; of a request: default any'),
  count: z.number().int().min(1).default(1).describe("how many"),
});

/** What one task occupies, and what a worker has. */
export const resourcesSchema = z.strictObject({
  cpu: z.number().min(0).max(1_000_000).default(1).describe("processors for each task; thousandths count, 0 is for a task that only waits"),
  memoryBytes: z.number().int().min(0).default(0).describe("memory for each task in bytes; 0: as much as there is, unaccounted"),
  diskBytes: z.number().int().min(0).default(0).describe("disk for each task in bytes; 0: as much as there is, unaccounted"),
  device: deviceSchema.optional().describe("accelerators for each task; default none"),
});

const backoffSchema = z.strictObject({
  initialMs: z.number().min(0).default(1_000).describe("wait before the first retry, in milliseconds"),
  factor: z.number().min(1).default(2).describe("by how much each further wait is longer"),
  maxMs: z.number().min(0).default(300_000).describe("longest wait, in milliseconds"),
});

const entrySchema = z.looseObject({
  module: z.string().describe("URL of the module that holds the function"),
  export: z.string().describe("name the module exports it by"),
});

const bundleSchema = z.strictObject({
  digest: z.string().describe("sha256-<hex> of the packed workspace"),
  root: z.string().describe("file URL of the folder that was packed, ending in /"),
});

/** The priority bands, highest first. */
const bands = ["PRODUCTION", "INTERACTIVE", "BATCH"] as const;

const jobSpecSchema = z
  .strictObject({
    name: z
      .string()
      .max(1_024)
      .refine((name) => name.split("/").every((part) => word.test(part)), "lower-case words of letters, digits, - and _, each starting with a letter; / between words makes a path")
      .describe("the job's name below its parent, for example train or first-lm/train"),
    entry: entrySchema.optional().describe("the function each task runs; made by entry(import.meta.url, name)"),
    args: z.array(z.unknown()).default([]).describe("its arguments; plain data that structuredClone takes"),
    command: z
      .array(systemText)
      .min(1)
      .refine(([program]) => program !== "", "the program's name or path first")
      .optional()
      .describe("instead of entry: the program each task runs, and its arguments"),
    setup: z.array(systemText).nullish().describe("shell lines that each attempt runs first. Default the parent's, [] none"),
    bundle: bundleSchema.nullish().describe("the packed workspace to run in. Default the parent's, null none"),
    resources: resourcesSchema.prefault({}).describe("what each task occupies while it runs"),
    constraints: z.array(constraintSchema).nullish().describe("what the workers must be like, beside the parent's. Default the parent's alone, [] none"),
    tolerations: z.array(z.string()).nullish().describe("taints of workers that the job puts up with. Default the parent's, [] none"),
    ports: z
      .array(z.string().regex(word, "a lower-case word"))
      // As many as a worker takes: what it refuses would keep it from hearing of every other job.
      .max(64)
      .refine((names) => new Set(names).size === names.length, "each name once")
      .default([])
      .describe("names of the TCP ports each task gets; irisCtx().port(name) has the number"),
    replicas: z.number().int().min(1).max(1000).default(1).describe("tasks of the job; each knows its taskIndex"),
    gang: z
      .strictObject({ groupBy: z.string().min(1).optional().describe("attribute of which all workers of the gang have one value; default any workers") })
      .optional()
      .describe("all tasks run at once or none does, and one that is lost restarts all. Default: each task for itself"),
    band: z.enum(bands).optional().describe("priority. Default the parent's, INTERACTIVE without one"),
    env: z
      .record(z.string(), systemText)
      .refine((variables) => !Object.keys(variables).some((name) => name === "" || /[=\0]/.test(name)), 'names of variables are not empty, and have no "=" and no zero characters')
      .default({})
      .describe("environment variables of the tasks, on top of the parent job's"),
    isolation: z.enum(["fresh", "warm"]).default("fresh").describe("fresh: a process for each attempt; warm: one that has run others of equal environment"),
    maxRetriesFailure: z.number().int().min(0).default(0).describe("times a task starts again after its program failed: threw, exited, was killed, ran out of memory"),
    maxRetriesPreemption: z.number().int().min(0).default(100).describe("times a task starts again after it lost its worker or its place"),
    maxTaskFailures: z.number().int().min(0).default(0).describe("tasks that may end without success before the job is ended"),
    backoff: backoffSchema.prefault({}).describe("the wait before a retry"),
    timeoutMs: z.number().positive().optional().describe("longest time one attempt of a task may run, in milliseconds; default no limit"),
    schedulingTimeoutMs: z.number().positive().optional().describe("longest time a task may wait for room, in milliseconds; default no limit"),
    preemptionPolicy: z.enum(["terminateChildren", "preserveChildren"]).optional().describe("what becomes of child jobs when a task starts again. Default: terminated for a job of one task, else preserved"),
  })
  .refine(({ entry, command }) => (entry === undefined) !== (command === undefined), { path: ["entry"], message: "name either an entry or a command" })
  .refine(({ command, args }) => command === undefined || args.length === 0, { path: ["args"], message: "a command's arguments stand in command" })
  .refine(({ gang, maxTaskFailures }) => gang === undefined || maxTaskFailures === 0, { path: ["maxTaskFailures"], message: "0 for a gang: one task that ends without success ends all" });

/** What one task occupies while it runs; and what a worker has. */
export type Resources = z.output<typeof resourcesSchema>;

/** Accelerators: "gpu" or "tpu", which variant, how many. */
export type Device = z.output<typeof deviceSchema>;

/** A priority: PRODUCTION goes before INTERACTIVE, INTERACTIVE before BATCH. */
export type Band = (typeof bands)[number];

/** A job to run, as its user writes it. All but `name` and one of `entry` and `command` have defaults. */
export interface JobSpec {
  /** Lower-case words; the job's id is this name below its parent's id: `train` in the job `/first-lm` is `/first-lm/train`. */
  readonly name: string;
  /** The function each task runs, named by module and export: `entry(import.meta.url, "train")`. */
  readonly entry?: Entry<never[]> | undefined;
  /** Its arguments: plain data that structuredClone takes. Default none. */
  readonly args?: readonly unknown[];
  /** Instead of `entry`: the program each task runs, and its arguments. */
  readonly command?: readonly string[] | undefined;
  /** Shell lines that each attempt runs before its program. Default (and null) the parent's, `[]` none. */
  readonly setup?: readonly string[] | null | undefined;
  /** The packed workspace to run in: digest, and file URL of the folder that was packed. Default the parent's, null none. */
  readonly bundle?: { readonly digest: string; readonly root: string } | null | undefined;
  /**
   * What each task occupies. `cpu` default 1 (thousandths count; 0 for a task that only waits), `memoryBytes` and `diskBytes` 0 (unaccounted), `device` none
   * (`{ kind: "gpu", variant: "h100", count: 8 }`; any variant, one device by default).
   */
  readonly resources?: Partial<Omit<Resources, "device">> & { readonly device?: (Partial<Device> & Pick<Device, "kind">) | undefined };
  /** What the workers must, or should, be like; joined with the parent's, of which those for the same attributes give way. Default (and null) the parent's, `[]` none. */
  readonly constraints?: readonly Constraint[] | null | undefined;
  /** Taints of workers that the job puts up with. Default (and null) the parent's, `[]` none. */
  readonly tolerations?: readonly string[] | null | undefined;
  /** Names of the TCP ports each task gets, at most 64. Default none. */
  readonly ports?: readonly string[];
  /** Tasks of the job, at most 1,000. Default 1. */
  readonly replicas?: number;
  /** All tasks run at once or none does, within one value of the workers' attribute `groupBy` where that is given; one that is lost restarts all. Default: each task for itself. */
  readonly gang?: { readonly groupBy?: string | undefined } | undefined;
  /** Priority: "PRODUCTION", "INTERACTIVE" or "BATCH". Default the parent's, INTERACTIVE without one. */
  readonly band?: Band | undefined;
  /** Environment variables of the tasks, on top of the parent job's. */
  readonly env?: Readonly<Record<string, string>>;
  /** "fresh": each attempt has a process of its own. "warm": it may get one that has run others of equal environment, and starts in milliseconds. Default "fresh". */
  readonly isolation?: "fresh" | "warm";
  /** How often a task starts again after its program failed: threw, exited, was killed by a signal, ran out of memory. Never after a timeout. Default 0. */
  readonly maxRetriesFailure?: number;
  /** How often a task starts again after it lost its worker or its place; what never ran is not counted. Default 100. */
  readonly maxRetriesPreemption?: number;
  /** How many tasks may end without success before that ends the job. Default 0. */
  readonly maxTaskFailures?: number;
  /** Wait before a retry: `initialMs` (1,000), times `factor` (2) for each one before, at most `maxMs` (300,000). */
  readonly backoff?: { readonly initialMs?: number; readonly factor?: number; readonly maxMs?: number };
  /** Longest time one attempt of a task may run, in milliseconds; then it is FAILED, and not started again. Default no limit. */
  readonly timeoutMs?: number | undefined;
  /** Longest time a task may wait for room, in milliseconds; then it is UNSCHEDULABLE. Default no limit. */
  readonly schedulingTimeoutMs?: number | undefined;
  /** What becomes of child jobs when a task starts again. Default: "terminateChildren" for a job of one task, "preserveChildren" for others. */
  readonly preemptionPolicy?: "terminateChildren" | "preserveChildren" | undefined;
}

/** A job with its defaults filled in and checked. */
export type CheckedJobSpec = z.output<typeof jobSpecSchema> & { readonly entry?: Entry | undefined };

/** Something that knows how to become a job; marin's `Experiment` is one. */
export interface Submittable {
  /** The job; called at each `plan` and `submit`. */
  toJob(): JobSpec | Promise<JobSpec>;
}

/**
 * Fills in a job's defaults and checks it.
 *
 * @throws MarinError IRIS_BAD_JOB naming the field and what is allowed there
 */
export function checkJobSpec(spec: JobSpec): CheckedJobSpec {
  const parsed = jobSpecSchema.safeParse(spec);
  const named = typeof (spec as { readonly name?: unknown } | null)?.name === "string" ? `"${spec.name}"` : "a job";
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.length === 0 ? "the job" : path.join(".")}: ${message}`);
    throw new MarinError("IRIS_BAD_JOB", `The job ${named} cannot be submitted: ${problems.join("; ")}.`, { data: { problems } });
  }
  try {
    structuredClone(parsed.data.args);
  } catch (cause) {
    throw new MarinError(
      "IRIS_BAD_JOB",
      `The job ${named} cannot be submitted: args must be plain data, since they travel to another process. ` +
        'Name a function by entry(import.meta.url, "exportedName") instead of passing it.',
      { cause },
    );
  }
  return parsed.data as CheckedJobSpec;
}

/** The job that a submittable or a spec stands for, checked. */
export async function resolveJobSpec(job: Submittable | JobSpec): Promise<CheckedJobSpec> {
  return checkJobSpec("toJob" in job ? await job.toJob() : job);
}
