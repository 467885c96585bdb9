import { entry } from "@marin/fray";
import { type ResolvedJobSpec, inheritJobSpec } from "../src/jobs/job-spec-inheritance.js";
import { type JobSpec, checkJobSpec } from "../src/jobs/job-spec.js";

/** A job's spec with its defaults, for tests that run nothing. */
export function specOf(fields: Omit<JobSpec, "name" | "entry"> = {}): ResolvedJobSpec {
  return inheritJobSpec(checkJobSpec({ name: "job", entry: entry(import.meta.url, "nothing"), ...fields }), undefined);
}
