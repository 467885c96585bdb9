import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createBundle } from "../../bundles/bundle.js";
import { detachedClient } from "../../client/client.js";
import type { Job } from "../../client/job.js";
import { formatBytes } from "../../platform.js";
import type { CommandContext, Target } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { watchJob } from "../watch-job.js";
import { type JobFlags, jobSpecOf } from "./job-flags.js";

/** `iris submit`: hands a job over and returns. */
export async function submitCommand(context: CommandContext, flags: JobFlags, command: readonly string[]): Promise<number> {
  await using target = await context.connect("no");
  const job = await submit(context, target, flags, command);
  context.output.event("submitted", { job: job.id, uid: job.uid });
  context.output.line(job.id);
  return exitCodes.success;
}

/** `iris run`: hands a job over, shows what it prints, and ends as it ends. */
export async function runCommand(context: CommandContext, flags: JobFlags, command: readonly string[]): Promise<number> {
  await using target = await context.connect("run");
  const job = await submit(context, target, flags, command);
  context.output.event("submitted", { job: job.id, uid: job.uid });
  context.output.note(`submitted ${job.id} to ${target.name}`);
  return await watchJob(context, job);
}

async function submit({ environment, output, signal }: CommandContext, target: Target, flags: JobFlags, command: readonly string[]): Promise<Job> {
  const spec = jobSpecOf(flags, command, environment.workingDirectory, environment.variables);
  const { workspace, onExisting, submissionId, user } = flags;
  const client = detachedClient(target.api, async () => undefined);
  const options = { onExisting, ...(submissionId === undefined ? {} : { submissionId }), ...(user === undefined ? {} : { user }) };
  if (workspace === undefined) return client.submit(spec, options);
  const folder = resolve(environment.workingDirectory, workspace);
  const bundle = await createBundle(folder, { signal });
  const { digest, files, bytes, skipped } = bundle;
  output.event("bundle", { digest, files, bytes, skipped });
  output.note(`workspace ${folder}: ${String(files)} files, ${formatBytes(bytes)}`);
  for (const { path, reason } of skipped) output.note(`left out ${path}: ${reason}`);
  await target.putBundle(bundle);
  return client.submit({ ...spec, bundle: { digest, root: `${pathToFileURL(folder).href.replace(/\/$/, "")}/` } }, options);
}
