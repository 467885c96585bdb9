import { arch, platform, release, totalmem } from "node:os";
import { redactor, toPlain } from "@marin/rigging";
import type { ApiCallOptions, IrisApi } from "../client/iris-api.js";
import type { LogLine } from "../jobs/job-status.js";
import { irisVersion } from "./version.js";

/** The last lines of a log that go into a report. */
const maxLines = 5_000;

/** Jobs below the job that go into a report. */
const maxChildren = 200;

/**
 * All that helps to find out what went wrong with a job: its history and that of the jobs below it, its log, its workers, versions. Secrets are masked. Parts that
 * cannot be had are told as such, and do not keep the rest from being had.
 *
 * @param api - the controller
 * @param job - the job's uid or id
 * @param now - when it is made
 * @throws MarinError IRIS_NO_JOB
 */
export async function bugReport(api: IrisApi, job: string, now: Date, options: ApiCallOptions = {}): Promise<Record<string, unknown>> {
  const status = await api.status({ job }, options);
  const attempt = async <T>(work: () => Promise<T>): Promise<T | { readonly unavailable: string }> => {
    options.signal?.throwIfAborted();
    return work().catch((error: unknown) => ({ unavailable: error instanceof Error ? error.message : String(error) }));
  };
  const uid = status.uid ?? job;
  const report = {
    report: "iris bug report, version 1",
    createdAt: now.toISOString(),
    versions: { iris: irisVersion, node: process.versions.node, v8: process.versions.v8, system: `${platform()} ${arch()} ${release()}`, memoryBytes: totalmem() },
    job: status,
    description: await attempt(() => api.describe({ job: uid }, options)),
    children: await attempt(async () => api.list({ prefix: `${status.id}/`, limit: maxChildren }, options)),
    workers: await attempt(async () => api.workers({}, options)),
    users: await attempt(async () => api.users({}, options)),
    log: await attempt(() => readLines(api, uid, options)),
  };
  return toPlain(report, redactor) as Record<string, unknown>;
}

async function readLines(api: IrisApi, job: string, options: ApiCallOptions): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const { lines } of api.logs({ job, tail: maxLines }, options)) all.push(...lines);
  return all;
}
