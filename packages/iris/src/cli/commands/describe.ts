import type { AttemptStatus, TaskStatus } from "../../jobs/job-status.js";
import type { OutputCapture } from "../../outputs/capture.js";
import { formatBytes } from "../../platform.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { causeText } from "../text.js";

/** `iris describe`: what a job is to run, where it stands, and how each attempt of its tasks ended. */
export async function describeCommand({ connect, output, signal }: CommandContext, job: string): Promise<number> {
  await using target = await connect("read");
  const status = await target.api.status({ job }, { signal });
  const description = await target.api.describe({ job: status.uid }, { signal });
  const children = await target.api.list({ prefix: `${status.id}/`, limit: 1_000 }, { signal });
  output.event("description", { status, description, children });
  const { resources, command, entry, replicas, bundle, envNames } = description;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["job", status.id],
    ["uid", status.uid],
    ["state", status.state],
    ["waits for", status.pendingReason],
    ["why", status.error?.error.message],
    ["user", status.user],
    ["band", description.band],
    ["submitted", status.submittedAt],
    ["ended", status.endedAt],
    ["runs", command?.join(" ") ?? `${entry?.module ?? ""}#${entry?.export ?? ""}`],
    ["tasks", `${String(replicas)}${description.gang === undefined ? "" : ", as a gang"}, each with ${Object.entries(resources).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`).join(", ")}`],
    ["workspace", bundle?.digest],
    ["variables", envNames.length === 0 ? undefined : envNames.join(", ")],
  ];
  for (const [name, value] of facts) if (value !== undefined) output.line(`${name.padEnd(10)} ${value}`);
  output.line("");
  output.table(["TASK", "STATE", "ATTEMPT", "WORKER", "PROCESS", "STARTED", "ENDED", "CAUSE"], status.tasks.flatMap(taskRows));
  for (const text of status.tasks.flatMap(outputLines)) output.line(text);
  if (children.length > 0) {
    output.line("");
    output.table(["CHILD", "STATE"], children.map((child) => [child.id, child.state]));
  }
  return exitCodes.success;
}

/** What became of the outputs of a task's attempts. */
function outputLines({ index, attempts }: TaskStatus): string[] {
  return attempts.flatMap(({ number, outputs }) => {
    const capture = outputs as OutputCapture | undefined;
    if (capture === undefined || capture.kind === "none") return [];
    const what = capture.kind === "archived" ? `${capture.path}, ${String(capture.files)} files, ${formatBytes(capture.bytes)}` : `not kept: ${capture.message}`;
    return [`outputs of task ${String(index)}, attempt ${String(number)}: ${what}`];
  });
}

function taskRows(task: TaskStatus): string[][] {
  const index = String(task.index);
  if (task.attempts.length === 0) return [[index, task.state, String(task.attempt), "", "", "", "", causeText(task.cause)]];
  return task.attempts.map((attempt: AttemptStatus) => [index, attempt.state, String(attempt.number), attempt.worker, String(attempt.pid ?? ""), attempt.startedAt ?? "", attempt.endedAt ?? "", causeText(attempt.cause)]);
}
