import { resolve } from "node:path";
import { formatBytes, writeFileAtomic } from "../../platform.js";
import { bugReport } from "../../server/bug-report.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";

/** Flags of `iris bug-report`. */
export interface BugReportFlags {
  readonly output?: string;
}

/** `iris bug-report`: writes what helps to find out what went wrong with a job into a file, without secrets. */
export async function bugReportCommand({ connect, environment, output, signal }: CommandContext, job: string, flags: BugReportFlags): Promise<number> {
  await using target = await connect("read");
  const now = new Date();
  const report = await bugReport(target.api, job, now, { signal });
  const name = job.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  const path = resolve(environment.workingDirectory, flags.output ?? `iris-bug-report-${name}-${now.toISOString().replace(/[:.]/g, "-")}.json`);
  const text = `${JSON.stringify(report, undefined, 2)}\n`;
  await writeFileAtomic(path, text, { mode: 0o600 });
  output.event("bug-report", { path, bytes: Buffer.byteLength(text) });
  output.line(`${path}: ${formatBytes(Buffer.byteLength(text))}; secrets are masked, have a look before you pass it on`);
  return exitCodes.success;
}
