import { z } from "zod";
import { type Entry, MarinError } from "../platform.js";

/** One word of a job's name. */
const word = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;

const resourcesSchema = z.strictObject({
  cpu: z.number().min(0).default(1).describe("processors for each task; fractions count, 0 is for a task that only waits"),
  memoryBytes: z.number().int().min(0).default(0).describe("memory for each task in bytes; accounted, not enforced"),
  gpu: z.number().int().min(0).default(0).describe("graphics processors for each task"),
});

const entrySchema = z.looseObject({
  module: z.string().describe("URL of the module that holds the function"),
  export: z.string().describe("name the module exports it by"),
});

const jobSpecSchema = z.strictObject({
  name: z
    .string()
    .refine((name) => name.split("/").every((part) => word.test(part)), "lower-case words of letters, digits, - and _, each starting with a letter; / between words makes a path")
    .describe("the job's name below its parent, for example train or first-lm/train"),
  entry: entrySchema.describe("the function each task runs; made by entry(import.meta.url, name)"),
  args: z.array(z.unknown()).default([]).describe("its arguments; plain data that structuredClone takes"),
  resources: resourcesSchema.prefault({}).describe("what each task occupies while it runs"),
  ports: z
    .array(z.string().regex(word, "a lower-case word"))
    .refine((names) => new Set(names).size === names.length, "each name once")
    .default([])
    .describe("names of the TCP ports each task gets; irisCtx().port(name) has the number"),
  replicas: z.number().int().min(1).max(1000).default(1).describe("tasks of the job; each is placed for itself and knows its taskIndex"),
  env: z.record(z.string(), z.string()).default({}).describe("environment variables of the tasks, on top of the submitting process's own"),
  maxRetriesWorkerLost: z.number().int().min(0).default(0).describe("times a task starts again after its process died without an answer; a function that throws is never repeated"),
  timeoutMs: z.number().positive().optional().describe("longest time one attempt of a task may run, in milliseconds; default no limit"),
});

/** What one task occupies while it runs. */
export type Resources = z.output<typeof resourcesSchema>;

/** A job to run, as its user writes it. All but `name` and `entry` have defaults. */
export interface JobSpec {
  /** Lower-case words; the job's id is this name below its parent's id: `train` in the job `/first-lm` is `/first-lm/train`. */
  readonly name: string;
  /** The function each task runs, named by module and export: `entry(import.meta.url, "train")`. */
  readonly entry: Entry<never[]>;
  /** Its arguments: plain data that structuredClone takes. Default none. */
  readonly args?: readonly unknown[];
  /** What each task occupies. `cpu` default 1 (fractions count; 0 for a task that only waits), `memoryBytes` 0 (accounted, not enforced), `gpu` 0. */
  readonly resources?: Partial<Resources>;
  /** Names of the TCP ports each task gets. Default none. */
  readonly ports?: readonly string[];
  /** Tasks of the job, each placed for itself, at most 1,000. Default 1. */
  readonly replicas?: number;
  /** Environment variables of the tasks, on top of the submitting process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** How often a task starts again after its process died without an answer. What throws is never repeated. Default 0. */
  readonly maxRetriesWorkerLost?: number;
  /** Longest time one attempt of a task may run, in milliseconds. Default no limit. */
  readonly timeoutMs?: number | undefined;
}

/** A job with its defaults filled in and checked. */
export type CheckedJobSpec = z.output<typeof jobSpecSchema> & { readonly entry: Entry };

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
