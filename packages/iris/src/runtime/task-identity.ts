import { z } from "zod";
import { resourcesSchema } from "../jobs/job-spec.js";

/** Who a task is. Travels to its process in the environment variable {@link identityVariable}, as JSON. */
export const taskIdentitySchema = z.strictObject({
  jobId: z.string().describe("the job's id"),
  attempt: z.number().int().min(0).describe("starts before this one"),
  taskIndex: z.number().int().min(0).describe("place in the job"),
  numTasks: z.number().int().min(1).describe("tasks of the job"),
  resources: resourcesSchema.describe("what it may use"),
  ports: z.record(z.string(), z.number().int()).describe("its TCP ports by name"),
});

/** Who a task is. */
export type TaskIdentity = z.output<typeof taskIdentitySchema>;

/** Set in the process of a task, and so in every process and worker thread it starts. */
export const identityVariable = "MARIN_IRIS_TASK";

/** The task that this process or worker thread belongs to, by its environment; undefined outside a task. */
export function identityFromEnvironment(): TaskIdentity | undefined {
  const text = process.env[identityVariable];
  if (text === undefined) return undefined;
  try {
    return taskIdentitySchema.parse(JSON.parse(text));
  } catch {
    // Set by another version, or by hand: nothing that this process could trust.
    return undefined;
  }
}
