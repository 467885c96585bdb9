import type { Job } from "../client/job.js";
import { isFinal, type JobEvent, type JobStatus, type LogLine } from "../jobs/job-status.js";
import { MarinError } from "../platform.js";
import type { CommandContext } from "./context.js";
import { exitCodes } from "./exit-codes.js";
import { lineText } from "./text.js";

/** A press of Ctrl-C reaches a process twice where a package manager passes it on, too. */
const samePressMs = 500;

/**
 * Shows what a job does until it ends. The first Ctrl-C cancels the job and waits for its end; the second leaves at once, and says what remains.
 *
 * @returns the exit code
 */
export async function watchJob({ environment, output, signal }: CommandContext, job: Job): Promise<number> {
  const left = new AbortController();
  let pressedAt: number | undefined;
  const stopListening = environment.onInterrupt(() => {
    const now = performance.now();
    if (pressedAt === undefined) {
      pressedAt = now;
      output.note(`stopping ${job.id}; once more to leave without waiting`);
      job.cancel("interrupted by Ctrl-C").catch((error: unknown) => left.abort(error));
    } else if (now - pressedAt > samePressMs) {
      left.abort(new MarinError("IRIS_INTERRUPTED", `left while ${job.id} was being stopped: iris describe ${job.id} shows what remains`, { data: { job: job.id } }));
    }
  });
  try {
    const either = AbortSignal.any([signal, left.signal]);
    let shown: string | undefined;
    for await (const event of job.events({ signal: either })) {
      output.event(...eventOf(event));
      if (event.type === "log") showLine(output, event.line, event.line.source === "stdout");
      if (event.type === "state") {
        const text = stateText(event.status);
        if (text !== shown && !isFinal(event.status.state)) output.note(`${job.id}: ${text}`);
        shown = text;
      }
    }
    const result = await job.wait({ signal: either });
    output.event("ended", { job: job.id, state: result.state, ...(result.error === undefined ? {} : { error: result.error }) });
    output.note(`${job.id}: ${result.state}${result.error === undefined ? "" : `: ${result.error.message}`}`);
    if (pressedAt !== undefined && result.state === "KILLED") return exitCodes.interrupted;
    return result.state === "SUCCEEDED" ? exitCodes.success : exitCodes.jobFailed;
  } finally {
    stopListening();
  }
}

function eventOf(event: JobEvent): [string, object] {
  if (event.type === "log") return ["log", event.line];
  if (event.type === "state") return ["state", event.status];
  const { type, ...rest } = event;
  return [type, rest];
}

function showLine(output: CommandContext["output"], line: LogLine, printed: boolean): void {
  if (printed) output.line(line.message);
  else if (!output.json) output.note(line.source === "stderr" ? line.message : lineText(line, false));
}

function stateText({ state, pendingReason, tasks }: JobStatus): string {
  if (state === "PENDING") return pendingReason === undefined ? "waits" : `waits: ${pendingReason}`;
  const running = tasks.flatMap(({ worker, pid, state: of }) => (of === "RUNNING" && worker !== undefined ? [`${worker}${pid === undefined ? "" : ` (process ${String(pid)})`}`] : []));
  const where = running.length === 0 ? "" : ` on ${running.slice(0, 3).join(", ")}${running.length > 3 ? ` and ${String(running.length - 3)} more` : ""}`;
  return `${state.toLowerCase()}${where}`;
}
