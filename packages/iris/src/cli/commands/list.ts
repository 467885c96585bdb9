import type { JobState } from "../../jobs/job-status.js";
import { jobTree } from "../../server/job-tree.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";

/** Flags of `iris list`. */
export interface ListFlags {
  readonly user?: string;
  readonly state?: readonly JobState[];
  readonly prefix?: string;
  readonly limit: number;
}

/** `iris list`: jobs, as a tree. */
export async function listCommand({ connect, output, signal }: CommandContext, { user, state, prefix, limit }: ListFlags): Promise<number> {
  await using target = await connect("read");
  const jobs = await target.api.list({ limit, ...(user === undefined ? {} : { user }), ...(state === undefined ? {} : { states: state }), ...(prefix === undefined ? {} : { prefix }) }, { signal });
  for (const job of jobs) output.event("job", job);
  const rows = jobTree(jobs).map(({ job, depth }) => {
    const tasks = Object.entries(job.tasks).map(([name, count]) => `${String(count)} ${name.toLowerCase()}`).join(", ");
    return [`${"  ".repeat(depth)}${job.id}`, job.state, tasks, job.user, job.submittedAt, job.pendingReason ?? ""];
  });
  if (jobs.length === 0) output.line("no jobs");
  else output.table(["JOB", "STATE", "TASKS", "USER", "SUBMITTED", "WAITS FOR"], rows);
  return exitCodes.success;
}
